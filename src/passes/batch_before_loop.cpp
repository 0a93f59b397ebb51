#include "passes/batch_before_loop.h"

#include "base/axis.h"
#include "base/cancellation.h"
#include "ir/loop_editor.h"
#include "ir/name_of.h"
#include "ops/batching.h"
#include "passes/batched_trips.h"
#include "passes/loop_body.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace rondel::passes {
namespace {

using ir::Batch;
using ir::Graph;
using ir::LoopParts;
using ir::Node;
using ir::NodeId;
using ir::Type;
using ir::ValueId;

constexpr double most_bytes = 64 << 20;

/// Moves products out of one loop.
class BeforeLoop {
 public:
  BeforeLoop(Graph& g, NodeId n, Remarks* remarks)
      : g_(g), n_(n), loop_(g, n), types_(types_in(g, n)), outside_(g, g.node(n).region),
        copy_(std::in_place, g, g), remarks_(remarks, g, n) {
    outside_.insert_before(n);
  }

  bool run() {
    bool changed = false;
    const std::vector<NodeId> nodes(body().nodes.begin(), body().nodes.end());
    for (const NodeId n : nodes)
      if (is_worth_it(n)) changed = move(n) || changed;
    if (!changed) return false;
    erase_unread(g_, parts().body);
    // The scans that products were made of have the extents of those that replace them.
    for (const ValueId v : sources_)
      if (!g_.is_read(v)) loop_.remove_scan(scan_of(v));
    return true;
  }

  static bool is_ended_by_scans(const LoopParts& parts) {
    return parts.scans > 0 && !parts.has_trips && !parts.has_go;
  }

 private:
  const LoopParts& parts() const { return loop_.parts(); }
  const ir::Region& body() const { return g_.region(parts().body); }
  ValueId element(std::size_t scan) const { return body().params[2 + parts().states + scan]; }
  bool is_outside(ValueId v) const { return !g_.encloses(parts().body, g_.value(v).region); }
  const Type& type(ValueId v) const { return types_.types[ir::index(v)]; }

  /// The number of the scan whose element `v` is.
  std::size_t scan_of(ValueId v) const {
    return static_cast<std::size_t>(std::ranges::find(body().params, v) - body().params.begin()) -
           2 - parts().states;
  }

  // Whether one call can compute the values of all trips.

  /// The element of a scan on which alone `v` depends, besides values from outside, through nodes
  /// that one call can compute for all trips. None if there is no such element, or if the values
  /// of all trips take much more memory than the scan.
  ValueId source(ValueId v) {
    if (v == ValueId::none) return v;
    const auto [at, fresh] = source_.try_emplace(v, ValueId::none);
    if (!fresh) return at->second;
    const ValueId found = source_of(v);
    return source_[v] = found;
  }
  ValueId source_of(ValueId v) {
    if (is_outside(v) || !keeps_shape(types_, v)) return ValueId::none;
    for (std::size_t k = 0; k < parts().scans; ++k)
      if (element(k) == v) return v;
    const NodeId n = g_.value(v).producer;
    const ValueId from = n == NodeId::none ? ValueId::none : source_of(n);
    return from != ValueId::none && is_bounded(v, from) ? from : ValueId::none;
  }
  /// Two scans may have different extents, of which the loop makes the least number of trips.
  ValueId source_of(NodeId n) {
    const Node& node = g_.node(n);
    if (!node.regions.empty() || node.op->random || !cannot_fail(g_, n)) return ValueId::none;
    ValueId found = ValueId::none;
    for (const ValueId v : node.inputs) {
      if (v == ValueId::none || is_outside(v) || g_.constant(v) != nullptr) continue;
      const ValueId here = source(v);
      if (here == ValueId::none || (found != ValueId::none && found != here)) return ValueId::none;
      found = here;
    }
    return found;
  }

  bool is_worth_it(NodeId n) {
    const Node& node = g_.node(n);
    const Product product = product_of(g_, node, types_,
                                       [&](ValueId v) { return source(v) != ValueId::none; });
    if (product == Product::none || !g_.is_read(node.outputs[0])) return false;
    if (product == Product::by_weights && source(node.outputs[0]) != ValueId::none) return true;
    remarks_.left([&] { return ir::where(g_, n) + " stays: " + why_stays(node, product); });
    return false;
  }
  std::string why_stays(const Node& node, Product product) {
    for (const ValueId v : node.inputs)
      if (v != ValueId::none && !is_outside(v) && g_.constant(v) == nullptr &&
          source(v) == ValueId::none)
        return fmt::format("{} does not follow from what the loop scans", ir::name_of(g_, v));
    if (product != Product::by_weights && product != Product::constant) return why_not(product);
    return product == Product::constant ? "the loop does not change it"
                                        : "its results of all trips could take too much memory";
  }

