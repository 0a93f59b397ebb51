#include "ops/reductions/arg_extreme.h"

namespace rondel::ops {
namespace {

const ir::OpEntry arg_min{
    arg_op("arg_min", "y = the index of the least element along the axis; NaN wins", false)};

}  // namespace
}  // namespace rondel::ops
