#include "frontends/network/lower.h"

#include "base/error.h"
#include "frontends/network/emit.h"
#include "frontends/network/extent_casts.h"
#include "ir/infer.h"
#include "ir/text.h"

namespace rondel::network {
namespace {

void require_names_once(const NetworkData& network) {
  std::map<std::string, const TensorData*> seen;
  for (const TensorData* t : network.outputs) {
    const auto [it, first] = seen.try_emplace(t->api.getName(), t);
    require(first, "two outputs of the network are named '{}': {} and {}", it->first,
            describe(*it->second), describe(*t));
  }
  for (const auto& input : network.inputs) {
    const auto output = seen.find(input->name);
    if (output != seen.end() && output->second != input.get())
      fail("an output of the network is named '{}', as an input is: {}", input->name,
           describe(*output->second));
  }
}

}  // namespace

ir::Graph lower(const INetworkDefinition& definition) {
  const NetworkData& network = definition.data();
  require(!network.outputs.empty(), "the network has no outputs; mark a tensor as one");
  require_names_once(network);
  check_constructs(network);
  const Schedule schedule(network);

  ir::Graph g;
  g.name = network.name;
  Emitter emitter(g, schedule);
  Environment root(ir::Builder(g, ir::RegionId::root));
  for (const auto& input : network.inputs) {
    root.values[input.get()] = g.add_param(ir::RegionId::root, input->declared, input->name);
    g.input_names.push_back(input->name);
  }
  emitter.fill_with_assertions(root, schedule.root(),
                               {network.outputs.begin(), network.outputs.end()});
  for (const TensorData* t : network.outputs) {
    g.add_result(ir::RegionId::root, root.at(t));
    g.output_names.emplace_back(t->api.getName());
    g.declared_outputs.emplace_back();
  }
  check_extent_casts(g);
  ir::infer_types(g);  // finds more than the inference layer by layer: facts about extents
  return g;
}

std::string irText(const INetworkDefinition& network) { return ir::to_text(lower(network)); }

}  // namespace rondel::network
