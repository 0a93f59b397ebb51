#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

/// In the order of UnaryOperation.
constexpr const char* ops[] = {"exp",   "log",   "sqrt",   "reciprocal", "abs",   "neg",  "sin",
                               "cos",   "tan",   "sinh",   "cosh",       "asin",  "acos", "atan",
                               "asinh", "acosh", "atanh",  "ceil",       "floor", "erf",  "not",
                               "sign",  "round", "is_inf", "is_nan"};

std::vector<ValueId> lower_unary(Lowering& l) {
  const std::int64_t op = l.parameters().i("operation");
  require(op >= 0 && op < std::ssize(ops), "there is no unary operation {}", op);
  return {l.b(ops[op], {l.in(0)})};
}

const KindEntry unary_layer{{LayerType::kUNARY, "Unary", 1, lower_unary}};

}  // namespace

IUnaryLayer* INetworkDefinition::addUnary(ITensor& input, UnaryOperation operation) {
  return add_layer<IUnaryLayer>(*data_, LayerType::kUNARY, {&input.data()},
                                {{"operation", static_cast<std::int64_t>(operation)}});
}

void IUnaryLayer::setOperation(UnaryOperation op) { set_choice(*this, "operation", op); }
UnaryOperation IUnaryLayer::getOperation() const {
  return choice<UnaryOperation>(*this, "operation");
}

}  // namespace rondel::network
