#pragma once
#include "kernels/unsized_kernel.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rondel::kernels {

/// A pool of n-grams, and how their numbers in a row of tokens become a vector: as they are; the
/// weight of an n-gram that occurs; or the sum of the weights of all occurrences.
struct NgramPool {
  enum class Mode { counts, presence, weighted_counts };
  Mode mode = Mode::counts;
  std::int64_t shortest = 1, longest = 1;  ///< which n-grams are counted
  std::int64_t most_skipped = 0;           ///< tokens that may lie between two tokens of an n-gram
  /// The pool: first all 1-grams, then all 2-grams, and so on. starts[n - 1] is the index of the
  /// first token of the n-grams. One of the lists is empty.
  std::vector<std::int64_t> starts, integers;
  std::vector<std::string> strings;
  std::vector<std::int64_t> columns;  ///< where each n-gram of the pool is counted
  std::vector<double> weights;        ///< of each n-gram, for `presence` and `weighted_counts`

  /// The number of columns. `check` must have passed.
  std::int64_t width() const;
};

/// Throws Error(caller) if the lists of a pool do not fit together, or a number is out of range.
void check(const NgramPool&);

/// The n-grams of a pool in a form in which they are found fast. Throws as `check` does.
class Ngrams {
 public:
  explicit Ngrams(const NgramPool&);
  ~Ngrams();
  /// Input x: tokens [n] or [rows, n], i32, i64 or strings as in the pool. Output y: f32 [width] or
  /// [rows, width]. A unigram is counted once, other n-grams once for each distance of its tokens.
  void count(UnsizedCall&) const;

 private:
  struct Trie;
  std::unique_ptr<const Trie> trie_;
};

}  // namespace rondel::kernels
