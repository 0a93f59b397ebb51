// What pages show of a model and of its runs: graphs and profiles as Python objects.
#include "bindings.h"

#include <array>

namespace nb = nanobind;

namespace rondel::python {
namespace {

nb::list ports(const std::vector<GraphPort>& all) {
  nb::list out;
  for (const GraphPort& p : all) out.append(nb::make_tuple(p.value, text(p.role)));
  return out;
}

nb::dict region(const GraphRegion&);

nb::dict node(const GraphNode& n) {
  nb::dict out, attributes;
  nb::list regions;
  for (const auto& [key, value] : n.attributes) attributes[text(key)] = text(value);
  for (const GraphRegion& r : n.regions) regions.append(region(r));
  out["op"] = text(n.op);
  out["source"] = text(n.source);
  out["attributes"] = attributes;
  out["inputs"] = ports(n.inputs);
  out["outputs"] = ports(n.outputs);
  out["regions"] = regions;
  return out;
}

nb::dict region(const GraphRegion& r) {
  nb::dict out;
  nb::list nodes;
  for (const GraphNode& n : r.nodes) nodes.append(node(n));
  out["role"] = text(r.role);
  out["params"] = ports(r.params);
  out["results"] = ports(r.results);
  out["nodes"] = nodes;
  return out;
}

const char* name_of(ProfileEvent::Kind kind) {
  constexpr std::array names{"load",    "run",     "step",  "trip", "chunk",
                             "prepare", "compile", "queue", "wait"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace

nb::dict graph(const GraphInfo& g) {
  nb::dict out;
  nb::list values;
  for (const GraphValue& v : g.values)
    values.append(nb::make_tuple(text(v.name), text(v.type), text(v.constant)));
  out["name"] = text(g.name);
  out["values"] = values;
  out["root"] = region(g.root);
  return out;
}

nb::list profile_events(const Profile& p) {
  nb::list out;
  for (const ProfileEvent& e : p.events())
    out.append(nb::make_tuple(name_of(e.kind), text(e.name), e.begin_ns, e.end_ns, e.thread,
                              e.trips, e.interpreted, e.weight, e.bytes));
  return out;
}

}  // namespace rondel::python
