#pragma once
#include "ir/op_def.h"

#include <rondel/dtype.h>

#include <set>
#include <string>

namespace rondel::tools {

/// The dtypes that an op accepts in the input that accepts most: those for which its type rule
/// accepts inputs of some rank. Empty if it has no inputs.
std::set<DType> dtypes_of(const ir::OpDef&);

/// "floats, integers, bool", by the names of groups where a group is whole; "-" if it is empty.
std::string to_text(const std::set<DType>&);

}  // namespace rondel::tools
