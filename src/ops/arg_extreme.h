#pragma once
#include "ops/meaning.h"

namespace rondel::ops {

/// Where the greatest (or least) of element(0), ..., element(n-1) stands: the first of equals, or
/// the last. NaN comes before everything. int64.
Ex arg_extreme(scalar::Builder&, Ex n, DType element_type, bool greatest, bool last,
               const std::function<Ex(Ex i)>& element);

/// ArgMax and ArgMin in full.
ir::OpDef arg_op(std::string_view name, std::string_view doc, bool greatest);

}  // namespace rondel::ops
