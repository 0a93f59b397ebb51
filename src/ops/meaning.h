#pragma once
#include "ir/builder.h"
#include "ir/op_def.h"
#include "kernels/kernel.h"
#include "kernels/unsized_kernel.h"
#include "scalar/builder.h"

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

/// The kinds of meaning an op can have, and how each is written. A meaning defines the op once; the
/// interpreter, native code and fusion follow from it.
namespace rondel::ops {

using scalar::Ex;
using scalar::Indices;

/// A part of a buffer: its leading axes are fixed, the others remain.
struct BufferPart {
  std::int32_t buffer = -1;  ///< -1: none
  Indices leading = {};
};

/// The context of a scalar meaning while a program is written: operands as elements or as buffers,
/// their extents, attributes, and the values of `value_inputs`.
class Emitter {
 public:
  virtual ~Emitter() = default;
  virtual scalar::Builder& builder() = 0;
  virtual const ir::Attributes& attributes() const = 0;
  virtual std::size_t input_count() const = 0;
  virtual std::size_t output_count() const = 0;
  /// Whether optional input k is given.
  virtual bool has(std::size_t k) const = 0;
  /// Types as this program is specialised for: rank known; an extent is a number, or a symbol.
  virtual const ir::Type& input(std::size_t k) const = 0;
  virtual const ir::Type& output(std::size_t j) const = 0;
  /// The value of a `value_inputs` operand; null when the program is written without it.
  virtual const Tensor* value(std::size_t k) const = 0;

  /// An element of input k; one index for each axis, int64 and in range.
  virtual Ex load(std::size_t k, const Indices&) = 0;
  virtual Ex extent(std::size_t k, std::int64_t axis) = 0;
  virtual Ex output_extent(std::size_t j, std::int64_t axis) = 0;
  /// Only in `program` meanings: output elements, and operands as buffers (for contract and call).
  virtual void store(std::size_t j, const Indices&, Ex value) = 0;
  virtual BufferPart input_buffer(std::size_t k) = 0;
  virtual BufferPart output_buffer(std::size_t j) = 0;
  /// Whether output j is written over input k, so that its buffer holds the input's elements first.
  virtual bool in_place(std::size_t j, std::size_t k) const = 0;

