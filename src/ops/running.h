#pragma once
#include "ops/meaning.h"

namespace rondel::ops {

/// A cumulative fold along one axis, such as CumSum: in order, from `neutral`.
ir::OpDef running_op(std::string_view name, std::string_view doc, std::int64_t neutral,
                     Ex (*combine)(Ex, Ex), ir::GradientRule = {});

}  // namespace rondel::ops
