#include "lowering/extent_bounds.h"

#include "ir/expression.h"
#include "lowering/extent_expression.h"

namespace rondel::lowering {

using ir::Integer;
using ir::Range;
using ir::Symbol;

/// So many elements are not reserved in advance: a slice has such a bound from an end like 2^31 - 1
/// that only means the end of the axis.
constexpr std::int64_t no_bound = std::int64_t{1} << 28;
/// So many elements are reserved although names may tell a smaller bound.
constexpr std::int64_t small_bound = 256;

std::set<Symbol> ExtentBounds::all() const {
  std::set<Symbol> symbols;
  for (const auto& [symbol, bound] : bounds_) symbols.insert(symbol);
  return symbols;
}

bool ExtentBounds::is_known(const Integer& i) const {
  return can_express(i, [&](Symbol name) { return names_.contains(name); });
}

bool ExtentBounds::is_bound(const Integer& most) const {
  const Integer number = ir::greatest(most, [](Symbol) { return Range{0, 0}; });
  return is_known(most) && !(number.known() && *number.number >= no_bound);
}

std::optional<Range> ExtentBounds::range_of(Symbol name) const {
  const auto at = bounds_.find(name);
  return at == bounds_.end() ? std::nullopt : std::optional(Range{0, at->second});
}

Integer ExtentBounds::most_growth(const ir::Extent& next, Symbol now) const {
  const Integer most = ir::greatest(Integer(next) - Integer(now), [&](Symbol name) {
    return name == now ? Range{0, {}} : range_of(name);
  });
  return is_bound(most) ? most : Integer();
}

bool ExtentBounds::is_kept(const ir::Extent& next, Symbol now) const {
  return ir::never_positive(Integer(next) - ir::max(Integer(now), 1), [&](Symbol name) {
    return name == now ? Range{0, {}} : range_of(name);
  });
}

ir::Extent ExtentBounds::most(const ir::Extent& e) const {
  if (is_known(e)) return e;
  if (!e.symbolic()) return {};
  if (const auto at = bounds_.find(e.symbol); at != bounds_.end()) return at->second;
  for (const State& s : states_)
    if (e.symbol.has_name(s.now) && (Integer(s.next) - e).at_least(0)) return s.bound;
  const auto number = e.symbol.expression().most;
  if (number && *number <= small_bound) return *number;
  const Integer most = ir::greatest(e, [&](Symbol name) { return range_of(name); });
  if (is_bound(most)) return ir::Extent(most);
  return number && *number < no_bound ? ir::Extent(*number) : ir::Extent();
}

}  // namespace rondel::lowering
