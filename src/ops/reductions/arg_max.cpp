#include "ops/reductions/arg_extreme.h"

namespace rondel::ops {
namespace {

const ir::OpEntry arg_max{
    arg_op("arg_max", "y = the index of the greatest element along the axis; NaN wins", true)};

}  // namespace
}  // namespace rondel::ops
