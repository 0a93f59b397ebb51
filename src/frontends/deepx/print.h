#pragma once
#include "frontends/deepx/names.h"
#include "frontends/deepx/statement.h"

namespace rondel::deepx {

/// The output of `print`: the name and type, then the elements in rows; large tensors are
/// abbreviated. Ends with a line break. `format`: as "%.2f" for floats, as "%d" for integers; "" is
/// the shortest exact text. Throws Error(caller), with the position, for an invalid format.
std::string shown(std::string_view name, const Tensor&, std::string_view format, const Position&);

}  // namespace rondel::deepx
