#pragma once
#include "runtime/plan.h"
#include "session/watchdog.h"

#include <span>

namespace rondel::session {

/// A value that goes from step to step: fed to an input, and replaced by an output.
struct Carried {
  std::size_t input, output;  ///< their numbers
  Value value;
};

/// Executes a frame whose parameters are set, and takes the values of the next step from it. The
/// values are given up to the run, as <rondel/session.h> says of Stepper; before the first is, the
/// watch ends. After an error each value is the old or the new one.
void execute_step(runtime::Frame&, Watch&, std::span<Carried>);

}  // namespace rondel::session
