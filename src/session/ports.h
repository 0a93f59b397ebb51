#pragma once
#include "ir/graph.h"

#include <rondel/session.h>

namespace rondel::session {

/// What a user sees of an input or output: "tensor(float)", extents as text.
PortInfo port(const std::string& name, const ir::Type&);

/// Checks what is fed for an input against its type; the error names the input, what came and
/// what was expected.
void check_feed(const std::string& name, const Value&, const ir::Type& expected);

}  // namespace rondel::session
