#include "lowering/extent_bounds.h"

#include "ir/expression.h"

#include <algorithm>

namespace rondel::lowering {
namespace {

using ir::Integer;
using ir::Symbol;

/// Integers between which a value certainly is; unknown if there is no such bound.
struct Range {
  Integer least, most;
};

/// Computes ranges of expressions from those of names.
struct RangeArithmetic {
  const std::map<Symbol, ir::Extent>& bounds;

  static Range number(std::int64_t v) { return {v, v}; }
  Range name(Symbol s) const {
    const auto at = bounds.find(s);
    return at == bounds.end() ? Range{Integer(s), Integer(s)} : Range{0, at->second};
  }
  static Range add(const Range& x, const Range& y) { return {x.least + y.least, x.most + y.most}; }
  static Range multiply(const Range& x, const Range& y) {
    if (x.least.at_least(0) && y.least.at_least(0)) return {x.least * y.least, x.most * y.most};
    if (x.most.known() && x.most == x.least && !x.most.at_least(0))
      return {y.most * x.least, y.least * x.least};
    return {};
  }
  static Range maximum(const Range& x, const Range& y) {
    return {ir::max(x.least, y.least), ir::max(x.most, y.most)};
  }
  static Range quotient(const Range& x, const Range& y, const ir::Expression&) {
    if (!x.least.at_least(0) || !y.least.at_least(1)) return {};
    return {ir::floor_div(x.least, y.most), ir::floor_div(x.most, y.least)};
  }
};

}  // namespace

std::set<Symbol> ExtentBounds::all() const {
  std::set<Symbol> symbols;
  for (const auto& [symbol, bound] : bounds_) symbols.insert(symbol);
  return symbols;
}

bool ExtentBounds::is_known(const Integer& i) const {
  return i.known() || (i.symbolic() && std::ranges::all_of(i.symbol.names(), [&](Symbol name) {
                         return names_.contains(name);
                       }));
}

ir::Extent ExtentBounds::most(const ir::Extent& e) const {
  if (is_known(e)) return e;
  if (!e.symbolic()) return {};
  if (const auto at = bounds_.find(e.symbol); at != bounds_.end()) return at->second;
  for (const auto& [next, bound] : next_)
    if ((Integer(next) - e).at_least(0)) return bound;
  RangeArithmetic arithmetic{bounds_};
  const Integer most = compute(Integer(e), arithmetic).most;
  return is_known(most) ? ir::Extent(most) : ir::Extent();
}

}  // namespace rondel::lowering
