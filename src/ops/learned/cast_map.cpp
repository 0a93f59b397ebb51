#include "base/error.h"
#include "kernels/maps.h"
#include "ops/gradients.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

DType result_dtype(const ir::Attributes& a) {
  const std::string to = a.s("cast_to", "TO_FLOAT");
  if (to == "TO_FLOAT") return DType::f32;
  if (to == "TO_INT64") return DType::i64;
  require(to == "TO_STRING", "cast_to is '{}'; expected TO_FLOAT, TO_INT64 or TO_STRING", to);
  return DType::string;
}

/// The length of the result if the keys are positions; nothing if they only say the order.
std::optional<std::int64_t> length_of(const ir::Attributes& a) {
  const std::string form = a.s("map_form", "DENSE");
  if (form == "DENSE") return {};
  require(form == "SPARSE", "map_form is '{}'; expected DENSE or SPARSE", form);
  const std::int64_t length = a.i("max_map", 1);
  require(length > 0, "max_map is {}; expected 1 or more", length);
  return length;
}

void cast_map_rule(ir::TypeContext& c) {
  const ir::Type& x = c.input(0);
  require(x.is_map() && x.key() == DType::i64 &&
              (x.dtype() == DType::f32 || x.dtype() == DType::string),
          "input 0 is {}; expected a map from i64 to f32 or str", to_text(x));
  const auto length = length_of(c.attributes());
  c.output(0, ir::Type::tensor(result_dtype(c.attributes()),
                               ir::Extents{1, length ? ir::Extent(*length) : ir::Extent()}));
}

kernels::UnsizedKernel prepare_cast_map(const ir::Node& n, std::span<const ir::Type>) {
  const DType to = result_dtype(n.attributes);
  const auto length = length_of(n.attributes);
  return length ? kernels::values_at_keys(to, *length) : kernels::values_by_key(to);
}

const ir::OpEntry cast_map{{
    .name = "cast_map",
    .doc = "y = the values of a map from integers in the order of its keys, or at the positions "
           "that the keys are (ai.onnx.ml)",
    .inputs = {{"x"}},
    .attributes = {{"cast_to", "TO_FLOAT"}, {"map_form", "DENSE"}, {"max_map", std::int64_t{1}}},
    .type = cast_map_rule,
    .meaning = unsized_kernel(prepare_cast_map),
    .gradient = zero_gradient,
}};

}  // namespace
}  // namespace rondel::ops
