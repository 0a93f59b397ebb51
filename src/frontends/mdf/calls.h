#pragma once
#include "ir/builder.h"

#include <span>
#include <string>
#include <vector>

namespace rondel::mdf {

/// Compiles a call of a function of numpy, math or Python ("numpy.exp", "abs"). `keywords` are the
/// names of the trailing arguments that are passed by name. Throws Error(caller) for an unknown
/// function or keyword, or a wrong number of arguments.
ir::ValueId call(ir::Builder&, const std::string& function, std::span<const ir::ValueId> arguments,
                 std::span<const std::string> keywords = {});
/// The names of all supported functions, sorted.
std::vector<std::string> names_of_calls();
/// The value of a constant such as "numpy.pi". Throws Error(caller) for an unknown name.
double constant_of(const std::string& name);

}  // namespace rondel::mdf
