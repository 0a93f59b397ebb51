#include "base/error.h"
#include "frontends/network/rule.h"

#include <algorithm>

namespace rondel::network {
namespace {

/// Whether all of a divisor's elements are known to be above zero (`above`) or below zero.
bool has_sign(const Tensor* divisor, bool above) {
  return divisor != nullptr && std::ranges::all_of(ir::integers_of(*divisor), [&](std::int64_t v) {
           return above ? v > 0 : v < 0;
         });
}

/// Division that rounds down. Our `div` of integers rounds towards zero, so its quotient is one
/// more if the remainder and the divisor have different signs.
ValueId floor_div(Lowering& l, ValueId a, ValueId b) {
  const DType t = l.dtype(a);
  const ValueId quotient = l.b("div", {a, b});
  if (is_float(t)) return l.b("floor", {quotient});
  if (!is_signed_integer(t)) return quotient;
  const ValueId product = l.b("mul", {quotient, b});
  const auto beyond = [&](bool above) {
    return l.cast(l.b(above ? "less" : "greater", {a, product}), t);
  };
  const auto one_more = [&] {
    for (const bool above : {true, false})
      if (has_sign(l.constant_value(b), above)) return beyond(above);
    const ValueId below_zero = l.b("less", {b, l.b.scalar(t, 0)});
    return l.b("where", {below_zero, beyond(false), beyond(true)});
  };
  return l.b("sub", {quotient, one_more()});
}

const char* op_of(ElementWiseOperation op) {
  switch (op) {
    case ElementWiseOperation::kSUM: return "add";
    case ElementWiseOperation::kPROD: return "mul";
    case ElementWiseOperation::kMAX: return "max";
    case ElementWiseOperation::kMIN: return "min";
    case ElementWiseOperation::kSUB: return "sub";
    case ElementWiseOperation::kDIV: return "div";
    case ElementWiseOperation::kPOW: return "pow";
    case ElementWiseOperation::kAND: return "and";
    case ElementWiseOperation::kOR: return "or";
    case ElementWiseOperation::kXOR: return "xor";
    case ElementWiseOperation::kEQUAL: return "equal";
    case ElementWiseOperation::kGREATER: return "greater";
    case ElementWiseOperation::kLESS: return "less";
    default: fail("there is no element-wise operation {}", static_cast<int>(op));
  }
}

std::vector<ValueId> lower_elementwise(Lowering& l) {
  const ValueId a = l.in(0), b = l.in(1);
  require(!l.type(a).has_rank() || !l.type(b).has_rank() || l.rank(a) == l.rank(b),
          "operands of {} and {} axes; expected as many in both: {} and {}; reshape one with a "
          "shuffle layer",
          l.rank(a), l.rank(b), to_text(l.type(a)), to_text(l.type(b)));
  const auto op = l.choice<ElementWiseOperation>("operation");
  if (op == ElementWiseOperation::kFLOOR_DIV) return {floor_div(l, a, b)};
  return {l.b(op_of(op), {a, b})};
}

const KindEntry elementwise_layer{{LayerType::kELEMENTWISE, "ElementWise", 2, lower_elementwise}};

}  // namespace

IElementWiseLayer* INetworkDefinition::addElementWise(ITensor& a, ITensor& b,
                                                      ElementWiseOperation op) {
  return add_layer<IElementWiseLayer>(*data_, LayerType::kELEMENTWISE, {&a.data(), &b.data()},
                                      {{"operation", static_cast<std::int64_t>(op)}});
}

void IElementWiseLayer::setOperation(ElementWiseOperation op) {
  set_choice(*this, "operation", op);
}
ElementWiseOperation IElementWiseLayer::getOperation() const {
  return choice<ElementWiseOperation>(*this, "operation");
}

}  // namespace rondel::network
