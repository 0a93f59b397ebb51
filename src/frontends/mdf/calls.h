#pragma once
#include "ir/builder.h"

#include <span>
#include <string>
#include <vector>

namespace rondel::mdf {

/// A call of an expression: a function of numpy, math or Python ("numpy.exp", "abs"), of values;
/// the last ones are given by name. Throws Error(caller) for another name or number of arguments.
ir::ValueId call(ir::Builder&, const std::string& function, std::span<const ir::ValueId> arguments,
                 std::span<const std::string> keywords = {});
/// The names of all functions that may be called, sorted.
std::vector<std::string> names_of_calls();
/// "numpy.pi" and the like. Throws Error(caller) for another name.
double constant_of(const std::string& name);

}  // namespace rondel::mdf
