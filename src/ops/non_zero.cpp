#include "base/error.h"
#include "kernels/looks.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

#include <cstring>

namespace rondel::ops {
namespace {

void non_zero_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  const ir::Type& x = c.input(0);
  if (!x.has_rank()) return c.output(0, ir::Type::ranked(DType::i64, 2));
  c.output(0, ir::Type::tensor(DType::i64, ir::Extents{x.rank(), ir::Extent()}));
}

/// Whether element i is zero; floats have two zeros, which differ in the sign bit.
bool is_zero(const Tensor& t, std::int64_t i) {
  if (t.dtype() == DType::string) return t.data_as<std::string>()[i].empty();
  if (t.dtype() == DType::f64) return t.data_as<double>()[i] == 0;
  if (t.dtype() == DType::f32) return t.data_as<float>()[i] == 0;
  const std::size_t width = byte_size(t.dtype());
  std::uint64_t bits = 0;
  if (width <= 8)
    std::memcpy(&bits, t.data_as<char>() + static_cast<std::size_t>(i) * width, width);
  if (t.dtype() == DType::f16 || t.dtype() == DType::bf16) return (bits & 0x7fff) == 0;
  return bits == 0;
}

void non_zero_kernel(kernels::KernelCall& call) {
  const Tensor x = kernels::packed_with_looks(call, 0);
  std::vector<std::int64_t> found;
  kernels::Looks looks(call);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    if (!is_zero(x, i)) found.push_back(i);
    looks.did(2);
  }
  const auto n = static_cast<std::int64_t>(found.size());
  const Tensor y = call.make(0, DType::i64, {x.rank(), n});
  for (std::int64_t k = 0; k < n; ++k) {
    looks.did(8);
    std::int64_t rest = found[static_cast<std::size_t>(k)];
    for (std::int64_t a = x.rank(); a-- > 0;) {
      const std::int64_t extent = x.shape()[static_cast<std::size_t>(a)];
      y.data_as<std::int64_t>()[a * n + k] = rest % extent;
      rest /= extent;
    }
  }
}

const ir::OpEntry non_zero{{
    .name = "non_zero",
    .doc =
        "y = the indices of the elements of x that are not zero, i64[rank, n], in row-major order",
    .inputs = {{"x"}},
    .type = ir::TypeRule(non_zero_rule),
    .meaning = kernel([](const ir::Node&, std::span<const ir::Type>) -> kernels::Kernel {
      return non_zero_kernel;
    }),
}};

}  // namespace
}  // namespace rondel::ops
