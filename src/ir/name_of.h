#pragma once
#include "ir/graph.h"

#include <string>

namespace rondel::ir {

/// "'x'": how remarks name a value. An integer of the model is named by its number, a value without
/// a name by the node that makes it.
std::string name_of(const Graph&, ValueId);

}  // namespace rondel::ir
