#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

std::vector<ValueId> lower_einsum(Lowering& l) {
  std::vector<ValueId> operands;
  for (std::size_t k = 0; k < l.input_count(); ++k) operands.push_back(l.in(k));
  return {l.b("einsum", operands, {{"equation", l.parameters().s("equation", "")}})};
}

const KindEntry einsum_layer{{LayerType::kEINSUM, "Einsum", -1, lower_einsum}};

}  // namespace

IEinsumLayer* INetworkDefinition::addEinsum(ITensor* const* inputs, std::int32_t nbInputs,
                                            const char* equation) {
  require(equation != nullptr, "the equation of an einsum is a null pointer");
  return add_layer<IEinsumLayer>(*data_, LayerType::kEINSUM,
                                 tensors_of(inputs, nbInputs, "an einsum"),
                                 {{"equation", std::string(equation)}});
}

bool IEinsumLayer::setEquation(const char* equation) {
  require(equation != nullptr, "the equation of an einsum is a null pointer");
  set_parameter(*this, "equation", std::string(equation));
  return true;
}
const char* IEinsumLayer::getEquation() const {
  return std::get<std::string>(*data().parameters.find("equation")).c_str();
}

}  // namespace rondel::network
