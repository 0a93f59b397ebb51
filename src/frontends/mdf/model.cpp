#include "frontends/mdf/model.h"

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"

#include <algorithm>

namespace rondel::mdf {
namespace {

/// The maximum number of characters that an error quotes.
constexpr std::size_t most_quoted = 100;

bool share_half(std::string a, std::string b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  std::string both;
  std::ranges::set_intersection(a, b, std::back_inserter(both));
  return 2 * both.size() >= std::max(a.size(), b.size());
}

}  // namespace

std::optional<std::size_t> Graph::node(std::string_view name) const {
  const auto it = std::ranges::find(nodes, name, &Node::id);
  if (it == nodes.end()) return std::nullopt;
  return static_cast<std::size_t>(it - nodes.begin());
}

std::string_view name(Reduce r) {
  switch (r) {
    case Reduce::add: return "add";
    case Reduce::multiply: return "multiply";
    default: return "overwrite";
  }
}

std::string where(const Node& n) { return fmt::format("node '{}'", n.id); }
std::string where(const Parameter& p) { return fmt::format("parameter '{}'", p.id); }
std::string where(const Function& f) { return fmt::format("function '{}'", f.id); }
std::string where(const InputPort& p) { return fmt::format("input port '{}'", p.id); }
std::string where(const OutputPort& p) { return fmt::format("output port '{}'", p.id); }

std::string near_name(std::string_view wanted, const std::vector<std::string>& candidates) {
  std::vector<std::string> alike;
  for (const std::string& c : candidates)
    if (share_half(std::string(wanted), c)) alike.push_back(c);
  return closest(wanted, alike);
}

std::string in_quotes(std::string_view text) {
  std::size_t at = 0;
  for (std::size_t count = 0; count < most_quoted && at < text.size(); ++count)
    at += std::max<std::size_t>(1, character_length(text.substr(at)));
  return fmt::format("'{}{}'", text.substr(0, at), at < text.size() ? "..." : "");
}

std::string known_names(std::string_view wanted, const std::vector<std::string>& names) {
  if (const std::string near = near_name(wanted, names); !near.empty())
    return fmt::format("did you mean '{}'?", near);
  if (names.empty()) return "there are none";
  return "there are " + join(names, ", ", [](const std::string& n) { return "'" + n + "'"; });
}

}  // namespace rondel::mdf
