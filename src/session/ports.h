#pragma once
#include "ir/graph.h"

#include <rondel/session.h>

namespace rondel::session {

/// An input or output as users see it: "tensor(float)", extents as text.
PortInfo port(const std::string& name, const ir::Type&);

/// Checks a feed against its input's type; the error names the input, the given and the expected
/// type.
void check_feed(const std::string& name, const Value&, const ir::Type& expected);

}  // namespace rondel::session
