#include "ir/loop_parts.h"

#include "base/error.h"
#include "ir/graph.h"

#include <algorithm>
#include <array>
#include <utility>

namespace rondel::ir {
namespace {

constexpr std::int64_t most = std::int64_t{1} << 20;

std::size_t count(std::string_view key, const Attribute& value) {
  const auto* v = std::get_if<std::int64_t>(&value);
  if (v == nullptr || *v < 0 || *v > most)
    fail("'{}' of a loop is {}; expected a count", key, to_text(value));
  return static_cast<std::size_t>(*v);
}

bool flag(std::string_view key, const Attribute& value) {
  const std::size_t v = count(key, value);
  require(v <= 1, "'{}' of a loop is {}; expected 0 or 1", key, v);
  return v == 1;
}

TypeList types(std::string_view key, const Attribute& value) {
  const auto* v = std::get_if<TypeList>(&value);
  if (v == nullptr) fail("'{}' of a loop is {}; expected types", key, to_text(value));
  return *v;
}

}  // namespace

LoopParts::LoopParts(const Node& n) : LoopParts(n.loop()) {}

std::size_t LoopParts::extent_at(std::size_t k) const {
  std::size_t at = scans_at() + scans;
  for (std::size_t j = 0; j < k; ++j) at += has_extent(j) ? 1U : 0U;
  return at;
}

Attributes LoopParts::attributes() const {
  return {{"trips", std::int64_t{has_trips}},
          {"go", std::int64_t{has_go}},
          {"states", static_cast<std::int64_t>(states)},
          {"scans", static_cast<std::int64_t>(scans)},
          {"stacks", static_cast<std::int64_t>(stacks)},
          {"fixed", fixed},
          {"keeps", keeps},
          {"axis_in", axis_in},
          {"reverse_in", reverse_in},
          {"axis_out", axis_out},
          {"reverse_out", reverse_out},
          {"extents", extents},
          {"declared", declared}};
}

LoopParts LoopParts::from(const Attributes& attributes) {
  LoopParts p;
  const std::pair<std::string_view, Ints*> lists[] = {
      {"fixed", &p.fixed},           {"keeps", &p.keeps},       {"axis_in", &p.axis_in},
      {"reverse_in", &p.reverse_in}, {"axis_out", &p.axis_out}, {"reverse_out", &p.reverse_out},
      {"extents", &p.extents}};
  for (const auto& [key, value] : attributes) {
    if (key == "trips") p.has_trips = flag(key, value);
    else if (key == "go") p.has_go = flag(key, value);
    else if (key == "states") p.states = count(key, value);
    else if (key == "scans") p.scans = count(key, value);
    else if (key == "stacks") p.stacks = count(key, value);
    else if (key == "declared") p.declared = types(key, value);
    else {
      const auto* list = std::ranges::find(lists, std::string_view(key),
                                           &std::pair<std::string_view, Ints*>::first);
      require(list != std::end(lists), "a loop has no attribute '{}'", key);
      const Ints* given = std::get_if<Ints>(&value);
      if (given == nullptr) fail("'{}' of a loop is {}; expected integers", key, to_text(value));
      *list->second = *given;
    }
  }
  return p;
}

}  // namespace rondel::ir
