#pragma once
#include "ops/meaning.h"

namespace rondel::ops {

/// The index (int64) of the greatest or least of element(0), ..., element(n - 1). Among equal
/// elements it is the index of the first, or of the last if `last`. NaN wins over every number.
/// `across`: neighbours of the elements in memory belong to other results, found at the same time.
Ex arg_extreme(scalar::Builder&, Ex n, DType element_type, bool greatest, bool last, bool across,
               const std::function<Ex(Ex i)>& element);

/// The definition of arg_max or arg_min.
ir::OpDef arg_op(std::string_view name, std::string_view doc, bool greatest);

}  // namespace rondel::ops
