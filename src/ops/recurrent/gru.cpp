#include "ops/recurrent/recurrent.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

using ir::Builder;
using ir::ValueId;

bool linear_before_reset(const ir::Attributes& a) { return a.flag("linear_before_reset"); }

ValueId columns(Builder& b, ValueId x, std::int64_t from, std::int64_t to) {
  return b("slice", {x, b.integers({from}), b.integers({to}), b.integers({1})});
}

/// The candidate state if the reset gate is applied after the product (linear_before_reset).
ValueId reset_after(Builder& b, const Cell& cell, ValueId x, ValueId product, ValueId r) {
  return cell.activate(b, 1, b("add", {x, b("mul", {r, product})}));
}

/// The gates are in the order update, reset, hidden (candidate).
std::vector<ValueId> gru_step(Builder& b, const Cell& cell, ValueId x,
                              std::span<const ValueId> states) {
  const ValueId h = states[0];
  const std::int64_t hidden = cell.attributes->i("hidden_size");
  const std::vector<ValueId> in = split_last_axis(b, x, 3);
  ValueId z{}, r{}, candidate{};
  if (linear_before_reset(*cell.attributes)) {
    ValueId product = cell.product(b, h);
    if (cell.bias != ValueId::none) product = b("add", {product, cell.bias});
    const std::vector<ValueId> rec = split_last_axis(b, product, 3);
    z = cell.activate(b, 0, b("add", {in[0], rec[0]}));
    r = cell.activate(b, 0, b("add", {in[1], rec[1]}));
    candidate = reset_after(b, cell, in[2], rec[2], r);
  } else {
    const ValueId first = columns(b, cell.recurrence.matrix, 0, 2 * hidden);
    const ValueId last = columns(b, cell.recurrence.matrix, 2 * hidden, 3 * hidden);
    const std::vector<ValueId> rec = split_last_axis(b, b("mat_mul", {h, first}), 2);
    z = cell.activate(b, 0, b("add", {in[0], rec[0]}));
    r = cell.activate(b, 0, b("add", {in[1], rec[1]}));
    const ValueId product = b("mat_mul", {b("mul", {r, h}), last});
    candidate = cell.activate(b, 1, b("add", {in[2], product}));
  }
  const ValueId one = b.scalar(dtype_of(b, z), 1.0);
  return {b("add", {b("mul", {b("sub", {one, z}), candidate}), b("mul", {z, h})})};
}

Recurrence gru_recurrence() {
  return {3, 1, {"Sigmoid", "Tanh"}, linear_before_reset, gru_step, {}};
}

ir::Attributes gru_attributes() {
  ir::Attributes a = recurrent_attributes();
  a.set("linear_before_reset", std::int64_t{0});
  return a;
}

const ir::OpEntry gru{{
    .name = "gru",
    .doc = "Gated recurrent unit over a sequence: every hidden state, and the last one",
    .inputs = {{"x"},
               {"w"},
               {"r"},
               {"b", ir::InputDef::optional},
               {"sequence_lens", ir::InputDef::optional},
               {"initial_h", ir::InputDef::optional}},
    .outputs = {"y", "y_h"},
    .attributes = gru_attributes(),
    .type = [](ir::TypeContext& c) { recurrent_rule(c, gru_recurrence()); },
    .meaning = composite(
        [](Builder& b, const ir::Node& n) { return recurrent_loops(b, n, gru_recurrence()); }),
}};

}  // namespace
}  // namespace rondel::ops
