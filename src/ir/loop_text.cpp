#include "ir/loop_text.h"

#include <algorithm>
#include <array>

namespace rondel::ir {
namespace {

constexpr std::array<std::string_view, 5> counts{"trips", "go", "states", "scans", "stacks"};
constexpr std::array<std::string_view, 7> lists{"fixed",    "keeps",       "axis_in", "reverse_in",
                                                "axis_out", "reverse_out", "extents"};

/// Whether every count and list is there, of its kind and in its range.
bool has_loop_attributes(const Node& n) {
  const auto count = [&](std::string_view key) {
    const Attribute* a = n.attributes.find(key);
    const auto* v = a == nullptr ? nullptr : std::get_if<std::int64_t>(a);
    const bool flag = key == "trips" || key == "go";
    return v != nullptr && *v >= 0 && *v <= (flag ? 1 : std::int64_t{1} << 30);
  };
  const auto list = [&](std::string_view key) {
    const Attribute* a = n.attributes.find(key);
    return a != nullptr && std::holds_alternative<Ints>(*a);
  };
  const Attribute* declared = n.attributes.find("declared");
  return std::ranges::all_of(counts, count) && std::ranges::all_of(lists, list) &&
         declared != nullptr && std::holds_alternative<TypeList>(*declared);
}

}  // namespace

bool is_loop_count(std::string_view attribute) {
  return std::ranges::find(counts, attribute) != counts.end();
}

std::optional<Ints> usual_loop_list(const LoopParts& p, std::string_view attribute) {
  if (attribute == "fixed" || attribute == "keeps") return Ints(p.states, 0);
  if (attribute == "axis_in" || attribute == "reverse_in") return Ints(p.scans, 0);
  if (std::ranges::find(lists, attribute) != lists.end()) return Ints(p.stacks, 0);
  return std::nullopt;
}

std::optional<LoopText> loop_text(const Graph& g, const Node& n) {
  if (n.op->name != "loop" || n.regions.size() != 1 || !has_loop_attributes(n)) return std::nullopt;
  const std::size_t results = g.region(n.regions[0]).results.size();
  const auto states = static_cast<std::size_t>(n.attributes.i("states"));
  const auto scans = static_cast<std::size_t>(n.attributes.i("scans"));
  const auto stacks = static_cast<std::size_t>(n.attributes.i("stacks"));
  if (results != 1 + states + stacks || scans > n.inputs.size()) return std::nullopt;
  const Ints extents = n.attributes.ints("extents");
  const bool full = extents.size() == stacks &&
                    std::ranges::all_of(extents, [](std::int64_t e) { return e == 0 || e == 1; });
  if (!full && !extents.empty()) return std::nullopt;

  LoopText text{LoopParts(n), std::ranges::count(extents, 1) > 0};
  if (text.parts.input_count() != n.inputs.size()) return std::nullopt;
  for (std::size_t k = 0; k < stacks; ++k)
    if (text.parts.has_extent(k) && n.inputs[text.parts.extent_at(k)] == ValueId::none)
      return std::nullopt;
  return text;
}

}  // namespace rondel::ir
