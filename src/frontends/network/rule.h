// Lowering rules: what each kind of layer means, in ops. Each rule is in a file of layers/.
#pragma once
#include "frontends/network/data.h"
#include "ir/builder.h"

#include <span>

namespace rondel::network {

using ir::ValueId;

/// The context of a rule: the builder to write with, and the values of the layer's inputs.
class Lowering {
 public:
  Lowering(ir::Builder& builder, const LayerData& l, std::span<const ValueId> inputs)
      : b(builder), layer(l), inputs_(inputs) {}
  ir::Builder& b;
  const LayerData& layer;

  std::size_t input_count() const { return inputs_.size(); }
  bool has(std::size_t k) const { return k < inputs_.size() && inputs_[k] != ValueId::none; }
  ValueId in(std::size_t k) const;  ///< must be set; the caller's error otherwise
  /// Input k, which must hold integers, as i64; the caller's error says `what` it is.
  ValueId integers(std::size_t k, const char* what) const;
  const ir::Type& type(ValueId v) const { return b.graph().value(v).type; }
  DType dtype(ValueId v) const { return type(v).dtype(); }
  /// The number of axes must be known; the caller's error otherwise.
  std::int64_t rank(ValueId v) const;
  /// The value, where it is a constant; else null.
  const Tensor* constant_value(ValueId v) const { return b.graph().constant(v); }
  /// `axis` counted from the front; out of range is the caller's error.
  std::int64_t axis(std::int64_t axis, std::int64_t rank) const;
  /// The axes whose bits are set in the parameter, in order; each below `rank`.
  ir::Ints axes_of_mask(const char* parameter, std::int64_t rank) const;

  /// The layer's parameters.
  const ir::Attributes& parameters() const { return layer.parameters; }
  template <class E> E choice(const char* name) const {
    return static_cast<E>(layer.parameters.i(name));
  }

  /// The value cast to another dtype; the same value where it has that dtype.
  ValueId cast(ValueId v, DType to) const;

 private:
  std::span<const ValueId> inputs_;
};

/// From the values of a layer's inputs to those of its outputs. Throws Error without naming the
/// layer: who calls it does.
using Rule = std::vector<ValueId> (*)(Lowering&);

struct LayerKind {
  LayerType type;
  const char* name;  ///< as TensorRT's class is called, without I and Layer
  /// Inputs it may have; -1: as many as it was made with.
  std::int32_t most_inputs;
  Rule rule;  ///< null: a boundary layer, or not implemented
};
/// The kind of a type of layer; it must exist.
const LayerKind& kind(LayerType);

/// `const KindEntry unary{{LayerType::kUNARY, "Unary", 1, lower}};` in the layer's own file makes
/// it known.
struct KindEntry {
  explicit KindEntry(LayerKind);
};

/// Runs the layer's rule, casts to the output types asked for, and names the layer in errors.
std::vector<ValueId> apply_rule(ir::Builder&, const LayerData&, std::span<const ValueId> inputs);

}  // namespace rondel::network
