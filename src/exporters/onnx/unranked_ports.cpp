#include "exporters/onnx/unranked_ports.h"

#include "base/text.h"
#include "exporters/onnx/encode_node.h"
#include "exporters/onnx/names.h"
#include "ir/builder.h"

namespace rondel::exporters {
namespace {

using ir::Graph;
using ir::RegionId;
using ir::ValueId;

bool has_no_rank(const ir::Type& t) { return t.is_tensor() && !t.has_rank(); }

std::string note(const std::string& name) {
  return fmt::format(
      "'{}' is written as an optional, which always holds it: its rank is not known, and ONNX "
      "wants "
      "one of every tensor that a model takes or gives",
      name);
}

/// Outputs with the input's name stay the input itself.
void unwrap_input(Graph& g, ValueId input) {
  g.value(input).type = ir::Type::optional(g.value(input).type);
  ir::Builder b(g, RegionId::root);
  b.insert_first();
  const ValueId held = b("optional_get_element", {input});
  g.value(held).name = g.value(input).name;
  g.replace_uses(input, held);
  g.set_input(g.value(held).producer, 0, input);
  for (std::size_t j = 0; j < g.root().results.size(); ++j)
    if (g.root().results[j] == held && is_input_by_name(g, j))
      g.set_result(RegionId::root, j, input);
}

/// Whether each run takes the tensor out of the optional, and nothing else reads it.
bool is_only_unwrapped(const Graph& g, ValueId optional) {
  return g.is_read(optional) &&
         std::ranges::all_of(g.value(optional).uses, [&](const ir::Use& use) {
           return use.node != ir::NodeId::none && g.node(use.node).region == RegionId::root &&
                  g.node(use.node).op->name == "optional_get_element";
         });
}

}  // namespace

std::vector<std::string> wrap_unranked_ports(Graph& g, int opset) {
  std::vector<std::string> notes;
  const std::vector<ValueId> params = g.root().params;
  for (std::size_t k = 0; k < params.size(); ++k) {
    const ir::Type t = g.value(params[k]).type;
    if (!has_no_rank(t) || g.defaults.contains(params[k]) || !can_be_optional_element(t, opset))
      continue;
    unwrap_input(g, params[k]);
    notes.push_back(note(g.input_names[k]));
  }
  for (std::size_t j = 0; j < g.root().results.size(); ++j) {
    const ir::Type t = g.value(g.root().results[j]).type;
    const bool declared = j < g.declared_outputs.size() && g.declared_outputs[j].is_tensor() &&
                          g.declared_outputs[j].has_rank();
    if (declared || is_input_by_name(g, j) || !has_no_rank(t) || !can_be_optional_element(t, opset))
      continue;
    ir::Builder b(g, RegionId::root);
    const ValueId held = b("optional", {g.root().results[j]});
    g.set_result(ir::RegionId::root, j, held);
    notes.push_back(note(g.output_names[j]));
  }
  return notes;
}

void unwrap_ports(Graph& g) {
  for (const ValueId input : std::vector<ValueId>(g.root().params)) {
    const ir::Type t = g.value(input).type;
    if (!t.is_optional() || !has_no_rank(t.element()) || !is_only_unwrapped(g, input)) continue;
    g.value(input).type = t.element();
    for (const ir::Use& use : std::vector<ir::Use>(g.value(input).uses)) {
      g.replace_uses(g.node(use.node).outputs[0], input);
      g.erase_node(use.node);
    }
  }
  for (std::size_t j = 0; j < g.declared_outputs.size(); ++j) {
    const ir::Type t = g.declared_outputs[j];
    const ir::NodeId producer = g.value(g.root().results[j]).producer;
    if (!t.is_optional() || !has_no_rank(t.element()) || producer == ir::NodeId::none) continue;
    const ir::Node& node = g.node(producer);
    if (node.op->name != "optional" || node.inputs.size() != 1) continue;
    g.declared_outputs[j] = t.element();
    g.set_result(RegionId::root, j, node.inputs[0]);
  }
}

}  // namespace rondel::exporters
