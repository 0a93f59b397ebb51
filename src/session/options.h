#pragma once
#include <rondel/session.h>

namespace rondel::session {

/// The options themselves; Error(caller) where one is out of range, naming it.
const SessionOptions& checked(const SessionOptions&);

}  // namespace rondel::session
