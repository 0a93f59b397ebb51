#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

std::int64_t default_axis(std::int64_t rank) { return rank < 3 ? 0 : rank - 3; }

std::vector<ValueId> lower_concatenation(Lowering& l) {
  const std::int64_t rank = l.rank(l.in(0));
  const std::int64_t axis = l.axis(l.parameters().i("axis", default_axis(rank)), rank);
  std::vector<ValueId> inputs;
  for (std::size_t k = 0; k < l.input_count(); ++k) inputs.push_back(l.in(k));
  return {l.b("concat", inputs, {{"axis", axis}})};
}

const KindEntry concatenation_layer{
    {LayerType::kCONCATENATION, "Concatenation", -1, lower_concatenation}};

}  // namespace

IConcatenationLayer* INetworkDefinition::addConcatenation(ITensor* const* inputs,
                                                          std::int32_t nbInputs) {
  return add_layer<IConcatenationLayer>(*data_, LayerType::kCONCATENATION,
                                        tensors_of(inputs, nbInputs, "a concatenation"), {});
}

void IConcatenationLayer::setAxis(std::int32_t axis) { set_choice(*this, "axis", axis); }
std::int32_t IConcatenationLayer::getAxis() const {
  if (data().parameters.has("axis")) return choice<std::int32_t>(*this, "axis");
  const Dims d = data().inputs[0]->api.getDimensions();
  return static_cast<std::int32_t>(default_axis(d.nbDims));
}

}  // namespace rondel::network
