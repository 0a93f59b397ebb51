#pragma once
#include "ops/meaning.h"

namespace rondel::ops {

/// The definition of an op that writes the running results of a fold along one axis, such as
/// CumSum. Elements are combined in order, starting with `neutral`.
ir::OpDef running_op(std::string_view name, std::string_view doc, std::int64_t neutral,
                     Ex (*combine)(Ex, Ex), ir::GradientRule = {});

}  // namespace rondel::ops
