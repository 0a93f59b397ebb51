#include "passes/simplify_scans.h"

#include "base/axis.h"
#include "ir/infer.h"
#include "ir/loop_editor.h"
#include "ir/name_of.h"
#include "ops/layout/gather.h"
#include "passes/loop_body.h"

namespace rondel::passes {
namespace {

using ir::Extent;
using ir::Graph;
using ir::LoopParts;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;

/// Loops with scans, or with a trip count.
std::vector<NodeId> loops_of(const Graph& g) {
  std::vector<NodeId> loops;
  for (std::size_t r = 0; r < g.region_count(); ++r)
    for (const NodeId n : g.region(static_cast<RegionId>(r)).nodes)
      if (g.node(n).is_loop() && (g.node(n).loop().scans > 0 || g.node(n).loop().has_trips))
        loops.push_back(n);
  return loops;
}

/// Simplifies one loop. `k` has the types and values of the graph.
class ScanSimplifier {
 public:
  ScanSimplifier(Graph& g, ir::TypeEnvironment& k, NodeId n, Remarks* remarks)
      : g_(g), k_(k), n_(n), editor_(g, n), remarks_(remarks, g, n) {}

  bool run() {
    const bool read = read_originals(), counted = drop_limits();
    return drop_extents() || read || counted;
  }

 private:
  const ir::Node& loop() const { return g_.node(n_); }
  const LoopParts& parts() const { return editor_.parts(); }
  const ir::Region& body() const { return g_.region(parts().body); }

  bool read_originals() {
    bool changed = false;
    for (std::size_t s = 0; s < parts().scans; ++s) {
      const ValueId scan = editor_.scanned(s), original = k_.original(scan);
      if (original == scan) continue;
      changed = true;
      remarks_.done([&] {
        return fmt::format("scans {} instead of {}", ir::name_of(g_, original),
                           ir::name_of(g_, scan));
      });
      editor_.set_scanned(s, original);
    }
    return changed;
  }

  Extent extent(ValueId v, std::int64_t axis) const {
    const ir::Type& t = k_.types[ir::index(v)];
    if (!t.is_tensor() || !t.has_rank()) return {};
    return t.extent(axis_from_front(axis, t.rank()));
  }

  /// The nodes of the body that gather a slice of an outer value with the trip index, if the value
  /// has as many slices as there are trips.
  std::vector<NodeId> picks(const Extent& trips) {
    std::vector<NodeId> found;
    for (const NodeId n : body().nodes) {
      const ir::Node& node = g_.node(n);
      const auto axis = ops::picked_axis(g_, node);
      if (!axis || k_.original(node.inputs[1]) != body().params[0]) continue;
      const bool outside = !g_.encloses(parts().body, g_.value(node.inputs[0]).region);
      if (!outside) continue;
      if (extent(node.inputs[0], *axis) == trips) found.push_back(n);
      else
        remarks_.left([&] {
          return fmt::format(
              "{} becomes no scan: the trip count is not known to be the extent of {}",
              ir::where(g_, n), ir::name_of(g_, node.inputs[0]));
        });
    }
    return found;
  }

  /// Replaces a gathered slice by the element of a new scan.
  void scan(NodeId pick) {
    const ir::Node& node = g_.node(pick);
    const ValueId slice = node.outputs[0];
    remarks_.done([&] {
      return fmt::format("{} became a scan of {}", ir::where(g_, pick),
                         ir::name_of(g_, node.inputs[0]));
    });
    const ValueId element = editor_.add_scan(node.inputs[0], *ops::picked_axis(g_, node), false,
                                             g_.value(slice).type, g_.value(slice).name);
    g_.replace_uses(slice, element);
    k_.types.cover(g_.value_count());
    k_.types[ir::index(element)] = k_.types[ir::index(slice)];
    k_.same[static_cast<std::int32_t>(slice)] = element;
    g_.erase_node(pick);
  }

  /// Removes the trip count and the condition if the scans end the loop at the same trip.
  bool drop_limits() {
    if (!parts().has_trips || (parts().has_go && !never_ends(g_, loop(), k_))) return false;
    if (!ir::rule_holds(g_, n_)) return false;
    const Extent trips(k_.integer(loop().inputs[parts().trips_at()]));
    if (trips.known() && trips.value == 0) return false;  // other runtimes fail on empty scans
    for (std::size_t s = 0; s < parts().scans; ++s)
      if (!(extent(editor_.scanned(s), parts().axis_in[s]) == trips)) return false;
    for (const NodeId pick : picks(trips)) scan(pick);
    if (parts().scans == 0) return false;
    if (parts().has_go) set_stack_extents();
    remarks_.done([] { return "the trip count is left out: it is the extent of what is scanned"; });
    editor_.set_trips(ValueId::none);
    editor_.set_go(ValueId::none);
    return true;
  }

  /// Removes extents of stacks that are the number of trips.
  bool drop_extents() {
    const Extent trips = ir::trips_of(loop(), k_);
    bool changed = false;
    for (std::size_t s = parts().stacks; s-- > 0;) {
      if (!parts().has_extent(s) || !(k_.integer(editor_.extent(s)) == trips)) continue;
      remarks_.done([&] {
        return fmt::format("the length of {} is left out: it is the trip count",
                           ir::name_of(g_, editor_.stack(s)));
      });
      editor_.set_extent(s, ValueId::none);
      changed = true;
    }
    return changed;
  }

  /// Sets the extents of stacks, which are known as soon as the condition is removed.
  void set_stack_extents() {
    const ir::Type& scan = g_.value(editor_.scanned(0)).type;
    const std::int64_t from = parts().axis_in[0];
    const Extent trips = scan.extent(axis_from_front(from, scan.rank()));
    for (std::size_t s = 0; s < parts().stacks; ++s) {
      const ValueId stack = editor_.stack(s);
      if (stack == ValueId::none || parts().has_extent(s)) continue;
      ir::Type& t = g_.value(stack).type;
      if (!t.has_rank()) continue;
      ir::Extents extents = t.extents();
      const std::int64_t to = parts().axis_out[s];
      extents[static_cast<std::size_t>(axis_from_front(to, t.rank()))] = trips;
      t = ir::Type::tensor(t.dtype(), std::move(extents));
    }
  }

  Graph& g_;
  ir::TypeEnvironment& k_;
  const NodeId n_;
  ir::LoopEditor editor_;
  LoopRemarks remarks_;
};

}  // namespace

bool simplify_scans(Graph& g, Remarks* remarks) {
  const std::vector<NodeId> loops = loops_of(g);
  if (loops.empty()) return false;
  ir::TypeEnvironment k = ir::named_type_environment(g);
  ir::infer_region(g, RegionId::root, k);
  bool changed = false;
  for (const NodeId n : loops) changed |= ScanSimplifier(g, k, n, remarks).run();
  return changed;
}

}  // namespace rondel::passes
