#include "frontends/onnx/rules/lengths.h"

#include "base/axis.h"
#include "frontends/onnx/microsoft/parts.h"

namespace rondel::onnx {

ir::Integer known(const Call& c, const Length& l) {
  if (l.x == ValueId::none) return ir::Integer(l.plus);
  const ir::Type& t = c.type(l.x);
  if (!t.has_rank() || !has_axis(l.axis, t.rank())) return ir::Integer();
  return ir::Integer(t.extent(axis_from_front(l.axis, t.rank()))) * l.times + l.plus;
}

ValueId computed(const Call& c, const Length& l) {
  if (l.x == ValueId::none) return c.integer(l.plus);
  const ValueId extent = c.one("Gather", {c.one("Shape", {l.x}), c.integer(l.axis)});
  const ValueId product = l.times == 1 ? extent : times(c, extent, c.integer(l.times));
  return l.plus == 0 ? product : plus(c, product, c.integer(l.plus));
}

bool may_be_zero(const Call& c, const Length& l) { return !known(c, l).at_least(1); }

void require_lengths(const Call& c, const Length& a, const Length& b, bool at_most,
                     const std::string& message) {
  const ir::Integer left = known(c, a), right = known(c, b);
  if (at_most ? (right - left).at_least(0) : left == right) return;
  require(!left.known() || !right.known(), "{}", message);
  const ValueId holds = c.one(at_most ? "LessOrEqual" : "Equal", {computed(c, a), computed(c, b)});
  require_in_run(c, holds, message);
}

void require_either(const Call& c, const Length& a, const Length& one, const Length& other,
                    const std::string& message) {
  const ir::Integer given = known(c, a), first = known(c, one), second = known(c, other);
  if (given == first || given == second) return;
  require(!given.known() || !first.known() || !second.known(), "{}", message);
  const auto is = [&](const Length& b) { return c.one("Equal", {computed(c, a), computed(c, b)}); };
  require_in_run(c, c.one("Or", {is(one), is(other)}), message);
}

}  // namespace rondel::onnx
