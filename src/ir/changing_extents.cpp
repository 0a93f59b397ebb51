#include "ir/changing_extents.h"

#include <fmt/format.h>

#include <algorithm>

namespace rondel::ir {

Type ChangingExtents::named(ValueId state, const Type& initial, const Type& known, const Type& next,
                            const Type& both) {
  const auto has_rank = [&](const Type& t) {
    return t.is_tensor() && t.has_rank() && t.rank() == both.rank();
  };
  if (!both.is_tensor() || !both.has_rank() || !has_rank(initial) || !has_rank(known) ||
      !has_rank(next))
    return both;
  Extents extents = both.extents();
  for (std::int64_t a = 0; a < both.rank(); ++a) {
    Extent& e = extents[static_cast<std::size_t>(a)];
    if (e.known_or_symbolic()) continue;
    const auto own = Extent::own(fmt::format("v{}.{}", index(state), a));
    const Extent &first = initial.extent(a), &after = next.extent(a);
    if (!first.known_or_symbolic() || !after.known_or_symbolic()) e = own;
    else
      e = first_of_key_.try_emplace({to_text(first), to_text(after), to_text(known.extent(a))}, own)
              .first->second;
    names_.insert(e.symbol);
  }
  return Type::tensor(both.dtype(), std::move(extents));
}

Type ChangingExtents::outside(const Type& t) const {
  if (names_.empty() || !t.is_tensor() || !t.has_rank()) return t;
  Extents extents = t.extents();
  const auto is_inside = [&](Symbol s) { return names_.contains(s); };
  for (Extent& e : extents)
    if (e.symbolic() && std::ranges::any_of(e.symbol.names(), is_inside)) e = Extent();
  return Type::tensor(t.dtype(), std::move(extents));
}

Type ChangingExtents::after(const Type& initial, const Type& state, const Type& next,
                            const Extent& trips, bool name_others) const {
  if (names_.empty() || !state.is_tensor() || !state.has_rank()) return state;
  // The next state of a loop without trips may have another rank, or none that is known.
  const bool keeps_rank = next.is_tensor() && next.has_rank() && next.rank() == state.rank();
  Extents extents = state.extents();
  for (std::int64_t a = 0; a < state.rank(); ++a) {
    Extent& e = extents[static_cast<std::size_t>(a)];
    if (!e.symbolic() || !names_.contains(e.symbol)) continue;
    const Integer growth = keeps_rank ? Integer(next.extent(a)) - Integer(e) : Integer();
    const Extent last = growth.known() && growth.at_least(0)
                            ? Extent(Integer(initial.extent(a)) + growth * trips)
                            : Extent();
    if (last.known_or_symbolic() || !name_others) e = last;
    else e = Extent::own(e.symbol.name() + ".last");
  }
  return outside(Type::tensor(state.dtype(), std::move(extents)));
}

}  // namespace rondel::ir
