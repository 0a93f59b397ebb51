#pragma once
#include "frontends/deepx/names.h"
#include "frontends/deepx/statement.h"

namespace rondel::deepx {

/// What `print` shows: the name and type, then the elements in rows, long ones shortened. Ends with
/// a line break. `format`: of floats as "%.2f", of integers as "%d"; "" as short as it tells the
/// number. Throws Error(caller) at the place for a format that is none of the dtype.
std::string shown(std::string_view name, const Tensor&, std::string_view format, const Position&);

}  // namespace rondel::deepx
