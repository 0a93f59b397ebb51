#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

const KindEntry entry{{LayerType::kASSERTION, "Assertion", 1, nullptr}};

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
