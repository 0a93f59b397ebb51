#pragma once
#include "ir/graph.h"

#include <rondel/session.h>

namespace rondel::session {

/// The public description of an input or output: the type as in "tensor(float)", extents as text.
PortInfo port(const std::string& name, const ir::Type&);

/// The type of output j as declared; of an output that is not, as inferred.
const ir::Type& output_type(const ir::Graph&, std::size_t j);

/// Checks a feed against the type of its input. Throws Error(caller), which names the input, the
/// given type and the expected type.
void check_feed(const std::string& name, const Value&, const ir::Type& expected);

}  // namespace rondel::session
