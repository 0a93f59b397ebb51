#include "ops/arg_extreme.h"

namespace rondel::ops {
namespace {

const ir::OpEntry arg_max{arg_op(
    "arg_max", "y = where along the axis the greatest element stands; NaN comes first", true)};

}  // namespace
}  // namespace rondel::ops
