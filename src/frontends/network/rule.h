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
  ValueId in(std::size_t k) const;  ///< an input that is not set is the caller's error
  /// Input k cast to i64. A dtype that is not an integer is the caller's error, which calls the
  /// input `what`.
  ValueId integers(std::size_t k, const char* what) const;
  const ir::Type& type(ValueId v) const { return b.graph().value(v).type; }
  DType dtype(ValueId v) const { return type(v).dtype(); }
  /// The number of axes. An unknown rank is the caller's error.
  std::int64_t rank(ValueId v) const;
  /// The tensor if the value is a constant; else null.
  const Tensor* constant_value(ValueId v) const { return b.graph().constant(v); }
  /// `axis` counted from the front. An axis out of range is the caller's error.
  std::int64_t axis(std::int64_t axis, std::int64_t rank) const;
  /// The axes whose bits are set in the parameter, in increasing order. A bit at or above `rank` is
  /// the caller's error.
  ir::Ints axes_of_mask(const char* parameter, std::int64_t rank) const;

  /// The layer's parameters.
  const ir::Attributes& parameters() const { return layer.parameters; }
  template <class E> E choice(const char* name) const {
    return static_cast<E>(layer.parameters.i(name));
  }

  /// The value cast to `to`; the value itself if it has that dtype.
  ValueId cast(ValueId v, DType to) const;

 private:
  std::span<const ValueId> inputs_;
};

/// Writes a layer's ops and returns the values of the layer's outputs. Errors do not name the
/// layer; the caller of the rule adds its name.
using Rule = std::vector<ValueId> (*)(Lowering&);

struct LayerKind {
  LayerType type;
  const char* name;  ///< the name of TensorRT's class without `I` and `Layer`
  /// The largest number of inputs; -1: the number that the layer was created with.
  std::int32_t most_inputs;
  Rule rule;  ///< null: a boundary layer, or not implemented
};
/// The entry of a layer type in the table of kinds. The type must have one.
const LayerKind& kind(LayerType);

/// Registers a kind of layer. The layer's own file has one, at namespace scope:
/// `const KindEntry unary{{LayerType::kUNARY, "Unary", 1, lower}};`
struct KindEntry {
  explicit KindEntry(LayerKind);
};

/// Runs the layer's rule, casts the results to the types set by setOutputType, and adds the layer's
/// name to errors.
std::vector<ValueId> apply_rule(ir::Builder&, const LayerData&, std::span<const ValueId> inputs);

}  // namespace rondel::network
