#pragma once
#include "frontends/mdf/layout.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rondel::mdf {

/// The scheduler's time scales, finest first. `update` is MDF's environment state update, which is
/// one evaluation of the model.
enum class TimeScale : std::uint8_t { set_execution, pass, update, sequence, life };

/// How a count is compared with `n`. `every`: the count is a multiple of `n`.
enum class Comparison : std::uint8_t { below, at, above, at_least, every };

/// A condition of the scheduler, or a combination of conditions. `kind` says which members it uses.
struct Rule {
  enum class Kind : std::uint8_t {
    always,
    never,
    all,             ///< all `parts` hold
    any,             ///< any of `parts` holds
    odd,             ///< an odd number of `parts` hold (xor)
    negation,        ///< the single part does not hold
    n_when,          ///< the single part holds, for the first `n` times only
    interval,        ///< the clock is in the range given by `repeat`, `start` and `end`
    set_executions,  ///< compares the number of set executions in `scale` with `n`
    passes,          ///< compares the number of passes in `scale` with `n`
    updates,         ///< compares the number of updates with `n`
    sequences,       ///< compares the number of ended sequences, always 0, with `n`
    calls,           ///< compares the total number of calls of `nodes` in `scale` with `n`
    every_n_calls,   ///< the node was called `n` times since the owner last ran
    just_ran,        ///< the node ran in the previous set execution
    all_have_run,    ///< all `nodes` have run in `scale`
    threshold,       ///< compares a value with `threshold`
  };
  Kind kind = Kind::always;
  std::vector<Rule> parts = {};
  std::vector<std::size_t> nodes = {};
  std::int64_t n = 0;
  Comparison comparison = Comparison::at_least;
  TimeScale scale = TimeScale::update;

  /// The parameters of `interval`, in picoseconds.
  std::optional<std::int64_t> repeat = {}, start = {}, end = {};
  bool start_inclusive = true, end_inclusive = true;

  /// The value that `threshold` reads: item `item` of `nodes[0]`, at the element `indices`.
  Role role = Role::parameter;
  std::size_t item = 0;
  std::vector<std::int64_t> indices = {};
  std::string comparator = {};
  double threshold = 0, absolute_tolerance = 0, relative_tolerance = 0;

  std::size_t number = 0;  ///< the index of an `n_when` among all of them
};

}  // namespace rondel::mdf