  /// The index along an axis of input k, which is broadcast to a result's axis of extent `result`,
  /// for index `at` of that axis: 0 where the input's extent is 1.
  Ex broadcast(std::size_t k, std::int64_t axis, const ir::Extent& result, Ex at);
  /// The index into input k for element `out` of an output that input k is broadcast to: trailing
  /// axes are aligned, and the index along axes of extent 1 is 0.
  Indices broadcast(std::size_t k, const Indices& out);
  Ex load_broadcast(std::size_t k, const Indices& out) { return load(k, broadcast(k, out)); }
  DType dtype(std::size_t k) const { return input(k).dtype(); }
  DType output_dtype(std::size_t j = 0) const { return output(j).dtype(); }
  std::int64_t rank(std::size_t k) const { return input(k).rank(); }
};

/// One output element from one element of each input, broadcast: y[i] = f(a[i], b[i], ...).
struct ElementWise : ir::Meaning {
  using Fn = std::function<Ex(Emitter&, std::span<const Ex>)>;
  explicit ElementWise(Fn f) : fn(std::move(f)) {}
  Fn fn;
};

/// Any output element by itself: `fn(emitter, j, index)` is element `index` of output j. It may
/// load any elements and carry loops (reductions, gathers, pads). Fuses into its consumers.
struct Elements : ir::Meaning {
  using Fn = std::function<Ex(Emitter&, std::size_t j, const Indices&)>;
  /// Writes code that runs once, before all elements and even if there are none: checks.
  using Before = std::function<void(Emitter&)>;
  explicit Elements(Fn f, Before b = nullptr) : fn(std::move(f)), before(std::move(b)) {}
  Fn fn;
  Before before;  ///< may be empty
};

/// A whole loop nest that stores every output element itself (running sums, scatters, products).
struct LoopNest : ir::Meaning {
  using Fn = std::function<void(Emitter&)>;
  explicit LoopNest(Fn f, bool buffers = false) : fn(std::move(f)), reads_buffers(buffers) {}
  Fn fn;
  bool reads_buffers;  ///< calls `input_buffer`; other nests load single elements
};

/// A small graph of simpler ops. Returns one value for each output. Expanded before lowering;
/// inputs that are left out are ValueId::none.
struct Composite : ir::Meaning {
  using Fn = std::function<std::vector<ir::ValueId>(ir::Builder&, const ir::Node&)>;
  explicit Composite(Fn f) : fn(std::move(f)) {}
  Fn fn;
};

/// A C++ function, in one of two forms.
struct KernelMeaning : ir::Meaning {};

/// A kernel on views that allocates nothing, so that native loops can call it, for ops whose
/// outputs' extents follow from their inputs' types. There is a plain reference for every dtype,
/// and optionally a faster kernel, which is used unless interpreting or `strict`. Prepared for
/// input types of known rank; `fast` may return null for types that it does not support.
struct SizedKernelMeaning : KernelMeaning {
  using Kernel = std::shared_ptr<const kernels::SizedKernel>;
  using Prepare = std::function<Kernel(const ir::Node&, std::span<const ir::Type> inputs)>;
  explicit SizedKernelMeaning(Prepare r, Prepare f = nullptr)
      : reference(std::move(r)), fast(std::move(f)) {}
  Kernel prepare(const ir::Node& node, std::span<const ir::Type> inputs, bool fastest) const {
    Kernel kernel = fastest && fast ? fast(node, inputs) : nullptr;
    return kernel ? kernel : reference(node, inputs);
  }
  Prepare reference, fast;
};

/// A kernel on whole values that makes its outputs itself: strings, sequences, outputs whose
/// extents depend on values.
struct UnsizedKernelMeaning : KernelMeaning {
  using Prepare =
      std::function<kernels::UnsizedKernel(const ir::Node&, std::span<const ir::Type> inputs)>;
  explicit UnsizedKernelMeaning(Prepare r, Prepare f = nullptr)
      : reference(std::move(r)), fast(std::move(f)) {}
  Prepare reference, fast;
};

/// An op whose result is a view of its (first) input, with other extents and strides. `fn` returns
/// the view of an input tensor, or nothing where the input's strides do not allow it. `elements`
/// defines the same result element by element and runs in that case.
struct ViewMeaning : Elements {
  /// Returns one view for each output; `inputs` are those of the run, `shapes` the outputs'.
  using Fn = std::function<std::optional<std::vector<Tensor>>(
      const ir::Attributes&, std::span<const Value> inputs, std::span<const Shape> shapes)>;
  ViewMeaning(Fn v, Elements::Fn e, Before b = nullptr)
      : Elements(std::move(e), std::move(b)), view(std::move(v)) {}
  Fn view;
};

/// `loop` and `if`, which passes and the runtime implement.
struct Control : ir::Meaning {};

// How a meaning is written in an op's file.

/// `.meaning = elementwise([](Ex x) { return x / (1 + exp(-x)); })`, of one to four operands.
template <class F> std::shared_ptr<const ir::Meaning> elementwise(F f) {
  return std::make_shared<ElementWise>([f](Emitter& e, std::span<const Ex> x) -> Ex {
    if constexpr (std::is_invocable_v<F, Emitter&, std::span<const Ex>>) return f(e, x);
    else if constexpr (std::is_invocable_v<F, Emitter&, Ex>) return f(e, x[0]);
    else if constexpr (std::is_invocable_v<F, Ex>) return f(x[0]);
    else if constexpr (std::is_invocable_v<F, Ex, Ex>) return f(x[0], x[1]);
    else if constexpr (std::is_invocable_v<F, Ex, Ex, Ex>) return f(x[0], x[1], x[2]);
    else return f(x[0], x[1], x[2], x[3]);
  });
}
inline auto elements(Elements::Fn f, Elements::Before before = nullptr) {
  return std::make_shared<Elements>(std::move(f), std::move(before));
}
inline auto nest(LoopNest::Fn f) { return std::make_shared<LoopNest>(std::move(f)); }
inline auto nest_on_buffers(LoopNest::Fn f) {
  return std::make_shared<LoopNest>(std::move(f), true);
}
inline auto composite(Composite::Fn f) { return std::make_shared<Composite>(std::move(f)); }
inline auto kernel(SizedKernelMeaning::Prepare reference,
                   SizedKernelMeaning::Prepare fast = nullptr) {
  return std::make_shared<SizedKernelMeaning>(std::move(reference), std::move(fast));
}
inline auto unsized_kernel(UnsizedKernelMeaning::Prepare reference,
                           UnsizedKernelMeaning::Prepare fast = nullptr) {
  return std::make_shared<UnsizedKernelMeaning>(std::move(reference), std::move(fast));
}
inline auto view(ViewMeaning::Fn v, Elements::Fn e) {
  return std::make_shared<ViewMeaning>(std::move(v), std::move(e));
}

/// Whether an op's meaning is of kind K.
template <class K> const K* meaning_as(const ir::OpDef& op) {
  return dynamic_cast<const K*>(op.meaning.get());
}
inline bool is_elementwise(const ir::OpDef& op) { return meaning_as<ElementWise>(op) != nullptr; }
/// Whether the op's output may be written over input k where both have the same type.
inline bool may_write_over(const ir::OpDef& op, std::size_t k) {
  return is_elementwise(op) || std::ranges::count(op.in_place, k) > 0;
}
/// Whether a program reads its operands as parts of buffers, not element by element.
inline bool reads_buffers(const ir::OpDef& op) {
  const auto* nest = meaning_as<LoopNest>(op);
  return (nest != nullptr && nest->reads_buffers) || meaning_as<SizedKernelMeaning>(op) != nullptr;
}
/// Whether a program writes its results to buffers itself, in an order of its own.
inline bool writes_buffers(const ir::OpDef& op) {
  return meaning_as<LoopNest>(op) != nullptr || meaning_as<SizedKernelMeaning>(op) != nullptr;
}

}  // namespace rondel::ops
