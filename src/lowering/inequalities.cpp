#include "lowering/inequalities.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

namespace rondel::lowering {
namespace {

/// Fourier-Motzkin elimination gives up beyond as many inequalities.
constexpr std::size_t most_rows = 200;

using Terms = std::map<std::size_t, std::int64_t>;

WideInteger rounded_up(WideInteger a, std::int64_t by) { return a / by + (a % by > 0 ? 1 : 0); }

/// Divides by what divides all coefficients. The sum of integers is one, so the constant is rounded
/// up.
Inequality reduced(Inequality row) {
  std::int64_t common = 0;
  for (const auto& [unknown, coefficient] : row.terms) common = std::gcd(common, coefficient);
  if (common <= 1) return row;
  for (auto& [unknown, coefficient] : row.terms) coefficient /= common;
  row.constant = rounded_up(row.constant, common);
  return row;
}

template <class Number> bool add_product(Number& sum, Number a, std::int64_t b) {
  Number product = 0;
  return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(sum, product, &sum);
}

/// The inequality without the unknown that follows from two in which its coefficients have opposite
/// signs; nothing if a number becomes too large.
std::optional<Inequality> without(std::size_t unknown, const Inequality& positive,
                                  const Inequality& negative) {
  const std::int64_t up = positive.terms.at(unknown), down = negative.terms.at(unknown);
  if (down == INT64_MIN) return std::nullopt;
  const std::int64_t common = std::gcd(up, -down);
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

/// Eliminates one unknown after the other. Inequalities that are left out for their size only make
/// solutions appear.
bool Inequalities::have_solution() const {
  Inequalities left = *this;
  while (!left.impossible_ && !left.rows_.empty()) {
    struct Signs {
      std::size_t positive = 0, negative = 0;
      std::size_t pairs() const { return positive * negative; }
    };
    std::map<std::size_t, Signs> signs;
    for (const auto& [terms, constant] : left.rows_)
      for (const auto& [unknown, coefficient] : terms)
        ++(coefficient > 0 ? signs[unknown].positive : signs[unknown].negative);
    const auto& [unknown, count] = *std::ranges::min_element(
        signs, {}, [](const auto& s) { return s.second.pairs(); });
    if (left.rows_.size() + count.pairs() > most_rows) return true;
    std::vector<Inequality> positive, negative;
    Inequalities next;
    for (const auto& [terms, constant] : left.rows_) {
      const auto at = terms.find(unknown);
      if (at == terms.end()) next.rows_.emplace(terms, constant);
      else (at->second > 0 ? positive : negative).push_back({terms, constant});
    }
    for (const Inequality& p : positive)
      for (const Inequality& n : negative)
        if (auto sum = without(unknown, p, n)) next.add(std::move(*sum));
    left = std::move(next);
  }
  return !left.impossible_;
}

}  // namespace rondel::lowering
