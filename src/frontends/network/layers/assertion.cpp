#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

/// The node has no outputs. It is not dead, because it checks its condition (passes/remove_dead.h).
std::vector<ValueId> lower_assertion(Lowering& l) {
  require(l.dtype(l.in(0)) == DType::boolean, "the condition is {}; expected bools",
          to_text(l.type(l.in(0))));
  l.b.add("assertion", {l.in(0)}, {{"message", l.parameters().s("message", "")}}, 0);
  return {};
}

const KindEntry assertion_layer{{LayerType::kASSERTION, "Assertion", 1, lower_assertion}};

}  // namespace

IAssertionLayer* INetworkDefinition::addAssertion(ITensor& condition, const char* message) {
  IAssertionLayer* layer = add_layer<IAssertionLayer>(*data_, LayerType::kASSERTION,
                                                      {&condition.data()}, {}, 0);
  layer->setMessage(message);
  return layer;
}

void IAssertionLayer::setMessage(const char* message) {
  require(message != nullptr, "the message of an assertion is a null pointer");
  set_parameter(*this, "message", std::string(message));
}
const char* IAssertionLayer::getMessage() const {
  return std::get<std::string>(*data().parameters.find("message")).c_str();
}

}  // namespace rondel::network
