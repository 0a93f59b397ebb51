#include "base/error.h"
#include "kernels/mel_weights.h"
#include "ops/gradients.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void mel_weight_matrix_rule(ir::TypeContext& c) {
  static constexpr DType counts[] = {DType::i32, DType::i64};
  for (std::size_t k = 0; k < 5; ++k) {
    require_dtypes(c, k, k < 3 ? std::span<const DType>(counts) : float_dtypes());
    require_scalar(c, k);
  }
  const DType to = dtype_attribute(c.attributes(), "output_datatype");
  require(is_float(to) || is_integer(to), "output_datatype is {}; expected a number", name(to));
  const auto bands = c.integers(0), length = c.integers(1);
  if (bands) require(bands->front() >= 0, "num_mel_bins is {}", bands->front());
  if (length)
    require(length->front() >= 1, "dft_length is {}; expected 1 or more", length->front());
  c.output(0, ir::Type::tensor(to, {length ? ir::Extent(length->front() / 2 + 1) : ir::Extent(),
                                    bands ? ir::Extent(bands->front()) : ir::Extent()}));
}

kernels::UnsizedKernel prepare_mel_weights(const ir::Node& node, std::span<const ir::Type>) {
  const DType to = dtype_attribute(node.attributes, "output_datatype");
  return [to](kernels::UnsizedCall& call) { kernels::mel_weights(call, to); };
}

const ir::OpEntry mel_weight_matrix{{
    .name = "mel_weight_matrix",
    .doc = "y = the weights [dft_length / 2 + 1, num_mel_bins] that turn a spectrum into bands "
           "which are equally wide on the mel scale",
    .inputs = {{"num_mel_bins"},
               {"dft_length"},
               {"sample_rate"},
               {"lower_edge_hertz"},
               {"upper_edge_hertz"}},
    .attributes = {{"output_datatype", ir::Type::scalar(DType::f32)}},
    .type = mel_weight_matrix_rule,
    .meaning = unsized_kernel(prepare_mel_weights),
    .value_inputs = {0, 1},
    .can_fail = true,
    .gradient = zero_gradient,
}};

}  // namespace
}  // namespace rondel::ops
