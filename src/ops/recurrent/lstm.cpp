#include "ops/recurrent/lstm.h"

#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

using ir::Builder;
using ir::ValueId;

/// Adds peephole `k` (in the order input, output, forget) times the cell state, if the op has
/// peepholes.
ValueId add_peephole(Builder& b, const Cell& cell, std::span<const ValueId> p, std::size_t k,
                     ValueId gate, ValueId c) {
  return cell.peepholes == ValueId::none ? gate : b("add", {gate, b("mul", {p[k], c})});
}

/// The gates are in the order input, output, forget, cell (candidate).
std::vector<ValueId> lstm_step(Builder& b, const Cell& cell, ValueId x,
                               std::span<const ValueId> states) {
  const ValueId h = states[0], c = states[1];
  const std::vector<ValueId> gates = split_last_axis(b, b("add", {x, cell.product(b, h)}), 4);
  std::vector<ValueId> p;
  if (cell.peepholes != ValueId::none) p = split_last_axis(b, cell.peepholes, 3);
  const ValueId i = cell.activate(b, 0, add_peephole(b, cell, p, 0, gates[0], c));
  const ValueId f = cell.attributes->flag("input_forget")
                        ? b("sub", {b.scalar(dtype_of(b, i), 1.0), i})
                        : cell.activate(b, 0, add_peephole(b, cell, p, 2, gates[2], c));
  const ValueId candidate = cell.activate(b, 1, gates[3]);
  const ValueId next_c = b("add", {b("mul", {f, c}), b("mul", {i, candidate})});
  const ValueId o = cell.activate(b, 0, add_peephole(b, cell, p, 1, gates[1], next_c));
  return {b("mul", {o, cell.activate(b, 2, next_c)}), next_c};
}

const ir::OpEntry lstm{{
    .name = "lstm",
    .doc =
        "Long short-term memory over a sequence: every hidden state, the last one, the last cell",
    .inputs = {{"x"},
               {"w"},
               {"r"},
               {"b", ir::InputDef::optional},
               {"sequence_lens", ir::InputDef::optional},
               {"initial_h", ir::InputDef::optional},
               {"initial_c", ir::InputDef::optional},
               {"p", ir::InputDef::optional}},
    .outputs = {"y", "y_h", "y_c"},
    .attributes = lstm_attributes(),
    .type = [](ir::TypeContext& c) { recurrent_rule(c, lstm_recurrence()); },
    .meaning = composite(
        [](Builder& b, const ir::Node& n) { return recurrent_loops(b, n, lstm_recurrence()); }),
}};

}  // namespace

Recurrence lstm_recurrence() {
  return {4,
          2,
          {"Sigmoid", "Tanh", "Tanh"},
          [](const ir::Attributes&) { return false; },
          lstm_step,
          {.initial_c = 6, .peepholes = 7}};
}

ir::Attributes lstm_attributes() {
  ir::Attributes a = recurrent_attributes();
  a.set("input_forget", std::int64_t{0});
  return a;
}

}  // namespace rondel::ops
