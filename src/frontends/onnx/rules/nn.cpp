// Neural network ops whose attributes changed.
#include "frontends/onnx/rules.h"

namespace rondel::onnx {
namespace {

bool named(const Call& c, std::size_t j) {
  return j < c.outputs && !c.node.output(static_cast<int>(j)).empty();
}

/// Dropout before 12 runs as inference, as in ONNX's own converter and other runtimes: the output
/// is the input, and the mask is all true.
std::vector<ValueId> dropout_inference(Call& c) {
  const auto test = c.take("is_test");
  if (c.version() < 7 && (!test || std::get<std::int64_t>(*test) == 0))
    c.importer.warn(c.source, "is_test is 0, which asks for training; it runs as inference");
  std::vector<ValueId> results{c.one("Identity", {c.in(0)})};
  if (c.outputs > 1) {
    const DType mask = c.version() >= 10 ? DType::boolean : c.type(c.in(0)).dtype();
    Tensor one(DType::boolean, {1});
    *one.data_as<std::uint8_t>() = 1;
    const ValueId all = c.one("ConstantOfShape", {c.one("Shape", {c.in(0)})}, {{"value", one}});
    results.push_back(
        mask == DType::boolean ? all : c.one("Cast", {all}, {{"to", ir::Type::scalar(mask)}}));
  }
  return results;
}

/// Statistics of each element, of the shape of x without its first axis.
std::vector<ValueId> normalized_by_element(Call& c) {
  const double epsilon = c.attributes.f("epsilon", 1e-5);
  const ValueId variance = c.one("Add", {c.in(4), c.number(c.type(c.in(0)).dtype(), epsilon)});
  const ValueId distance = c.one("Sub", {c.in(0), c.in(3)});
  const ValueId y = c.one("Div", {distance, c.one("Sqrt", {variance})});
  return {c.one("Add", {c.one("Mul", {y, c.in(1)}), c.in(2)})};
}

/// BatchNormalization before 14: more than one output meant training. saved_mean and saved_var are
/// not computed.
std::vector<ValueId> batch_normalization(Call& c) {
  const auto test = c.take("is_test"), spatial = c.take("spatial");
  const bool by_element = spatial && std::get<std::int64_t>(*spatial) == 0;
  bool training = false;
  for (std::size_t j = 1; j < c.outputs; ++j) training = training || named(c, j);
  if (test && std::get<std::int64_t>(*test) != 0) training = false;
  if (by_element && training)
    unsupported("training with statistics of each element (spatial = 0) is not supported");
  c.attributes.set("training_mode", std::int64_t{training});
  const std::size_t wanted = c.outputs;
  std::vector<ValueId> results = by_element ? normalized_by_element(c)
                                            : c.add(c.op, c.inputs, c.attributes, training ? 3 : 1);
  results.resize(wanted, ValueId::none);
  return results;
}

std::vector<ValueId> gemm_broadcast(Call& c) {
  c.attributes.erase("broadcast");  // C is always broadcast in newer versions
  return c.newest();
}

std::vector<ValueId> lstm_all_outputs(Call& c) {
  c.attributes.erase("output_sequence");  // the names of the outputs tell which are computed
  return c.newest();
}

/// The default of GRU-1 is misspelt in ONNX's schema.
std::vector<ValueId> gru_1(Call& c) {
  if (c.attributes.s("direction", "") == "foward") c.attributes.erase("direction");
  return lstm_all_outputs(c);
}

std::vector<ValueId> roi_align_10(Call& c) {
  c.attributes.set("coordinate_transformation_mode", std::string("output_half_pixel"));
  return c.newest();
}

/// GroupNormalization-18 has a scale and bias per group, not per channel: its own function body is
/// used.
std::vector<ValueId> group_normalization_18(Call& c) { return by_own_body(c); }

/// Its function body has numbers of f32, and takes no other dtype. There the variance is
/// E[x^2] - E[x]^2, of which rounding leaves nothing where the mean is far from 0.
std::vector<ValueId> mean_variance_normalization(Call& c) {
  const DType given = c.type(c.in(0)).dtype();
  const DType wide = given == DType::f64 ? DType::f64 : DType::f32;
  const auto as = [&](ValueId v, DType t) {
    return given == wide ? v : c.one("Cast", {v}, {{"to", ir::Type::scalar(t)}});
  };
  const ValueId x = as(c.in(0), wide);
  const ValueId axes = c.integers(c.attributes.ints("axes", {0, 2, 3}));
  const auto mean = [&](ValueId v) { return c.one("ReduceMean", {v, axes}); };
  const ValueId distance = c.one("Sub", {x, mean(x)});
  const ValueId variance = mean(c.one("Mul", {distance, distance}));
  const ValueId deviation = c.one("Add", {c.one("Sqrt", {variance}), c.number(wide, 1e-9)});
  return {as(c.one("Div", {distance, deviation}), given)};
}

}  // namespace

std::span<const Rule> nn_rules() {
  static constexpr Rule rules[] = {
      {"Dropout", 1, 10, dropout_inference, "identity"},
      {"BatchNormalization", 1, 13, batch_normalization},
      {"Gemm", 1, 6, gemm_broadcast},
      {"LSTM", 1, 6, lstm_all_outputs},
      {"GRU", 1, 1, gru_1},
      {"GRU", 3, 6, lstm_all_outputs},
      {"RNN", 1, 6, lstm_all_outputs},
      {"RoiAlign", 10, 15, roi_align_10},
      {"GroupNormalization", 18, 20, group_normalization_18, "-"},
      {"MeanVarianceNormalization", 9, newest, mean_variance_normalization, "reduce_mean"},
  };
  return rules;
}

}  // namespace rondel::onnx
