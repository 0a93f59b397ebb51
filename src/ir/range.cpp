#include "ir/range.h"

#include "ir/expression.h"

namespace rondel::ir {
namespace {

struct RangeArithmetic {
  const RangeOfName& range_of;

  static Range number(std::int64_t v) { return {v, v}; }
  Range name(Symbol s) const {
    const std::optional<Range> range = range_of(s);
    return range ? *range : Range{Integer(s), Integer(s)};
  }
  static Range add(const Range& x, const Range& y) { return {x.least + y.least, x.most + y.most}; }
  static Range multiply(const Range& x, const Range& y) {
    if (x.least.at_least(0) && y.least.at_least(0)) return {x.least * y.least, x.most * y.most};
    if (x.most.known() && x.most == x.least && !x.most.at_least(0))
      return {y.most * x.least, y.least * x.least};
    return {};
  }
  static Range maximum(const Range& x, const Range& y) {
    return {x.least.known() || x.least.symbolic() ? max(x.least, y.least) : y.least,
            max(x.most, y.most)};
  }
  static Range quotient(const Range& x, const Range& y, const Expression&) {
    if (!x.least.at_least(0) || !y.least.at_least(1)) return {};
    return {0, floor_div(x.most, y.least)};
  }
};

}  // namespace

Integer greatest(const Integer& e, const RangeOfName& range_of) {
  if (!e.known() && !e.symbolic()) return {};
  RangeArithmetic arithmetic{range_of};
  return compute(e, arithmetic).most;
}

}  // namespace rondel::ir
