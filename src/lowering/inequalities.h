#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace rondel::lowering {

/// A sum of integer unknowns, each with a coefficient other than 0, and a constant; at most 0.
struct Inequality {
  std::map<std::size_t, std::int64_t> terms;
  std::int64_t constant = 0;
};

/// Linear inequalities over integers.
class Inequalities {
 public:
  void add(Inequality);
  /// False only if no integers fulfil all inequalities.
  bool have_solution() const;

 private:
  /// By terms, the largest constant: the strictest inequality.
  std::map<std::map<std::size_t, std::int64_t>, std::int64_t> rows_;
  bool impossible_ = false;
};

}  // namespace rondel::lowering
