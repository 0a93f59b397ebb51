#pragma once
#include "frontends/mdf/layout.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rondel::mdf {

/// The scheduler's units of time, finest first. An evaluation is an environment state update.
enum class TimeScale : std::uint8_t { set_execution, pass, update, sequence, life };

/// How a count is compared with `n`.
enum class Comparison : std::uint8_t { below, at, above, at_least, every };

struct Rule {
  enum class Kind : std::uint8_t {
    always,
    never,
    all,             ///< of `parts`
    any,             ///< of `parts`
    odd,             ///< an odd number of `parts` hold: of two, one and not the other
    negation,        ///< of the one part
    n_when,          ///< the one part, the first `n` times that it holds
    interval,        ///< the clock against `repeat`, `start`, `end`
    set_executions,  ///< their number in `scale` against `n`
    passes,
    updates,
    sequences,
    calls,          ///< of `nodes` together, in `scale`, against `n`
    every_n_calls,  ///< `n` calls of the node since the owner last ran
    just_ran,       ///< the node ran in the set before
    all_have_run,   ///< all of `nodes` in `scale`
    threshold,      ///< a value against `threshold`
  };
  Kind kind = Kind::always;
  std::vector<Rule> parts = {};
  std::vector<std::size_t> nodes = {};
  std::int64_t n = 0;
  Comparison comparison = Comparison::at_least;
  TimeScale scale = TimeScale::update;

  /// In picoseconds.
  std::optional<std::int64_t> repeat = {}, start = {}, end = {};
  bool start_inclusive = true, end_inclusive = true;

  /// A value of `nodes[0]`, and the index of the element that is meant.
  Role role = Role::parameter;
  std::size_t item = 0;
  std::vector<std::int64_t> indices = {};
  std::string comparator = {};
  double threshold = 0, absolute_tolerance = 0, relative_tolerance = 0;

  std::size_t number = 0;  ///< of an `n_when`, among all of them
};

}  // namespace rondel::mdf
