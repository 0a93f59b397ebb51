#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace rondel::lowering {

/// Sums of constants and of coefficients near 2^63, which bounds from a file may be, do not fit
/// into 64 bits.
using WideInteger = __int128;

/// A sum of integer unknowns, each with a coefficient other than 0, and a constant; at most 0.
struct Inequality {
  using Terms = std::map<std::size_t, WideInteger>;
  Terms terms;
  WideInteger constant = 0;
};

/// Linear inequalities over integers.
class Inequalities {
 public:
  void add(Inequality);
  /// False only if no integers fulfil all inequalities.
  bool have_solution() const;

 private:
  /// Those in which an unknown has a positive coefficient, and those in which it has a negative
  /// one.
  struct Sides {
    std::vector<Inequality> positive, negative;
  };
  bool substitute_one();
  void eliminate_one();
  Sides take(std::size_t unknown);
  void add_sums(std::size_t unknown, const std::vector<Inequality>&,
                const std::vector<Inequality>&);

  /// By terms, the largest constant: the strictest inequality.
  std::map<Inequality::Terms, WideInteger> rows_;
  bool impossible_ = false;
};

}  // namespace rondel::lowering
