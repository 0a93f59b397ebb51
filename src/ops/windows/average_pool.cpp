#include "ops/batching.h"
#include "ops/type_rules.h"
#include "ops/windows/pooling.h"
#include "ops/windows/window_gradients.h"

namespace rondel::ops {
namespace {

ir::Attributes average_pool_attributes() {
  ir::Attributes a = pool_attributes();
  a.set("count_include_pad", std::int64_t{0});
  return a;
}

template <auto make>
SizedKernelMeaning::Kernel prepare_average_pool(const ir::Node& node,
                                                std::span<const ir::Type> inputs) {
  return make(pool_spec(node.attributes), inputs[0].dtype());
}

const ir::OpEntry average_pool{{
    .name = "average_pool",
    .doc = "y = the mean of the elements under each window",
    .inputs = {{"x"}},
    .attributes = average_pool_attributes(),
    .required = {"kernel_shape"},
    .type = floats_only(pool_rule),
    .meaning = kernel(prepare_average_pool<kernels::average_pool>,
                      prepare_average_pool<kernels::fast_average_pool>),
    .batch = merged_into_first_axis,
    .gradient = average_pool_gradient,
}};

}  // namespace
}  // namespace rondel::ops
