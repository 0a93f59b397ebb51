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

/// The kinds of meaning an op can have, and how each is written. The meaning is the only definition
/// of what an op computes; the interpreter, native code and fusion are derived from it.
namespace rondel::ops {

using scalar::Ex;
using scalar::Indices;

/// A part of a buffer: the leading axes have fixed indices; of each other axis, it has the first
/// elements.
struct BufferPart {
  std::int32_t buffer = -1;  ///< -1: none
  Indices leading = {};
  bool whole = true;  ///< the other axes are complete; else the buffer may have room for more
  /// If it is given, each matrix of the operand is one in the buffer: the index of the latter along
  /// all axes but the last two, for that of the former.
  std::function<Indices(const Indices&)> matrix = {};
};

/// What a meaning uses to write a scalar program: the operands as elements or as buffers, their
/// extents, the attributes, and the known values of `value_inputs`.
class Emitter {
 public:
  virtual ~Emitter() = default;
  virtual scalar::Builder& builder() = 0;
  virtual const ir::Attributes& attributes() const = 0;
  virtual std::size_t input_count() const = 0;
  virtual std::size_t output_count() const = 0;
  /// Whether optional input k is given.
  virtual bool has(std::size_t k) const = 0;
  /// The types that this program is specialised for. The rank is known; each extent is a number or
  /// a symbol.
  virtual const ir::Type& input(std::size_t k) const = 0;
  virtual const ir::Type& output(std::size_t j) const = 0;
  /// The value of a `value_inputs` operand; null if the program does not depend on the value.
  virtual const Tensor* value(std::size_t k) const = 0;

  /// An element of input k. There is one index for each axis, an int64 that must be in range.
  virtual Ex load(std::size_t k, const Indices&) = 0;
  virtual Ex extent(std::size_t k, std::int64_t axis) = 0;
  virtual Ex output_extent(std::size_t j, std::int64_t axis) = 0;
  /// Only for meanings of kind `LoopNest`: stores to output elements, and operands as buffers (for
  /// `contract`).
  virtual void store(std::size_t j, const Indices&, Ex value) = 0;
  virtual BufferPart input_buffer(std::size_t k) = 0;
  virtual BufferPart output_buffer(std::size_t j) = 0;
  /// Whether the extent with this name is certainly not 1: a symbol of the shape class. An extent
  /// that becomes known only when the program runs may be 1, and so may an expression.
  virtual bool never_one(ir::Symbol) const = 0;
  /// Whether output j shares its buffer with input k, so that the buffer holds the elements of the
  /// input at first.
  virtual bool in_place(std::size_t j, std::size_t k) const = 0;
  /// Whether neighbouring axes of input k are one axis where it is read: its elements lie one after
  /// the other, or are computed element by element from values of the same extents that do. Else an
  /// index over several axes costs a division and a remainder for each element. "No" is always
  /// safe.
  virtual bool in_row_major_order(std::size_t k) const = 0;

