#include "frontends/mdf/model.h"

#include "base/error.h"
#include "base/text.h"

#include <algorithm>

namespace rondel::mdf {

std::optional<std::size_t> Graph::node(std::string_view name) const {
  const auto it = std::ranges::find(nodes, name, &Node::id);
  if (it == nodes.end()) return std::nullopt;
  return static_cast<std::size_t>(it - nodes.begin());
}

std::string where(const Node& n) { return fmt::format("node '{}'", n.id); }
std::string where(const Parameter& p) { return fmt::format("parameter '{}'", p.id); }
std::string where(const Function& f) { return fmt::format("function '{}'", f.id); }
std::string where(const InputPort& p) { return fmt::format("input port '{}'", p.id); }
std::string where(const OutputPort& p) { return fmt::format("output port '{}'", p.id); }

std::string known_names(std::string_view wanted, const std::vector<std::string>& names) {
  if (const std::string near = closest(wanted, names); !near.empty())
    return fmt::format("did you mean '{}'?", near);
  if (names.empty()) return "there are none";
  return "there are " + join(names, ", ", [](const std::string& n) { return "'" + n + "'"; });
}

}  // namespace rondel::mdf
