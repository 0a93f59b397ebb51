#include "ir/loop_text.h"

#include <algorithm>
#include <array>

namespace rondel::ir {
namespace {

constexpr std::array<std::string_view, 5> counts{"trips", "go", "states", "scans", "stacks"};
constexpr std::array<std::string_view, 7> lists{"fixed",    "keeps",       "axis_in", "reverse_in",
                                                "axis_out", "reverse_out", "extents"};

/// Whether each list has one entry per state, scan or stack, and `extents` holds flags.
bool is_well_formed(const LoopParts& p) {
  const auto is_flag = [](std::int64_t f) { return f == 0 || f == 1; };
  return p.fixed.size() == p.states && p.keeps.size() == p.states && p.axis_in.size() == p.scans &&
         p.reverse_in.size() == p.scans && p.axis_out.size() == p.stacks &&
         p.reverse_out.size() == p.stacks && p.extents.size() == p.stacks &&
         p.declared.size() == p.stacks && std::ranges::all_of(p.extents, is_flag);
}

}  // namespace

bool is_loop_count(std::string_view attribute) {
  return std::ranges::find(counts, attribute) != counts.end();
}

std::optional<Ints> default_loop_list(const LoopParts& p, std::string_view attribute) {
  if (attribute == "fixed" || attribute == "keeps") return Ints(p.states, 0);
  if (attribute == "axis_in" || attribute == "reverse_in") return Ints(p.scans, 0);
  if (std::ranges::find(lists, attribute) != lists.end()) return Ints(p.stacks, 0);
  return std::nullopt;
}

std::optional<LoopText> loop_text(const Graph& g, const Node& n) {
  if (!n.is_loop() || n.regions.size() != 1 || !is_well_formed(n.loop())) return std::nullopt;
  LoopText text{n.loop(), std::ranges::count(n.loop().extents, 1) > 0};
  if (g.region(n.regions[0]).results.size() != 1 + text.parts.states + text.parts.stacks)
    return std::nullopt;
  if (text.parts.input_count() != n.inputs.size()) return std::nullopt;
  for (std::size_t k = 0; k < text.parts.stacks; ++k)
    if (text.parts.has_extent(k) && n.inputs[text.parts.extent_at(k)] == ValueId::none)
      return std::nullopt;
  return text;
}

}  // namespace rondel::ir
