#pragma once
#include "ir/builder.h"

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace rondel::mdf {

/// How a call of an expression is written.
struct Call {
  using Arguments = std::span<const ir::ValueId>;
  std::size_t least, most;  ///< arguments
  std::function<ir::ValueId(ir::Builder&, Arguments)> write;
  std::string_view second = {};  ///< the name that the second argument may be given by
};
using CallTable = std::map<std::string, Call, std::less<>>;

/// Functions that compare, count, search and join: array_calls.cpp.
void add_array_calls(CallTable&);

/// An axis that is given as a constant. Throws Error(caller) for another.
std::int64_t axis_of(const ir::Builder&, ir::ValueId);

}  // namespace rondel::mdf
