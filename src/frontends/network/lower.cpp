#include "frontends/network/lower.h"

#include "base/error.h"
#include "frontends/network/rule.h"
#include "ir/text.h"

namespace rondel::network {

ir::Graph lower(const INetworkDefinition& definition) {
  const NetworkData& network = definition.data();
  ir::Graph g;
  g.name = network.name;
  ir::Builder b(g, ir::RegionId::root);
  std::unordered_map<const TensorData*, ValueId> values;
  for (const auto& input : network.inputs) {
    values[input.get()] = g.add_param(ir::RegionId::root, input->declared, input->name);
    g.input_names.push_back(input->name);
  }
  for (const auto& layer : network.layers) {
    std::vector<ValueId> inputs;
    for (const TensorData* t : layer->inputs)
      inputs.push_back(t == nullptr ? ValueId::none : values.at(t));
    const std::vector<ValueId> outputs = apply_rule(b, *layer, inputs);
    for (std::size_t j = 0; j < outputs.size(); ++j) values[layer->outputs[j].get()] = outputs[j];
  }
  for (const TensorData* t : network.outputs) {
    g.root().results.push_back(values.at(t));
    g.output_names.push_back(t->face.getName());
    g.declared_outputs.emplace_back();
  }
  return g;
}

std::string irText(const INetworkDefinition& network) { return ir::to_text(lower(network)); }

}  // namespace rondel::network
