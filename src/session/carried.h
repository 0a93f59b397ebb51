#pragma once
#include "runtime/plan.h"
#include "session/watchdog.h"

#include <span>

namespace rondel::session {

/// A carried value: fed to an input in each step and replaced by the value of an output.
struct Carried {
  std::size_t input, output;  ///< numbers of the input and the output
  Value value;
};

/// Executes a frame whose parameters are set, and replaces the carried values by those of the next
/// step. Old values are released during the run, as described for Stepper in <rondel/session.h>.
/// The watch ends before the first release, so that nothing ends the run afterwards. After an
/// error, each value is the old or the new one.
void execute_step(runtime::Frame&, Watch&, std::span<Carried>);

}  // namespace rondel::session
