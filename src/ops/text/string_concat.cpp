#include "base/error.h"
#include "kernels/stop_check.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

/// `t` with the shape that it is broadcast to, as a row-major block.
Tensor broadcast_to(const Tensor& t, const Shape& shape) {
  Shape strides(shape.size(), 0);
  const std::size_t missing = shape.size() - t.shape().size();
  for (std::size_t a = 0; a < t.shape().size(); ++a)
    if (t.shape()[a] != 1) strides[missing + a] = t.strides()[a];
  return t.strided(0, shape, strides).packed();
}

Shape common_shape(const Tensor& a, const Tensor& b) {
  const auto extents = [](const Tensor& t) {
    return ir::Extents(t.shape().begin(), t.shape().end());
  };
  const auto common = broadcast_extents(extents(a), extents(b));
  Shape shape;
  for (const ir::Extent& e : *common) shape.push_back(e.value);
  return shape;
}

void concatenate(kernels::UnsizedCall& call) {
  const Shape shape = common_shape(call.tensor(0), call.tensor(1));
  const Tensor a = broadcast_to(call.tensor(0), shape), b = broadcast_to(call.tensor(1), shape);
  const Tensor y = call.make(0, DType::string, shape);
  kernels::StopCheck stop(call);
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const std::string &left = a.data_as<std::string>()[i], &right = b.data_as<std::string>()[i];
    y.data_as<std::string>()[i] = left + right;
    stop.add_work(16 + static_cast<std::int64_t>(left.size() + right.size()) / 16);
  }
}

const ir::OpEntry string_concat{{
    .name = "string_concat",
    .doc = "z = the text x followed by y, broadcast",
    .inputs = {{"x"}, {"y"}},
    .outputs = {"z"},
    .type = with_dtypes({DType::string}, broadcast_rule),
    .meaning = unsized_kernel([](const ir::Node&, std::span<const ir::Type>) {
      return kernels::UnsizedKernel(concatenate);
    }),
}};

}  // namespace
}  // namespace rondel::ops