  /// The index along `axis` of input k for index `at` of the result's axis, of extent `result`, to
  /// which it is broadcast: 0 if the extent of the input is 1, else `at`.
  Ex broadcast(std::size_t k, std::int64_t axis, const ir::Extent& result, Ex at);
  /// Whether the extent of input k on `axis` is 1 in some run of this program.
  bool may_be_one(std::size_t k, std::int64_t axis) const;
  /// The index into input k for element `out` of an output that input k is broadcast to. Trailing
  /// axes are aligned, and the index along an axis of extent 1 is 0.
  Indices broadcast(std::size_t k, const Indices& out);
  Ex load_broadcast(std::size_t k, const Indices& out) { return load(k, broadcast(k, out)); }
  DType dtype(std::size_t k) const { return input(k).dtype(); }
  DType output_dtype(std::size_t j = 0) const { return output(j).dtype(); }
  std::int64_t rank(std::size_t k) const { return input(k).rank(); }
};

/// Each output element is computed from one element of each input: y[i] = f(a[i], b[i], ...). The
/// inputs are broadcast.
struct ElementWise : ir::Meaning {
  using Fn = std::function<Ex(Emitter&, std::span<const Ex>)>;
  explicit ElementWise(Fn f) : fn(std::move(f)) {}
  Fn fn;
};

/// Each output element is computed independently: `fn(emitter, j, index)` is element `index` of
/// output j. `fn` may load any input elements and may contain loops (reductions, gathers, pads).
/// Such an op is fused into its consumers.
struct Elements : ir::Meaning {
  using Fn = std::function<Ex(Emitter&, std::size_t j, const Indices&)>;
  /// Writes code (checks) that runs once, before all elements, and even if there are no elements.
  using Before = std::function<void(Emitter&)>;
  /// Computes the extents of output j where they depend on values of inputs, and checks what the
  /// op's rule requires of these values. May not ask for extents of outputs.
  using Extents = std::function<std::vector<Ex>(Emitter&, std::size_t j)>;
  explicit Elements(Fn f, Before b = nullptr, Extents e = nullptr)
      : fn(std::move(f)), before(std::move(b)), extents(std::move(e)) {}
  Fn fn;
  Before before;    ///< may be empty
  Extents extents;  ///< may be empty
  /// The `value_inputs` whose elements `fn` loads when it runs if their values are not known when
  /// the program is written.
  std::vector<std::size_t> reads = {};
  /// Each element of input 0 is read once, for one output element: a reduction. The element may be
  /// computed where it is read.
  bool reads_once = false;
};

/// A loop nest that stores the output elements itself (running sums, scatters, matrix products).
struct LoopNest : ir::Meaning {
  using Fn = std::function<void(Emitter&)>;
  explicit LoopNest(Fn f, bool buffers = false) : fn(std::move(f)), reads_buffers(buffers) {}
  Fn fn;
  bool reads_buffers;  ///< `fn` calls `input_buffer`; otherwise it only loads single elements
};

/// A small graph of simpler ops, which replaces the node before lowering. `fn` returns one value
/// for each output. Optional inputs that are not given are ValueId::none. The node is only replaced
/// where the ranks of the inputs `ranked` are known, and `ready`, if it is given, is true; else
/// that is done when the model runs. With `axis`, ranks are needed only if the attribute of that
/// name counts from the first axis.
struct Composite : ir::Meaning {
  using Fn = std::function<std::vector<ir::ValueId>(ir::Builder&, const ir::Node&)>;
  using Ready = bool (*)(const ir::Graph&, const ir::Node&);
  Composite(Fn f, std::vector<std::size_t> inputs, std::string_view a, Ready r)
      : fn(std::move(f)), ranked(std::move(inputs)), axis(a), ready(r) {}
  Fn fn;
  std::vector<std::size_t> ranked;
  std::string_view axis;
  Ready ready;
};

/// A C++ function, in one of two forms.
struct KernelMeaning : ir::Meaning {};

/// A kernel on views, for ops whose output extents follow from the input types. The kernel
/// allocates nothing, so native loops can call it. `reference` supports every dtype. `fast`, if
/// given, is used unless the op is interpreted or `strict` is set; it may return null for types
/// that it does not support. Both prepare the kernel for input types of known rank.
struct SizedKernelMeaning : KernelMeaning {
  using Kernel = std::shared_ptr<const kernels::SizedKernel>;
  using Prepare = std::function<Kernel(const ir::Node&, std::span<const ir::Type> inputs)>;
  explicit SizedKernelMeaning(Prepare r, Prepare f = nullptr, Elements::Extents e = nullptr)
      : reference(std::move(r)), fast(std::move(f)), extents(std::move(e)) {}
  Kernel prepare(const ir::Node& node, std::span<const ir::Type> inputs, bool fastest) const {
    Kernel kernel = fastest && fast ? fast(node, inputs) : nullptr;
    return kernel ? kernel : reference(node, inputs);
  }
  Prepare reference, fast;
  Elements::Extents extents;  ///< as of `Elements`; may be empty
};

/// A kernel on whole values that allocates its outputs itself, for strings, sequences, and outputs
/// whose extents depend on values.
struct UnsizedKernelMeaning : KernelMeaning {
  using Prepare =
      std::function<kernels::UnsizedKernel(const ir::Node&, std::span<const ir::Type> inputs)>;
  explicit UnsizedKernelMeaning(Prepare r, Prepare f = nullptr)
      : reference(std::move(r)), fast(std::move(f)) {}
  Prepare reference, fast;
};

/// Such a kernel on tensors of numbers, whose outputs are new tensors of the ranks that the op's
/// rule states. It fails on no values. Native loops can call it, and learn the extents of its
/// outputs.
struct FindingKernelMeaning : UnsizedKernelMeaning {
  using UnsizedKernelMeaning::UnsizedKernelMeaning;
};

/// An op whose results are views of its first input, with other extents and strides. `view` returns
/// the views, or nothing if the strides of the input do not allow them. In that case the inherited
/// `fn`, which defines the same results element by element, runs.
struct ViewMeaning : Elements {
  /// Returns one view for each output. `inputs` are the values of the inputs at run time, `shapes`
  /// the shapes of the outputs.
  using Fn = std::function<std::optional<std::vector<Tensor>>(
      const ir::Attributes&, std::span<const Value> inputs, std::span<const Shape> shapes)>;
  ViewMeaning(Fn v, Elements::Fn e, Before b = nullptr, Extents x = nullptr)
      : Elements(std::move(e), std::move(b), std::move(x)), view(std::move(v)) {}
  Fn view;
  /// Each matrix of the result is one of the first input if their last two extents are equal.
  bool keeps_matrices = false;
  /// The result has the elements of the first input, in row-major order: where it is no view, it is
  /// a copy.
  bool keeps_order = false;
  /// Whether each row of the result, along its last axis, is read along the last axis of the first
  /// input (or is one element of it), and no index costs a division: a loop over elements reads the
  /// input as fast as a copy of the result. Null: never. For types with ranks.
  using KeepsRows = bool (*)(const ir::Node&, const ir::Type& input, const ir::Type& result);
  KeepsRows keeps_rows = nullptr;
  /// Whether each element of the result is the element of the first input at the same index: the
  /// result is the beginning of the input along each axis. Null: never.
  using IsBeginning = bool (*)(const ir::Graph&, const ir::Node&);
  IsBeginning is_beginning = nullptr;
};
/// For `ViewMeaning::keeps_rows`.
inline bool always_keeps_rows(const ir::Node&, const ir::Type&, const ir::Type&) { return true; }

/// `loop` and `if`, which the passes and the runtime implement.
struct Control : ir::Meaning {};

// Functions with which the file of an op writes its meaning.

/// `.meaning = elementwise([](Ex x) { return x / (1 + exp(-x)); })`, for one to four operands.
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
inline auto elements(Elements::Fn f, Elements::Before before = nullptr,
                     Elements::Extents extents = nullptr) {
  return std::make_shared<Elements>(std::move(f), std::move(before), std::move(extents));
}
/// The `value_inputs` listed in `reads` may become known when it runs.
inline auto reading_elements(Elements::Fn f, std::vector<std::size_t> reads,
                             Elements::Extents extents) {
  auto meaning = elements(std::move(f), nullptr, std::move(extents));
  meaning->reads = std::move(reads);
  return meaning;
}
inline auto nest(LoopNest::Fn f) { return std::make_shared<LoopNest>(std::move(f)); }
inline auto nest_on_buffers(LoopNest::Fn f) {
  return std::make_shared<LoopNest>(std::move(f), true);
}
inline auto composite(Composite::Fn f, std::vector<std::size_t> ranked = {},
                      std::string_view axis = {}) {
  return std::make_shared<Composite>(std::move(f), std::move(ranked), axis, nullptr);
}
/// Not an overload: `{0}` would be a null pointer.
inline auto composite_when(Composite::Ready ready, Composite::Fn f) {
  return std::make_shared<Composite>(std::move(f), std::vector<std::size_t>(), "", ready);
}
inline auto kernel(SizedKernelMeaning::Prepare reference,
                   SizedKernelMeaning::Prepare fast = nullptr,
                   Elements::Extents extents = nullptr) {
  return std::make_shared<SizedKernelMeaning>(std::move(reference), std::move(fast),
                                              std::move(extents));
}
inline auto unsized_kernel(UnsizedKernelMeaning::Prepare reference,
                           UnsizedKernelMeaning::Prepare fast = nullptr) {
  return std::make_shared<UnsizedKernelMeaning>(std::move(reference), std::move(fast));
}
inline auto finding_kernel(UnsizedKernelMeaning::Prepare reference) {
  return std::make_shared<FindingKernelMeaning>(std::move(reference));
}
inline auto view(ViewMeaning::Fn v, Elements::Fn e, ViewMeaning::Extents extents = nullptr) {
  return std::make_shared<ViewMeaning>(std::move(v), std::move(e), nullptr, std::move(extents));
}
inline auto view_of_matrices(ViewMeaning::Fn v, Elements::Fn e,
                             ViewMeaning::Extents extents = nullptr) {
  auto meaning = view(std::move(v), std::move(e), std::move(extents));
  meaning->keeps_matrices = true;
  return meaning;
}

/// A slice, whose `value_inputs` listed in `reads` may become known when it runs.
inline auto slice_view(ViewMeaning::Fn v, Elements::Fn e, std::vector<std::size_t> reads,
                       ViewMeaning::Before before = nullptr,
                       ViewMeaning::IsBeginning is_beginning = nullptr) {
  auto meaning = std::make_shared<ViewMeaning>(std::move(v), std::move(e), std::move(before));
  meaning->reads = std::move(reads);
  meaning->keeps_rows = always_keeps_rows;
  meaning->is_beginning = is_beginning;
  return meaning;
}

/// The meaning of an op if it is of kind K, else null.
template <class K> const K* meaning_as(const ir::OpDef& op) {
  return dynamic_cast<const K*>(op.meaning.get());
}
inline bool is_elementwise(const ir::OpDef& op) { return meaning_as<ElementWise>(op) != nullptr; }
/// Whether each output element is folded from elements of input 0 that no other one reads.
inline bool is_reduction(const ir::OpDef& op) {
  const auto* each = meaning_as<Elements>(op);
  return each != nullptr && each->reads_once;
}
/// Whether the program of the op loads the elements of input k, one of its `value_inputs`, when it
/// runs if their values are not known.
inline bool may_read(const ir::OpDef& op, std::size_t k) {
  const auto* each = meaning_as<Elements>(op);
  return each != nullptr && std::ranges::count(each->reads, k) > 0;
}
/// The code that computes the extents of the op's outputs from values of inputs; null if the op has
/// none.
inline const Elements::Extents* extents_code(const ir::OpDef& op) {
  const auto* each = meaning_as<Elements>(op);
  const auto* sized = meaning_as<SizedKernelMeaning>(op);
  if (each != nullptr && each->extents) return &each->extents;
  return sized != nullptr && sized->extents ? &sized->extents : nullptr;
}
/// Whether the kernel of the op finds the extents of its outputs while it makes them.
inline bool kernel_finds_extents(const ir::OpDef& op) {
  return meaning_as<FindingKernelMeaning>(op) != nullptr;
}
/// Whether a program of the op finds the extents of its outputs from values of inputs.
inline bool finds_extents(const ir::OpDef& op) {
  return extents_code(op) != nullptr || kernel_finds_extents(op);
}
/// Whether a program can call the kernel of the op.
inline bool calls_kernel(const ir::OpDef& op) {
  return meaning_as<SizedKernelMeaning>(op) != nullptr || kernel_finds_extents(op);
}
/// Whether the output of the op may be written over input k if both have the same type.
inline bool may_write_over(const ir::OpDef& op, std::size_t k) {
  return is_elementwise(op) || std::ranges::count(op.in_place, k) > 0;
}
/// Whether the program of the op reads its operands as parts of buffers, not element by element.
inline bool reads_buffers(const ir::OpDef& op) {
  const auto* nest = meaning_as<LoopNest>(op);
  return (nest != nullptr && nest->reads_buffers) || calls_kernel(op);
}
/// Whether the program of the op stores its results to buffers itself, in its own order.
inline bool writes_buffers(const ir::OpDef& op) {
  return meaning_as<LoopNest>(op) != nullptr || calls_kernel(op);
}

}  // namespace rondel::ops