  /// Whether the values of all trips take little memory, in all or beside the scan.
  bool is_bounded(ValueId v, ValueId from) const {
    const auto after = TensorSize::of(type(v)), before = TensorSize::of(type(from));
    if (!after || !before) return false;
    const ir::Extent trips = extent_of_scan(scan_of(from));
    if (trips.known() && after->symbols.empty() &&
        after->bytes * static_cast<double>(trips.value) <= most_bytes)
      return true;
    return after->symbols == before->symbols &&
           after->elements <= most_growth * std::max(1.0, before->elements);
  }
  ir::Extent extent_of_scan(std::size_t k) const {
    const Type& t = g_.value(loop_.scanned(k)).type;
    if (!t.is_tensor() || !t.has_rank()) return {};
    return t.extent(axis_from_front(parts().axis_in[k], t.rank()));
  }

  // The calls before the loop.

  bool move(NodeId n) {
    const ValueId v = g_.node(n).outputs[0];
    const std::size_t before = g_.node_count();
    outside_.source(g_.node(n).source);
    const ValueId all = stack_of(v);
    if (all == ValueId::none) {
      remarks_.left([&] { return ir::where(g_, n) + " stays: no call computes it for all trips"; });
      erase_nodes_since(g_, before);
      copy_.emplace(g_, g_);  // constants that were copied are erased, too
      return false;
    }
    const ValueId from = source(v);
    remarks_.done([&] {
      return fmt::format("{} is computed for all trips before the loop", ir::where(g_, n));
    });
    complete_type(g_, all, g_.value(v).type, extent_of_scan(scan_of(from)));
    const bool reverse = parts().reverse_in[scan_of(from)] != 0;
    const ValueId one = loop_.add_scan(all, 0, reverse, g_.value(v).type, g_.value(v).name);
    types_.types.cover(g_.value_count());
    types_.types[ir::index(one)] = type(v);
    source_[one] = from;  // a chain of products is bounded as a whole
    if (std::ranges::count(sources_, from) == 0) sources_.push_back(from);
    sources_.push_back(one);
    g_.replace_uses(v, one);
    return true;
  }

  /// The values that `v` has in the trips, along a new first axis; none if there is no batch rule.
  ValueId stack_of(ValueId v) {
    for (std::size_t k = 0; k < parts().scans; ++k)
      if (element(k) == v) return scan_axis_first(k);
    const Node& node = g_.node(g_.value(v).producer);
    std::vector<Batch> operands;
    for (const ValueId x : std::vector<ValueId>(node.inputs)) {
      const bool stacked = source(x) != ValueId::none;
      operands.push_back({stacked ? stack_of(x) : outer(x), stacked});
      if (stacked && operands.back().value == ValueId::none) return ValueId::none;
    }
    const std::vector<ValueId> y = ops::batched(outside_, node, operands);
    return y.empty() ? ValueId::none : y[static_cast<std::size_t>(g_.value(v).position)];
  }

  ValueId scan_axis_first(std::size_t k) {
    const ValueId x = loop_.scanned(k);
    const std::int64_t rank = type(element(k)).rank() + 1;
    const std::int64_t axis = axis_from_front(parts().axis_in[k], rank);
    return with_axis_moved(outside_, x, axis, 0);
  }

  /// A value from outside, or a copy of a constant of the body.
  ValueId outer(ValueId v) {
    if (v == ValueId::none || is_outside(v)) return v;
    if ((*copy_)(v) == v) copy_->node(g_.value(v).producer, outside_.region(), n_);
    return (*copy_)(v);
  }

  Graph& g_;
  const NodeId n_;
  ir::LoopEditor loop_;
  ir::TypeEnvironment types_;
  ir::Builder outside_;
  std::optional<ir::Cloner> copy_;
  std::unordered_map<ValueId, ValueId> source_;
  std::vector<ValueId> sources_;  ///< elements that products were made of, and their elements
  LoopRemarks remarks_;
};

}  // namespace

bool batch_before_loop(Graph& g, Remarks* remarks) {
  bool changed = false;
  for (const NodeId n : loops_inside_out(g)) {
    check_cancellation();
    if (BeforeLoop::is_ended_by_scans(g.node(n).loop()) && is_known_before(g, n))
      changed = BeforeLoop(g, n, remarks).run() || changed;
  }
  return changed;
}

}  // namespace rondel::passes
