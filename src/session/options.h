#pragma once
#include <rondel/session.h>

#include <span>

namespace rondel::session {

/// The options themselves; Error(caller) where one is out of range, naming it.
const SessionOptions& checked(const SessionOptions&);

/// Reports the warnings among the findings to `on_warning`.
void report_warnings(const SessionOptions&, std::span<const Finding>);

}  // namespace rondel::session
