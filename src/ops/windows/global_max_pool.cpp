#include "ops/windows/pooling.h"

namespace rondel::ops {
namespace {

const ir::OpEntry global_max_pool{
    global_pool("global_max_pool", "y = the greatest element of each channel", "reduce_max")};

}  // namespace
}  // namespace rondel::ops
