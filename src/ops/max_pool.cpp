#include "ops/pooling.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

ir::Attributes attributes() {
  ir::Attributes a = pool_attributes();
  a.set("storage_order", std::int64_t{0});
  return a;
}

kernels::Kernel prepare(const ir::Node& node, std::span<const ir::Type>) {
  const bool indices = node.outputs.size() > 1 && node.outputs[1] != ir::ValueId::none;
  return [spec = pool_spec(node.attributes), indices](kernels::KernelCall& call) {
    kernels::max_pool(call, spec, indices);
  };
}

const ir::OpEntry max_pool{{
    .name = "max_pool",
    .doc = "y = the greatest element under each window, and where it stood",
    .inputs = {{"x"}},
    .outputs = {"y", "indices"},
    .attributes = attributes(),
    .required = {"kernel_shape"},
    .type = numbers_only(pool_rule),
    .meaning = kernel(prepare),
}};

}  // namespace
}  // namespace rondel::ops
