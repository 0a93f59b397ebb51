#include "ops/learned/svm.h"

namespace rondel::ops {
namespace {

using ir::ValueId;

struct SvmKernel {
  explicit SvmKernel(const ir::Attributes& a) : type(a.s("kernel_type", "LINEAR")) {
    require(type == "LINEAR" || type == "POLY" || type == "RBF" || type == "SIGMOID",
            "kernel_type is '{}'; expected LINEAR, POLY, RBF or SIGMOID", type);
    const ir::Floats params = a.floats("kernel_params");
    require(params.empty() || params.size() == 3,
            "kernel_params has {} numbers; expected gamma, coef0 and degree", params.size());
    if (!params.empty()) gamma = params[0], coef0 = params[1], degree = params[2];
  }
  std::string type;
  double gamma = 0, coef0 = 0, degree = 0;
};

ValueId number(ir::Builder& b, double x) { return b.scalar(DType::f32, x); }

/// exp(-gamma * |x - v|^2), from differences, which lose nothing where x is close to v.
ValueId radial(ir::Builder& b, ValueId rows, const ir::Floats& vectors, std::int64_t count,
               double gamma) {
  const std::int64_t features = std::ssize(vectors) / count;
  const ValueId v = b.constant(numbers_tensor(DType::f32, {count, features}, vectors));
  const ValueId d = b("sub", {b("unsqueeze", {rows, b.integers({1})}), v});
  const ValueId squares = b("reduce_sum", {b("mul", {d, d}), b.integers({2})},
                            {{"keepdims", std::int64_t{0}}});
  return b("exp", {b("mul", {squares, number(b, -gamma)})});
}

}  // namespace

ir::Attributes svm_attributes(ir::Attributes own) {
  for (const char* list : {"coefficients", "kernel_params", "rho", "support_vectors"})
    own.set(list, ir::Floats{});
  own.set("kernel_type", "LINEAR");
  own.set("post_transform", "NONE");
  return own;
}

void check_svm_kernel(const ir::Attributes& a) { SvmKernel{a}; }

ValueId svm_kernels(ir::Builder& b, ValueId x, const ir::Attributes& a, const ir::Floats& vectors,
                    std::int64_t count) {
  const SvmKernel kernel(a);
  const ValueId rows = rows_of(b, x, linear_features(vectors, count), DType::f32);
  if (kernel.type == "RBF") return radial(b, rows, vectors, count, kernel.gamma);
  const ValueId products = b("mat_mul", {rows, transposed_constant(b, vectors, count)});
  if (kernel.type == "LINEAR") return products;
  const ValueId y = b("add",
                      {b("mul", {products, number(b, kernel.gamma)}), number(b, kernel.coef0)});
  if (kernel.type == "SIGMOID") return b("tanh", {y});
  return b("pow", {y, number(b, kernel.degree)});
}

}  // namespace rondel::ops
