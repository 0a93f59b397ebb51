#include "ops/recurrent/recurrent.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

using ir::Builder;
using ir::ValueId;

std::vector<ValueId> rnn_step(Builder& b, const Cell& cell, ValueId x,
                              std::span<const ValueId> states) {
  return {cell.activate(b, 0, b("add", {x, cell.product(b, states[0])}))};
}

Recurrence rnn_recurrence() {
  return {1, 1, {"Tanh"}, [](const ir::Attributes&) { return false; }, rnn_step, {}};
}

const ir::OpEntry rnn{{
    .name = "rnn",
    .doc = "Plain recurrent layer over a sequence: every hidden state, and the last one",
    .inputs = {{"x"},
               {"w"},
               {"r"},
               {"b", ir::InputDef::optional},
               {"sequence_lens", ir::InputDef::optional},
               {"initial_h", ir::InputDef::optional}},
    .outputs = {"y", "y_h"},
    .attributes = recurrent_attributes(),
    .type = [](ir::TypeContext& c) { recurrent_rule(c, rnn_recurrence()); },
    .meaning = composite(
        [](Builder& b, const ir::Node& n) { return recurrent_loops(b, n, rnn_recurrence()); }),
}};

}  // namespace
}  // namespace rondel::ops
