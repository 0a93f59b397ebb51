#include "base/error.h"
#include "ops/compose.h"
#include "ops/random/random.h"
#include "ops/type_rules.h"

#include <limits>

namespace rondel::ops {
namespace {

using ir::ValueId;

/// The default of the attribute `seed`: no seed is given.
constexpr std::int64_t no_own_seed = std::numeric_limits<std::int64_t>::min();

/// The mode: known to be inference, known to be training, or only known at run time.
enum class Mode { inference, training, by_run };

Mode mode_of(const ir::Builder& b, const ir::Node& node) {
  if (!has_input(node, 2)) return Mode::inference;
  const Tensor* known = b.graph().constant(node.inputs[2]);
  if (known == nullptr) return Mode::by_run;
  return *known->data_as<bool>() ? Mode::training : Mode::inference;
}

std::vector<ValueId> everything_kept(ir::Builder& b, const ir::Node& node) {
  const ValueId x = node.inputs[0];
  if (!has_output(node, 1)) return {x, ValueId::none};
  const Tensor all = Tensor::from<bool>({1}, {true});
  return {x, b("constant_of_shape", {b("shape", {x})}, {{"value", all}})};
}

/// In ONNX, the seed of this op is an integer; the seeds of all other random ops are floats.
ValueId key_of(ir::Builder& b, const ir::Node& node) {
  const std::int64_t seed = node.attributes.i("seed", no_own_seed);
  return b("random_key", {},
           {{"seed", seed == no_own_seed ? no_seed() : static_cast<double>(seed)}});
}

ValueId as_scalar(ir::Builder& b, const ir::Node& node, std::size_t k) {
  return b("one_element", {node.inputs[k]}, {{"what", std::string(node.op->inputs[k].name)}});
}

/// y = x * factor, where the factor is 1 / (1 - ratio) with probability 1 - ratio, else 0. With a
/// ratio of 1 all factors are 0, and the infinite scale is not used.
std::vector<ValueId> dropped_out(ir::Builder& b, const ir::Node& node) {
  const Mode mode = mode_of(b, node);
  if (mode == Mode::inference) return everything_kept(b, node);
  const ValueId x = wide_value(b, node.inputs[0]);
  const DType t = dtype_of(b, x);
  const ValueId zero = b.scalar(t, 0), one = b.scalar(t, 1);
  const ValueId ratio = has_input(node, 1) ? as(b, as_scalar(b, node, 1), t) : b.scalar(t, 0.5);
  const ValueId drawn = b("uniform", {key_of(b, node), zero, one, ValueId::none, x});
  ValueId kept = b("less_or_equal", {ratio, drawn});
  ValueId scale = b("reciprocal", {b("sub", {one, ratio})});
  if (mode == Mode::by_run) {
    const ValueId training = as_scalar(b, node, 2);
    kept = b("or", {b("not", {training}), kept});
    scale = b("where", {training, scale, one});
  }
  const ValueId y = b("mul", {x, b("where", {kept, scale, zero})});
  return {as(b, y, dtype_of(b, node.inputs[0])), kept};
}

void dropout_rule(ir::TypeContext& c) {
  for (const std::size_t k : {0U, 1U}) {
    if (!c.has(k)) continue;
    require_tensor(c, k);
    require(is_float(c.input(k).dtype()), "input {} is {}; expected floats", k,
            to_text(c.input(k)));
  }
  for (const std::size_t k : {1U, 2U})
    if (c.has(k)) require_scalar(c, k);
  if (c.has(2)) require_dtype(c, 2, DType::boolean);
  c.output(0, c.input(0));
  if (c.output_count() > 1) c.output(1, with_dtype(c.input(0), DType::boolean));
}

const ir::OpEntry dropout{{
    .name = "dropout",
    .doc = "y = x; in training_mode each element becomes 0 with the probability `ratio`, else "
           "x / (1 - ratio); the mask says which are kept",
    .inputs = {{"x"}, {"ratio", ir::InputDef::optional}, {"training_mode", ir::InputDef::optional}},
    .outputs = {"y", "mask"},
    .attributes = {{"seed", no_own_seed}},
    .type = dropout_rule,
    .meaning = composite(dropped_out),
    .random = true,
}};

}  // namespace
}  // namespace rondel::ops
