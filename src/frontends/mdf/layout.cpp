#include "frontends/mdf/layout.h"

#include "base/error.h"
#include "base/text.h"

#include <algorithm>

namespace rondel::mdf {
namespace {

/// In the order in which a name is looked up: a parameter may be called as an output port is.
constexpr Role roles[] = {Role::output_port, Role::parameter, Role::function, Role::input_port};

std::vector<std::string> ids_of(const Node& n, Role role) {
  std::vector<std::string> out;
  const auto add = [&](const auto& items) {
    for (const auto& item : items) out.push_back(item.id);
  };
  switch (role) {
    case Role::output_port: add(n.outputs); break;
    case Role::parameter: add(n.parameters); break;
    case Role::function: add(n.functions); break;
    case Role::input_port: add(n.inputs); break;
  }
  return out;
}

std::optional<Slot> find(const Graph& g, std::string_view name, Role role) {
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    if (!name.starts_with(g.nodes[n].id + ".")) continue;
    const std::vector<std::string> ids = ids_of(g.nodes[n], role);
    const auto it = std::ranges::find(ids, name.substr(g.nodes[n].id.size() + 1));
    if (it != ids.end()) return Slot{role, n, static_cast<std::size_t>(it - ids.begin())};
  }
  return std::nullopt;
}

/// "node.port" as a slot without a type. Names may have points in them. "parameter node.item" means
/// a parameter, and "function node.item" a function, whatever else has the name.
std::optional<Slot> find(const Graph& g, std::string_view name) {
  for (const Role role : roles)
    if (const auto slot = find(g, name, role)) return slot;
  constexpr std::string_view parameter = "parameter ", function = "function ";
  if (name.starts_with(parameter)) return find(g, name.substr(parameter.size()), Role::parameter);
  if (name.starts_with(function)) return find(g, name.substr(function.size()), Role::function);
  return std::nullopt;
}

std::vector<std::string> all_outputs(const Graph& g) {
  std::vector<std::string> out;
  for (const Node& n : g.nodes)
    for (const OutputPort& p : n.outputs) out.push_back(n.id + "." + p.id);
  return out;
}

}  // namespace

std::vector<std::string> recordable(const Graph& g) {
  std::vector<std::string> out;
  for (const Role role : roles)
    for (const Node& n : g.nodes)
      for (const std::string& id : ids_of(n, role)) {
        std::string name = n.id + "." + id;
        if (std::ranges::find(out, name) == out.end()) out.push_back(std::move(name));
      }
  return out;
}

Layout::Layout(const Graph& g, const std::vector<std::string>& record) {
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    for (std::size_t k = 0; k < g.nodes[n].parameters.size(); ++k)
      if (!g.nodes[n].parameters[k].is_constant()) add(Role::parameter, n, k);
    for (std::size_t k = 0; k < g.nodes[n].outputs.size(); ++k) add(Role::output_port, n, k);
  }
  names = record.empty() ? all_outputs(g) : record;
  require(!names.empty(), "the model has no output ports: name what to record");
  for (const std::string& name : names) {
    require(std::ranges::count(names, name) == 1, "'{}' is to be recorded twice", name);
    const auto slot = find(g, name);
    if (!slot) fail("there is no '{}' to record; {}", name, known_names(name, recordable(g)));
    const auto known = of(slot->role, slot->node, slot->at);
    recorded.push_back(known ? *known : add(slot->role, slot->node, slot->at));
  }
}

std::size_t Layout::add(Role role, std::size_t node, std::size_t at) {
  slots.push_back({role, node, at});
  return slots.size() - 1;
}

std::optional<std::size_t> Layout::of(Role role, std::size_t node, std::size_t at) const {
  const auto it = std::ranges::find_if(
      slots, [&](const Slot& s) { return s.role == role && s.node == node && s.at == at; });
  if (it == slots.end()) return std::nullopt;
  return static_cast<std::size_t>(it - slots.begin());
}

std::string name(const Graph& g, const Slot& s) {
  return g.nodes[s.node].id + "." + ids_of(g.nodes[s.node], s.role)[s.at];
}

std::string where(const Graph& g, const Slot& s) {
  const Node& n = g.nodes[s.node];
  switch (s.role) {
    case Role::output_port: return where(n) + ", " + where(n.outputs[s.at]);
    case Role::parameter: return where(n) + ", " + where(n.parameters[s.at]);
    case Role::function: return where(n) + ", " + where(n.functions[s.at]);
    default: return where(n) + ", " + where(n.inputs[s.at]);
  }
}

}  // namespace rondel::mdf
