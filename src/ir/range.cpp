#include "ir/range.h"

#include "ir/expression.h"

#include <algorithm>

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
    return {x.least.known_or_symbolic() ? max(x.least, y.least) : y.least, max(x.most, y.most)};
  }
  static Range quotient(const Range& x, const Range& y, const Expression&) {
    // A quotient by a number, rounded down, never falls where the dividend grows.
    if (y.least.known() && y.least == y.most && y.least.at_least(1))
      return {floor_div(x.least, y.least), floor_div(x.most, y.least)};
    if (!x.least.at_least(0) || !y.least.at_least(1)) return {};
    return {0, floor_div(x.most, y.least)};
  }
};

/// Bounds of an expression whose names are at most `largest_listed`.
struct Bounds {
  double least, most;

  static Bounds of(double v) { return {v, v}; }
  Bounds operator+(const Bounds& o) const { return {least + o.least, most + o.most}; }
  Bounds operator*(const Bounds& o) const {
    const auto [low, high] = std::minmax(
        {least * o.least, least * o.most, most * o.least, most * o.most});
    return {low, high};
  }
};

Bounds bounds(const Integer& i, const AreOfOneTensor& are_of_one_tensor) {
  if (i.known()) return Bounds::of(static_cast<double>(*i.number));
  const Expression& x = i.symbol.expression();
  if (x.kind == Expression::Kind::name) return {0, static_cast<double>(largest_listed)};
  if (x.kind != Expression::Kind::sum) {
    const Bounds a = bounds(x.a, are_of_one_tensor);
    const bool excess = x.kind == Expression::Kind::excess;
    return {excess ? std::max(a.least, 0.0) : std::min(a.least, 0.0), std::max(a.most, 0.0)};
  }
  Bounds sum = Bounds::of(static_cast<double>(x.constant));
  for (const Term& term : x.terms) {
    Bounds product = Bounds::of(static_cast<double>(term.coefficient));
    const bool is_size = term.factors.size() > 1 &&
                         std::ranges::all_of(term.factors, &Symbol::is_name) &&
                         are_of_one_tensor(term.factors);
    if (is_size) product = product * Bounds{0, static_cast<double>(largest_size)};
    else
      for (const Symbol factor : term.factors)
        product = product * bounds(Integer(factor), are_of_one_tensor);
    sum = sum + product;
  }
  return sum;
}

/// A term max(a, 0) or -max(a, 0) of a sum.
struct Excess {
  Integer a, rest;  ///< the sum without the term
  bool positive;
};
/// All of them; a positive one alone, if there is one: taking it apart loses nothing.
std::vector<Excess> excesses_in(const Integer& e) {
  if (!e.symbolic()) return {};
  const Expression& x = e.symbol.expression();
  if (x.kind == Expression::Kind::excess) return {{x.a, 0, true}};
  std::vector<Excess> found;
  for (const Term& t : x.terms) {
    const bool positive = t.coefficient == 1;
    if (t.factors.size() != 1 || (!positive && t.coefficient != -1)) continue;
    const Expression& factor = t.factors[0].expression();
    if (factor.kind != Expression::Kind::excess) continue;
    const Excess excess{factor.a, e - Integer(t.coefficient) * Integer(t.factors[0]), positive};
    if (positive) return {excess};
    found.push_back(excess);
  }
  return found;
}

/// Whether some name in the integer does not stand for itself.
bool has_range(const Integer& i, const RangeOfName& range_of) {
  return i.symbolic() && std::ranges::any_of(i.symbol.names(), [&](Symbol name) {
           return range_of(name).has_value();
         });
}

/// `cases`: how many excesses may still be taken apart. rest + max(a, 0) is the greater of rest + a
/// and rest; rest - max(a, 0) is at most rest - a and at most rest.
Integer greatest(const Integer& e, const RangeOfName& range_of, int cases) {
  if (!e.known_or_symbolic()) return {};
  const std::vector<Excess> all = cases > 0 ? excesses_in(e) : std::vector<Excess>();
  const auto excess = std::ranges::find_if(
      all, [&](const Excess& x) { return has_range(x.a, range_of); });
  if (excess != all.end()) {
    const Integer with = excess->positive ? excess->rest + excess->a : excess->rest - excess->a;
    const Integer one = greatest(with, range_of, cases - 1),
                  other = greatest(excess->rest, range_of, cases - 1);
    if (excess->positive && one.known_or_symbolic() && other.known_or_symbolic())
      return max(one, other);
    if (!excess->positive && one.known_or_symbolic() && other.known_or_symbolic())
      return min(one, other);
    if (!excess->positive && (one.known_or_symbolic() || other.known_or_symbolic()))
      return one.known_or_symbolic() ? one : other;
  }
  RangeArithmetic arithmetic{range_of};
  return compute(e, arithmetic).most;
}

bool never_positive(const Integer& e, const RangeOfName& range_of, int cases) {
  if (e.at_most(0)) return true;
  const std::vector<Excess> all = cases > 0 ? excesses_in(e) : std::vector<Excess>();
  for (const Excess& x : all) {
    const Integer with = x.positive ? x.rest + x.a : x.rest - x.a;
    const int fewer = cases - static_cast<int>(all.size());  // so that the work stays small
    const bool rest = never_positive(x.rest, range_of, fewer);
    if (x.positive) return rest && never_positive(with, range_of, fewer);
    if (rest || never_positive(with, range_of, fewer)) return true;
  }
  if (!all.empty()) return false;
  return greatest(e, range_of, 0).at_most(0);
}

constexpr int most_cases = 6;

}  // namespace

Integer greatest(const Integer& e, const RangeOfName& range_of) {
  return greatest(e, range_of, most_cases);
}

bool never_positive(const Integer& e, const RangeOfName& range_of) {
  return never_positive(e, range_of, most_cases);
}

bool never_wraps(const Integer& i, const AreOfOneTensor& are_of_one_tensor) {
  if (!i.known_or_symbolic()) return false;
  const auto fits = [&](const AreOfOneTensor& are_of_one) {
    constexpr double limit = 0x1p62;
    const Bounds b = bounds(i, are_of_one);
    return -limit < b.least && b.most < limit;
  };
  // Most integers fit without the question which tensors their names are of, which takes longer.
  return fits([](auto) { return false; }) || fits(are_of_one_tensor);
}

}  // namespace rondel::ir
