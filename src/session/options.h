#pragma once
#include <rondel/session.h>

#include "base/arithmetic.h"

#include <span>

namespace rondel::session {

/// Returns the options. Throws Error(caller), which names the option, if one is out of range.
const SessionOptions& checked(const SessionOptions&);

/// The same for the options of a run.
const RunOptions& checked(const RunOptions&);

/// The arithmetic that the options ask for.
Arithmetic arithmetic_of(const SessionOptions&);

/// Reports the warnings among the findings to `on_warning`, or to stderr if it is not set.
void report_warnings(const SessionOptions&, std::span<const Finding>);

}  // namespace rondel::session
