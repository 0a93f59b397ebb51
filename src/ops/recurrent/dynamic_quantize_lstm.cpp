#include "ops/recurrent/lstm.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

/// The products with x and with the state are those of integers.
Recurrence quantized_recurrence() {
  Recurrence r = lstm_recurrence();
  r.inputs.scales = 8;
  return r;
}

const ir::OpEntry dynamic_quantize_lstm{{
    .name = "dynamic_quantize_lstm",
    .doc = "lstm whose weights are in bytes; x, and the state in each step, are quantized by their "
           "least and greatest elements (com.microsoft)",
    .inputs = {{"x"},
               {"w"},
               {"r"},
               {"b", ir::InputDef::optional},
               {"sequence_lens", ir::InputDef::optional},
               {"initial_h", ir::InputDef::optional},
               {"initial_c", ir::InputDef::optional},
               {"p", ir::InputDef::optional},
               {"w_scale"},
               {"w_zero_point"},
               {"r_scale"},
               {"r_zero_point"}},
    .outputs = {"y", "y_h", "y_c"},
    .attributes = lstm_attributes(),
    .type = [](ir::TypeContext& c) { recurrent_rule(c, quantized_recurrence()); },
    .meaning = composite([](ir::Builder& b, const ir::Node& n) {
      return recurrent_loops(b, n, quantized_recurrence());
    }),
}};

}  // namespace
}  // namespace rondel::ops
