#include "ops/windows/pooling.h"

namespace rondel::ops {
namespace {

const ir::OpEntry global_average_pool{
    global_pool("global_average_pool", "y = the mean of each channel", "reduce_mean")};

}  // namespace
}  // namespace rondel::ops
