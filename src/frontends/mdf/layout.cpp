#include "frontends/mdf/layout.h"

#include "base/error.h"
#include "base/text.h"

#include <algorithm>
#include <set>

namespace rondel::mdf {
namespace {

/// In the order of name lookup: a parameter and an output port can have the same name.
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

/// Slots (without types) by recordable name: "node.port". The longer names "parameter node.item"
/// and "function node.item" are for items of a node that share a name.
class Names {
 public:
  explicit Names(const Graph& g) {
    for (const Role role : roles) add(g, role, "", &names_);
    add(g, Role::parameter, "parameter ");
    add(g, Role::function, "function ");
  }

  std::optional<Slot> find(const std::string& name) const {
    const auto it = slots_.find(name);
    return it == slots_.end() ? std::nullopt : std::optional(it->second);
  }
  /// The short names, in the order of name lookup.
  std::vector<std::string> all() && { return std::move(names_); }

 private:
  /// If several items have a name, the first one takes it.
  void add(const Graph& g, Role role, const std::string& before,
           std::vector<std::string>* fresh = nullptr) {
    for (std::size_t n = 0; n < g.nodes.size(); ++n) {
      const std::vector<std::string> ids = ids_of(g.nodes[n], role);
      for (std::size_t k = 0; k < ids.size(); ++k) {
        std::string name = before + g.nodes[n].id + "." + ids[k];
        if (slots_.try_emplace(name, Slot{role, n, k}).second && fresh != nullptr)
          fresh->push_back(std::move(name));
      }
    }
  }

  std::map<std::string, Slot, std::less<>> slots_;
  std::vector<std::string> names_;
};

/// The parameter that is the value of an output port, if the value is just its name.
std::optional<std::size_t> parameter_given(const Node& n, const OutputPort& p) {
  const auto* text = std::get_if<std::string>(&p.value);
  if (text == nullptr) return std::nullopt;
  const auto it = std::ranges::find(n.parameters, *text, &Parameter::id);
  if (it == n.parameters.end()) return std::nullopt;
  return static_cast<std::size_t>(it - n.parameters.begin());
}

std::vector<std::string> all_outputs(const Graph& g) {
  std::vector<std::string> out;
  for (const Node& n : g.nodes)
    for (const OutputPort& p : n.outputs) out.push_back(n.id + "." + p.id);
  return out;
}

}  // namespace

std::vector<std::string> recordable(const Graph& g) { return Names(g).all(); }

Layout::Layout(const Graph& g, const std::vector<std::string>& record) {
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    const Node& node = g.nodes[n];
    for (std::size_t k = 0; k < node.parameters.size(); ++k)
      if (!node.parameters[k].is_constant()) add(Role::parameter, n, k);
    for (std::size_t k = 0; k < node.outputs.size(); ++k) add_output(node, n, k);
  }
  names = record.empty() ? all_outputs(g) : record;
  require(!names.empty(), "the model has no output ports: name what to record");
  const Names known(g);
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    require(seen.insert(name).second, "'{}' is to be recorded twice", name);
    const auto slot = known.find(name);
    if (!slot) fail("there is no '{}' to record; {}", name, known_names(name, recordable(g)));
    const auto number = of(slot->role, slot->node, slot->at);
    recorded.push_back(number ? *number : add(slot->role, slot->node, slot->at));
  }
}

std::size_t Layout::add(Role role, std::size_t node, std::size_t at) {
  numbers_[{role, node, at}] = slots.size();
  slots.push_back({role, node, at});
  return slots.size() - 1;
}

void Layout::keep(Role role, std::size_t node, std::size_t at) {
  if (!of(role, node, at)) add(role, node, at);
}

void Layout::add_output(const Node& node, std::size_t n, std::size_t k) {
  if (const auto parameter = parameter_given(node, node.outputs[k]))
    if (const auto shared = of(Role::parameter, n, *parameter)) {
      numbers_[{Role::output_port, n, k}] = *shared;
      return;
    }
  add(Role::output_port, n, k);
}

std::optional<std::size_t> Layout::of(Role role, std::size_t node, std::size_t at) const {
  const auto it = numbers_.find({role, node, at});
  return it == numbers_.end() ? std::nullopt : std::optional(it->second);
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
