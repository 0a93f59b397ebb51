#pragma once
#include "ir/builder.h"

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace rondel::mdf {

/// How a function call in an expression is compiled.
struct Call {
  using Arguments = std::span<const ir::ValueId>;
  std::size_t least, most;  ///< number of arguments
  std::function<ir::ValueId(ir::Builder&, Arguments)> write;
  std::string_view second = {};  ///< the keyword of the second argument
};
using CallTable = std::map<std::string, Call, std::less<>>;

/// Adds the functions of array_calls.cpp: reductions, searches, scans and comparisons of arrays.
void add_array_calls(CallTable&);

/// The axis, which must be an integer constant. Throws Error(caller) if it is not.
std::int64_t axis_of(const ir::Builder&, ir::ValueId);

}  // namespace rondel::mdf
