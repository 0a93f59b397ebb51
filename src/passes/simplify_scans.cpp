#include "passes/simplify_scans.h"

#include "base/axis.h"
#include "ir/infer.h"
#include "ops/gather.h"

namespace rondel::passes {
namespace {

using ir::Extent;
using ir::Graph;
using ir::LoopParts;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;

/// Loops that scan something, or count trips.
std::vector<NodeId> loops_of(const Graph& g) {
  std::vector<NodeId> loops;
  for (std::size_t r = 0; r < g.region_count(); ++r)
    for (const NodeId n : g.region(static_cast<RegionId>(r)).nodes)
      if (g.node(n).op->name == "loop" &&
          (LoopParts(g.node(n)).scans > 0 || LoopParts(g.node(n)).has_trips))
        loops.push_back(n);
  return loops;
}

/// One loop, and what is known around it.
class Simplifying {
 public:
  Simplifying(Graph& g, ir::Knowledge& k, NodeId n) : g_(g), k_(k), n_(n), parts_(g.node(n)) {}

  bool run() {
    const bool read = read_originals(), counted = drop_limits();
    return drop_extents() || read || counted;
  }

 private:
  ir::Node& loop() { return g_.node(n_); }
  const ir::Region& body() const { return g_.region(parts_.body); }

  bool read_originals() {
    bool changed = false;
    for (std::size_t s = 0; s < parts_.scans; ++s) {
      ValueId& scan = loop().inputs[parts_.scans_at() + s];
      changed = changed || k_.original(scan) != scan;
      scan = k_.original(scan);
    }
    return changed;
  }

  Extent extent(ValueId v, std::int64_t axis) const {
    const ir::Type& t = k_.types[ir::index(v)];
    if (!t.is_tensor() || !t.has_rank()) return {};
    return t.extent(axis_from_front(axis, t.rank()));
  }

  bool is_true(ValueId v) const {
    const Tensor* t = k_.value(k_.original(v));
    return t != nullptr && t->size() == 1 && *t->packed().data_as<std::uint8_t>() != 0;
  }
  /// Whether the condition is there and never ends the loop.
  bool goes_on() {
    const ValueId result = k_.original(body().results[0]);
    return is_true(loop().inputs[parts_.go_at()]) &&
           (result == body().params[1] || is_true(result));
  }

  /// The nodes of the body that take the trip's own slice of something outside that has as many.
  std::vector<NodeId> picks(const Extent& trips) const {
    std::vector<NodeId> found;
    for (const NodeId n : body().nodes) {
      const ir::Node& node = g_.node(n);
      const auto axis = ops::picked_axis(g_, node);
      if (!axis || k_.original(node.inputs[1]) != body().params[0]) continue;
      const bool outside = !g_.encloses(parts_.body, g_.value(node.inputs[0]).region);
      if (outside && extent(node.inputs[0], *axis) == trips) found.push_back(n);
    }
    return found;
  }

  /// The slice becomes an element of one more scan.
  void scan(NodeId pick) {
    const ir::Node node = g_.node(pick);
    const ValueId slice = node.outputs[0];
    const ValueId element = g_.add_param(parts_.body, g_.value(slice).type, g_.value(slice).name);
    g_.replace_uses(slice, element);
    k_.types.cover(g_.value_count());
    k_.types[ir::index(element)] = k_.types[ir::index(slice)];
    k_.same[static_cast<std::int32_t>(slice)] = element;
    auto& inputs = loop().inputs;
    inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(parts_.scans_at() + parts_.scans),
                  node.inputs[0]);
    parts_.axis_in.push_back(*ops::picked_axis(g_, node));
    parts_.reverse_in.push_back(0);
    ++parts_.scans;
    g_.erase_node(pick);
  }

  /// What ends the loop is left out where its scans do that as well.
  bool drop_limits() {
    if (!parts_.has_trips || (parts_.has_go && !goes_on())) return false;
    const Extent trips(k_.integer(loop().inputs[parts_.trips_at()]));
    if (trips.known() && trips.value == 0) return false;  // others stop on scans of nothing
    for (std::size_t s = 0; s < parts_.scans; ++s)
      if (!(extent(loop().inputs[parts_.scans_at() + s], parts_.axis_in[s]) == trips)) return false;
    for (const NodeId pick : picks(trips)) scan(pick);
    if (parts_.scans == 0) return false;
    if (parts_.has_go) tell_stacks();
    auto& inputs = loop().inputs;
    inputs.erase(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(parts_.states_at()));
    parts_.has_trips = parts_.has_go = false;
    loop().attributes = parts_.attributes();
    return true;
  }

  /// Extents that are the number of trips, which a stack has anyway.
  bool drop_extents() {
    const Extent trips = ir::trips_of(loop(), k_);
    bool changed = false;
    for (std::size_t s = parts_.stacks; s-- > 0;) {
      if (!parts_.has_extent(s)) continue;
      const auto at = loop().inputs.begin() + static_cast<std::ptrdiff_t>(parts_.extent_at(s));
      if (!(k_.integer(*at) == trips)) continue;
      loop().inputs.erase(at);
      parts_.extents[s] = 0;
      changed = true;
    }
    if (changed) loop().attributes = parts_.attributes();
    return changed;
  }

  /// As long as there was a condition, nobody knew how long stacks are.
  void tell_stacks() {
    const ir::Type& scan = g_.value(loop().inputs[parts_.scans_at()]).type;
    const std::int64_t from = parts_.axis_in[0];
    const Extent trips = scan.extent(axis_from_front(from, scan.rank()));
    for (std::size_t s = 0; s < parts_.stacks; ++s) {
      const ValueId stack = loop().outputs[parts_.states + s];
      if (stack == ValueId::none || parts_.has_extent(s)) continue;
      ir::Type& t = g_.value(stack).type;
      if (!t.has_rank()) continue;
      ir::Extents extents = t.extents();
      const std::int64_t to = parts_.axis_out[s];
      extents[static_cast<std::size_t>(axis_from_front(to, t.rank()))] = trips;
      t = ir::Type::tensor(t.dtype(), std::move(extents));
    }
  }

  Graph& g_;
  ir::Knowledge& k_;
  const NodeId n_;
  LoopParts parts_;
};

}  // namespace

bool simplify_scans(Graph& g) {
  const std::vector<NodeId> loops = loops_of(g);
  if (loops.empty()) return false;
  ir::Knowledge k = ir::named_knowledge_of(g);
  ir::infer_region(g, RegionId::root, k);
  bool changed = false;
  for (const NodeId n : loops) changed |= Simplifying(g, k, n).run();
  return changed;
}

}  // namespace rondel::passes
