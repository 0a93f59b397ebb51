#include "lowering/inequalities.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace rondel::lowering {
namespace {

/// An unknown whose elimination would leave more inequalities goes, and all that have it with it:
/// that only makes solutions appear.
constexpr std::size_t most_rows = 20000;

using Terms = Inequality::Terms;

WideInteger rounded_up(WideInteger a, WideInteger by) { return a / by + (a % by > 0 ? 1 : 0); }

/// The greatest common divisor, 0 or more. (std::gcd takes no 128 bits.)
WideInteger common_divisor(WideInteger a, WideInteger b) {
  while (b != 0) a = std::exchange(b, a % b);
  return a < 0 ? -a : a;
}

/// Divides by what divides all coefficients. The sum of integers is one, so the constant is rounded
/// up.
Inequality reduced(Inequality row) {
  WideInteger common = 0;
  for (const auto& [unknown, coefficient] : row.terms) common = common_divisor(common, coefficient);
  if (common <= 1) return row;
  for (auto& [unknown, coefficient] : row.terms) coefficient /= common;
  row.constant = rounded_up(row.constant, common);
  return row;
}

bool add_product(WideInteger& sum, WideInteger a, WideInteger b) {
  WideInteger product = 0;
  return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(sum, product, &sum);
}

/// The inequality without the unknown that follows from two in which its coefficients have opposite
/// signs; nothing if a number becomes too large.
std::optional<Inequality> without(std::size_t unknown, const Inequality& positive,
                                  const Inequality& negative) {
  const WideInteger up = positive.terms.at(unknown), down = negative.terms.at(unknown);
  const WideInteger common = common_divisor(up, down);
  Inequality sum;
  for (const auto& [row, times] :
       {std::pair(&positive, -down / common), std::pair(&negative, up / common)}) {
    if (!add_product(sum.constant, row->constant, times)) return std::nullopt;
    for (const auto& [other, coefficient] : row->terms)
      if (!add_product(sum.terms[other], coefficient, times)) return std::nullopt;
  }
  std::erase_if(sum.terms, [](const auto& term) { return term.second == 0; });
  return sum;
}

}  // namespace

void Inequalities::add(Inequality row) {
  row = reduced(std::move(row));
  if (row.terms.empty()) {
    impossible_ = impossible_ || row.constant > 0;
    return;
  }
  const auto [at, is_new] = rows_.try_emplace(row.terms, row.constant);
  at->second = std::max(at->second, row.constant);
}

bool Inequalities::have_solution() const {
  Inequalities left = *this;
  while (!left.impossible_ && !left.rows_.empty())
    if (!left.substitute_one()) left.eliminate_one();
  return !left.impossible_;
}

/// Replaces an unknown that is equal to a sum of others: two inequalities say so. This leaves no
/// more of them than there were. False if there is no such unknown.
bool Inequalities::substitute_one() {
  for (const auto& [terms, constant] : rows_) {
    const auto one = std::ranges::find(terms, 1, &Terms::value_type::second);
    if (one == terms.end()) continue;
    Terms opposite = terms;
    for (auto& [unknown, coefficient] : opposite) coefficient = -coefficient;
    const auto at = rows_.find(opposite);
    if (at == rows_.end() || at->second != -constant) continue;
    const std::size_t unknown = one->first;
    const Inequality least{terms, constant}, most{opposite, at->second};
    const Sides sides = take(unknown);
    add_sums(unknown, sides.positive, {most});
    add_sums(unknown, {least}, sides.negative);
    return true;
  }
  return false;
}

/// Fourier-Motzkin elimination, of the unknown that leaves the fewest inequalities, if possible one
/// for which nothing is lost.
void Inequalities::eliminate_one() {
  struct Signs {
    std::size_t positive = 0, negative = 0;
    WideInteger largest = 0, least = 0;
    std::size_t pairs() const { return positive * negative; }
    /// Between bounds of which all on one side have the coefficient 1 there are integers.
    bool lossless() const { return largest <= 1 || least >= -1; }
  };
  std::map<std::size_t, Signs> signs;
  for (const auto& [terms, constant] : rows_)
    for (const auto& [unknown, coefficient] : terms) {
      Signs& s = signs[unknown];
      ++(coefficient > 0 ? s.positive : s.negative);
      s.largest = std::max(s.largest, coefficient);
      s.least = std::min(s.least, coefficient);
    }
  const auto fits = [&](const Signs& s) { return rows_.size() + s.pairs() <= most_rows; };
  const auto& [unknown, count] = *std::ranges::min_element(signs, {}, [&](const auto& s) {
    return std::pair(!s.second.lossless() || !fits(s.second), s.second.pairs());
  });
  const bool all = fits(count);
  const Sides sides = take(unknown);
  if (all) add_sums(unknown, sides.positive, sides.negative);
}

/// Takes out the inequalities that have the unknown.
Inequalities::Sides Inequalities::take(std::size_t unknown) {
  Sides sides;
  std::erase_if(rows_, [&](const auto& row) {
    const auto at = row.first.find(unknown);
    if (at == row.first.end()) return false;
    (at->second > 0 ? sides.positive : sides.negative).push_back({row.first, row.second});
    return true;
  });
  return sides;
}

/// Adds what follows from each two of them without the unknown.
void Inequalities::add_sums(std::size_t unknown, const std::vector<Inequality>& positive,
                            const std::vector<Inequality>& negative) {
  for (const Inequality& p : positive)
    for (const Inequality& n : negative)
      if (auto sum = without(unknown, p, n)) add(std::move(*sum));
}

}  // namespace rondel::lowering
