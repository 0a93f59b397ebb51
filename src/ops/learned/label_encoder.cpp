#include "ops/learned/keys.h"

namespace rondel::ops {
namespace {

struct LabelTable {
  explicit LabelTable(const ir::Attributes& a)
      : keys(first_list(a, {"keys_tensor", "keys_strings", "keys_int64s", "keys_floats"})),
        values(
            first_list(a, {"values_tensor", "values_strings", "values_int64s", "values_floats"})),
        otherwise(list_of(a, "default_tensor")) {
    require(keys.defined() && values.defined(), "it has no keys or no values");
    require(keys.size() == values.size(), "it has {} keys and {} values", keys.size(),
            values.size());
    if (!otherwise.defined()) otherwise = usual_default(a, values.dtype());
    require(otherwise.dtype() == values.dtype() && otherwise.size() == 1,
            "default_tensor is {}; expected one {}", to_text(otherwise), name(values.dtype()));
  }

  static Tensor usual_default(const ir::Attributes& a, DType t) {
    const double number = is_float(t) ? a.f("default_float", -0.0)
                                      : static_cast<double>(a.i("default_int64", -1));
    switch (t) {
      case DType::string: return Tensor::scalar(a.s("default_string", "_Unused"));
      case DType::i64: return Tensor::scalar(a.i("default_int64", -1));
      case DType::i32: return Tensor::scalar(static_cast<std::int32_t>(number));
      case DType::i16: return Tensor::scalar(static_cast<std::int16_t>(number));
      case DType::f64: return Tensor::scalar(number);
      case DType::f32: return Tensor::scalar(static_cast<float>(number));
      default: unsupported("values of {}", name(t));
    }
  }

  Tensor keys, values, otherwise;
};

void label_encoder_rule(ir::TypeContext& c) {
  const LabelTable table(c.attributes());
  require_tensor(c, 0);
  require(c.input(0).dtype() == table.keys.dtype(), "input 0 is {}; the keys are {}",
          name(c.input(0).dtype()), name(table.keys.dtype()));
  c.output(0, with_dtype(c.input(0), table.values.dtype()));
}

std::vector<ir::ValueId> encoded_labels(ir::Builder& b, const ir::Node& n) {
  const LabelTable table(n.attributes);
  return {looked_up(b, n.inputs[0], table.keys, table.values, table.otherwise)};
}

const Tensor no_tensor = Tensor::zeros(DType::f32, {0});

const ir::OpEntry label_encoder{{
    .name = "label_encoder",
    .doc = "y = the value of the key that x equals, else the default (ai.onnx.ml)",
    .inputs = {{"x"}},
    .attributes = {{"default_float", -0.0},
                   {"default_int64", std::int64_t{-1}},
                   {"default_string", "_Unused"},
                   {"default_tensor", no_tensor},
                   {"keys_floats", ir::Floats{}},
                   {"keys_int64s", ir::Ints{}},
                   {"keys_strings", ir::Strings{}},
                   {"keys_tensor", no_tensor},
                   {"values_floats", ir::Floats{}},
                   {"values_int64s", ir::Ints{}},
                   {"values_strings", ir::Strings{}},
                   {"values_tensor", no_tensor}},
    .type = label_encoder_rule,
    .meaning = composite(encoded_labels),
}};

}  // namespace
}  // namespace rondel::ops
