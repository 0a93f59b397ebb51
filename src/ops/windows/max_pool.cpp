#include "ops/batching.h"
#include "ops/type_rules.h"
#include "ops/windows/pooling.h"
#include "ops/windows/window_gradients.h"

namespace rondel::ops {
namespace {

ir::Attributes max_pool_attributes() {
  ir::Attributes a = pool_attributes();
  a.set("storage_order", std::int64_t{0});
  return a;
}

template <auto make>
SizedKernelMeaning::Kernel prepare_max_pool(const ir::Node& node,
                                            std::span<const ir::Type> inputs) {
  return make(pool_spec(node.attributes), inputs[0].dtype());
}

const ir::OpEntry max_pool{{
    .name = "max_pool",
    .doc = "y = the greatest element under each window, and its index",
    .inputs = {{"x"}},
    .outputs = {"y", "indices"},
    .attributes = max_pool_attributes(),
    .required = {"kernel_shape"},
    .type = numbers_only(pool_rule),
    .meaning = kernel(prepare_max_pool<kernels::max_pool>,
                      prepare_max_pool<kernels::fast_max_pool>),
    .batch = merged_into_first_axis,
    .gradient = max_pool_gradient,
}};

}  // namespace
}  // namespace rondel::ops
