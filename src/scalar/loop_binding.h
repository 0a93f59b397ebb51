#pragma once
#include <cstdint>

namespace rondel::scalar {

/// What a parameter buffer of the program of a whole loop, or of an `if`, stands for. Such a
/// program has the integer parameters (from, to, n, budget): it runs the trips [from, to) and says
/// in `stopped` where it stopped; n is the certain number of trips, else 0; no inner loop makes
/// more trips than the budget. An `if` reads the last one only.
enum class LoopBinding : std::uint8_t {
  state,      ///< a carried state: its value before the first trip, then after the last
  invariant,  ///< a state that no trip changes
  go,         ///< bool[]: the go that the body gave last
  stopped,    ///< i64[]: the trip after the last one made
  capture,    ///< a value of the enclosing region
  scan,       ///< a whole scanned tensor
  stack,      ///< where items go: the whole result, or rows of a growing stack
  input,      ///< an input of an `if`: its condition
  result,     ///< an output of an `if`
  temporary,  ///< working memory; those whose lifetimes do not meet may share it
  constant,   ///< a constant of the model
};

}  // namespace rondel::scalar
