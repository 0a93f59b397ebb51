#pragma once
#include <cstdint>

namespace rondel::scalar {

/// The role of a parameter buffer in the scalar program of a whole loop or `if`. Such a program has
/// the integer parameters (from, to, n, budget, sizes...). It runs the trips [from, to) and writes
/// to `stopped` where it stopped. n is the trip count if it is certain, else 0. No inner loop makes
/// more trips than the budget. The sizes are of values whose extents become known only while it
/// runs: if one does not suffice, the program stops (`Site::size`), and its trips are run again
/// with a larger one. The program of an `if` reads the budget only.
enum class LoopBinding : std::uint8_t {
  state,      ///< a carried state: its value before the first trip, then after the last
  invariant,  ///< a state that no trip changes
  extent,     ///< i64[]: an extent of states that differs from trip to trip; buffers of such states
              ///< have room for more on that axis
  first_extent,  ///< i64[]: what such an extent was before the first trip
  go,            ///< bool[]: the condition that the body gave last
  stopped,       ///< i64[]: the index after that of the last trip
  capture,       ///< a value of the enclosing region
  scan,          ///< a whole scanned tensor
  stack,         ///< destination of items: the whole result, or rows of a growing stack
  input,         ///< an input of an `if`: its condition
  result,        ///< an output of an `if`
  temporary,     ///< working memory; shared if lifetimes do not meet
  constant,      ///< a constant of the model
};

}  // namespace rondel::scalar
