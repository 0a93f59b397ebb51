#include "frontends/mdf/schedule.h"

#include "base/error.h"
#include "base/text.h"

#include <algorithm>

namespace rondel::mdf {
namespace {

/// Describes a cycle among the nodes that are not `done`: "a -> b -> a".
std::string circle(const Graph& g, const std::vector<std::vector<std::size_t>>& waits,
                   const std::vector<bool>& done) {
  std::size_t at = static_cast<std::size_t>(std::ranges::find(done, false) - done.begin());
  std::vector<std::size_t> path;
  while (std::ranges::find(path, at) == path.end()) {
    path.push_back(at);
    at = *std::ranges::find_if(waits[at], [&](std::size_t n) { return !done[n]; });
  }
  path.erase(path.begin(), std::ranges::find(path, at));
  path.push_back(path.front());
  std::ranges::reverse(path);
  return join(path, " -> ", [&](std::size_t n) { return "'" + g.nodes[n].id + "'"; });
}

}  // namespace

std::vector<std::vector<std::size_t>> dependencies(const Graph& g) {
  std::vector<std::vector<std::size_t>> waits(g.nodes.size());
  for (const Edge& e : g.edges) {
    if (is_given(g.nodes[e.receiver].inputs[e.receiver_port].default_value)) continue;
    std::vector<std::size_t>& those = waits[e.receiver];
    if (std::ranges::find(those, e.sender) == those.end()) those.push_back(e.sender);
  }
  return waits;
}

std::vector<std::vector<std::size_t>> consideration_sets(const Graph& g) {
  const auto waits = dependencies(g);
  std::vector<bool> done(g.nodes.size());
  std::vector<std::vector<std::size_t>> sets;
  for (std::size_t count = 0; count < g.nodes.size(); count += sets.back().size()) {
    std::vector<std::size_t> ready;
    for (std::size_t n = 0; n < g.nodes.size(); ++n)
      if (!done[n] && std::ranges::all_of(waits[n], [&](std::size_t s) { return done[s]; }))
        ready.push_back(n);
    if (ready.empty())
      fail(
          "edges form a circle: {}; give an input port in it a default_value, with which the "
          "circle begins",
          circle(g, waits, done));
    for (const std::size_t n : ready) done[n] = true;
    sets.push_back(std::move(ready));
  }
  return sets;
}

}  // namespace rondel::mdf
