#include "ir/trip_indices.h"

#include "ir/expression.h"

#include <algorithm>

namespace rondel::ir {
namespace {

enum class Direction : std::uint8_t { unknown, rises, falls };

/// Whether a term rises or falls as `name`, a factor of it, rises.
Direction direction(const Term& term, Symbol name) {
  std::size_t times = 0;
  for (const Symbol factor : term.factors) {
    if (factor == name) ++times;
    else if (factor.has_name(name) || !Integer(factor).at_least(0)) return Direction::unknown;
  }
  if (times != 1) return Direction::unknown;
  return term.coefficient > 0 ? Direction::rises : Direction::falls;
}

/// The same of a sum, in which every term with the name must agree.
Direction direction(const Expression& e, Symbol name) {
  if (e.kind != Expression::Kind::sum) return Direction::unknown;
  std::optional<Direction> all;
  for (const Term& term : e.terms) {
    if (std::ranges::none_of(term.factors, [&](Symbol f) { return f.has_name(name); })) continue;
    const Direction one = direction(term, name);
    if (all.value_or(one) != one) return Direction::unknown;
    all = one;
  }
  return all.value_or(Direction::unknown);
}

}  // namespace

void TripIndices::add(Symbol index, const Integer& last) { last_.insert_or_assign(index, last); }

bool TripIndices::changes(const Integer& i) const {
  return i.symbolic() &&
         std::ranges::any_of(i.symbol.names(), [&](Symbol name) { return contains(name); });
}

/// An expression that falls as a trip index rises is least in the last trip. One that rises is
/// least in the first trip, which `at_least` covers, because names are 0 or more.
bool TripIndices::never_negative(const Integer& i) const {
  if (i.at_least(0)) return true;
  if (!i.symbolic()) return false;
  for (const Symbol name : i.symbol.names()) {
    const auto last = last_.find(name);
    if (last == last_.end() || direction(i.symbol.expression(), name) != Direction::falls) continue;
    if (never_negative(substitute(i, name, last->second))) return true;
  }
  return false;
}

Integer TripIndices::simplified(const Integer& i) const {
  struct Simplification {
    const TripIndices& trips;

    static Integer number(std::int64_t v) { return v; }
    static Integer name(Symbol s) { return Integer(s); }
    static Integer add(const Integer& x, const Integer& y) { return x + y; }
    static Integer multiply(const Integer& x, const Integer& y) { return x * y; }
    Integer maximum(const Integer& x, const Integer& y) const {
      return trips.never_negative(x - y) ? x : trips.never_negative(y - x) ? y : max(x, y);
    }
    static Integer quotient(const Integer& x, const Integer& y, const Expression&) {
      return floor_div(x, y);
    }
  };
  if (!i.known_or_symbolic()) return i;
  Simplification each{*this};
  return compute(i, each);
}

}  // namespace rondel::ir
