#include "ops/arg_extreme.h"

namespace rondel::ops {
namespace {

const ir::OpEntry arg_min{
    arg_op("arg_min", "y = where along the axis the least element stands; NaN comes first", false)};

}  // namespace
}  // namespace rondel::ops
