#pragma once
#include <rondel/session.h>

#include <span>

namespace rondel::session {

/// The options themselves; Error(caller) where one is out of range, naming it.
const SessionOptions& checked(const SessionOptions&);

/// Tells `on_warning` of the warnings among the findings.
void tell_warnings(const SessionOptions&, std::span<const Finding>);

}  // namespace rondel::session
