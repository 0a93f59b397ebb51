#include "base/axis.h"
#include "gradients/kept_values.h"
#include "gradients/loop_batching.h"
#include "gradients/region_gradient.h"
#include "ir/clone.h"
#include "ir/infer.h"
#include "ir/loop_editor.h"
#include "ops/gradients.h"
#include "ops/meaning.h"
#include "passes/loop_body.h"

#include <algorithm>
#include <utility>

namespace rondel::gradients {
namespace {

using ir::LoopParts;
using ir::NodeId;
using ir::Type;
using ir::ValueId;

class LoopGradient {
 public:
  LoopGradient(ir::Builder& b, NodeId n, std::span<const ValueId> adjoints,
               const Influence& influence, std::span<const ValueId> captures)
      : g_(b.graph()), b_(b), n_(n), loop_(g_, n), types_(passes::types_in(g_, n)),
        adjoints_(adjoints), influence_(influence), captures_(captures),
        kept_(b, loop_, n, types_, influence) {}

  LoopAdjoints run() {
    const ir::Region& body = g_.region(parts().body);
    for (std::size_t s = 0; s < parts().states; ++s)
      if (influence_.contains(body.params[2 + s])) states_.push_back(s);
    for (std::size_t k = 0; k < parts().scans; ++k)
      if (influence_.contains(element(k))) scans_.push_back(k);
    if (states_.empty() && scans_.empty() && captures_.empty()) return {};
    items_ = parts().stacks;
    nodes_.assign(body.nodes.begin(), body.nodes.end());
    restore_finals();
    count_ = count();
    trips_ = b_("unsqueeze", {count_, b_.integers({0})});
    set_states();
    kept_.keep(nodes_);
    for (const ValueId stack : kept_.stacks()) add_scan(stack, 0, true);
    scan_elements();
    scan_adjoints();
    reverse_.has_trips = true;
    reverse_.stacks = scans_.size();
    for (const std::size_t k : scans_) {
      reverse_.axis_out.push_back(parts().axis_in[k]);
      reverse_.reverse_out.push_back(parts().reverse_in[k] != 0 ? 0 : 1);
      reverse_.declared.push_back(type(element(k)));
    }
    std::vector<ValueId> inputs{count_};
    inputs.insert(inputs.end(), initial_.begin(), initial_.end());
    inputs.insert(inputs.end(), scanned_.begin(), scanned_.end());
    std::vector<ValueId> found = b_.loop(
        reverse_, std::move(inputs), [this](ir::Builder& inner, std::span<const ValueId> params) {
          return trip(inner, params);
        });
    const NodeId reverse = g_.value(found[0]).producer;
    passes::erase_unread(g_, g_.node(reverse).loop().body);
    keep_results_instead(reverse);
    batch_behind_loop(b_, reverse, states_.size(), found);
    drop_unread_scans(reverse);
    return adjoints_from(found);
  }

 private:
  const LoopParts& parts() const { return loop_.parts(); }
  const ir::Region& body() const { return g_.region(parts().body); }
  ValueId element(std::size_t k) const { return body().params[2 + parts().states + k]; }
  ValueId output(std::size_t j) const { return g_.node(n_).outputs[j]; }
  const Type& type(ValueId v) const { return g_.value(v).type; }

  /// Restores unused final states, because zero adjoints get their shapes from them.
  void restore_finals() {
    for (const std::size_t s : states_) ir::restored_output(g_, n_, s, type(body().params[2 + s]));
  }

  /// The trip count, i64[]. A value from before the loop is preferred to the loop's output, because
  /// more is known about it.
  ValueId count() {
    const ValueId scalar = b_.integers({});
    if (reads_all_of_its_scans() && parts().scans > 0)
      return b_("reshape", {axis_extent(loop_.scanned(0), parts().axis_in[0]), scalar});
    if (parts().has_trips && !parts().has_go) {
      const ValueId trips = g_.node(n_).inputs[parts().trips_at()];
      const ValueId at_least_none = b_("max", {trips, b_.scalar(std::int64_t{0})});
      return b_("reshape", {at_least_none, scalar});
    }
    return ir::restored_output(g_, n_, parts().states + parts().stacks, Type::scalar(DType::i64));
  }

  // ---- states and scans of the reverse loop

  /// The states of the reverse loop: adjoints of states, which start as the adjoints of the final
  /// states, and sums for the adjoints of captures, which start as zeros. Sums of narrow floats are
  /// f32, and are rounded once behind the loop.
  void set_states() {
    for (const std::size_t s : states_)
      initial_.push_back(adjoints_[s] != ValueId::none ? adjoints_[s]
                                                       : ops::zeros_like(b_, output(s)));
    for (const ValueId v : captures_)
      initial_.push_back(type(v).is_tensor() ? ops::wide_zeros_like(b_, v)
                                             : ops::zeros_like(b_, v));
    reverse_.states = initial_.size();
  }

  void add_scan(ValueId x, std::int64_t axis, bool reverse) {
    scanned_.push_back(x);
    reverse_.axis_in.push_back(axis);
    reverse_.reverse_in.push_back(reverse ? 1 : 0);
    ++reverse_.scans;
  }

  /// Whether the loop ends at the end of its scans, which all have the same extent.
  bool reads_all_of_its_scans() const {
    if (parts().has_trips || parts().has_go) return false;
    const auto extent = [this](std::size_t k) {
      const Type& t = type(loop_.scanned(k));
      const std::int64_t axis = parts().axis_in[k];
      return t.has_rank() && has_axis(axis, t.rank()) ? t.extent(axis_from_front(axis, t.rank()))
                                                      : ir::Extent();
    };
    for (std::size_t k = 1; k < parts().scans; ++k)
      if (!(extent(k) == extent(0))) return false;
    return true;
  }

  /// Scans the elements that the forward trips read, because reverse trips recompute with them.
  void scan_elements() {
    for (std::size_t k = 0; k < parts().scans; ++k) {
      const ValueId x = loop_.scanned(k);
      const std::int64_t axis = parts().axis_in[k];
      const bool reverse = parts().reverse_in[k] != 0;
      add_scan(reads_all_of_its_scans() ? x : part_read(x, axis, reverse), axis, !reverse);
    }
  }
  ValueId part_read(ValueId x, std::int64_t axis, bool reverse) {
    const ValueId extent = axis_extent(x, axis), axes = b_.integers({axis});
    if (!reverse) return b_("slice", {x, b_.integers({0}), trips_, axes});
    return b_("slice", {x, b_("sub", {extent, trips_}), extent, axes});
  }
  ValueId axis_extent(ValueId x, std::int64_t axis) {
    return b_("gather", {b_("shape", {x}), b_.integers({axis})}, {{"axis", 0}});
  }

  /// Scans the adjoints of items. A stack with an explicit extent may be longer than the trip
  /// count; the adjoints after the last item are dropped.
  void scan_adjoints() {
    for (std::size_t k = 0; k < items_; ++k) {
      const ValueId adjoint = adjoints_[parts().states - kept_.lists() + k];
      if (adjoint == ValueId::none) continue;
      const std::int64_t axis = parts().axis_out[k];
      const ValueId all = parts().has_extent(k) ? part_read(adjoint, axis, false) : adjoint;
      with_adjoint_.push_back(k);
      add_scan(all, axis, parts().reverse_out[k] == 0);
    }
  }

  // ---- one trip of the reverse loop

  std::vector<ValueId> trip(ir::Builder& b, std::span<const ValueId> params) {
    const std::span<const ValueId> carried = params.subspan(2, reverse_.states);
    const std::span<const ValueId> scanned = params.subspan(2 + reverse_.states);
    // The shape of a state may change from trip to trip, and so may that of its adjoint: the
    // adjoint has the type of the state in the body, not that of the final state.
    for (std::size_t j = 0; j < states_.size(); ++j)
      g_.value(carried[j]).type = type(body().params[2 + states_[j]]);
    ir::Cloner copy(g_, g_);
    const ValueId last = b("sub", {count_, b.scalar(std::int64_t{1})});
    const ValueId i = b("sub", {last, params[0]});
    copy.map(body().params[0], i);
    copy.map(body().params[1], params[1]);
    kept_.map(b, copy, scanned, i);
    const auto replacements = kept_.replacements(b, copy, scanned, i);
    for (std::size_t k = 0; k < parts().scans; ++k)
      copy.map(element(k), scanned[kept_.stacks().size() + k]);
    for (const NodeId n : nodes_) copy.node(n, b.region());
    for (const NodeId n : nodes_)
      if (const ir::Node& node = g_.node(n); ops::is_elementwise(*node.op))
        clones_.emplace_back(node.outputs[0], copy(node.outputs[0]));
    std::vector<ValueId> results = differentiated(b, copy, params[1], carried, scanned);
    // What is kept replaces what is computed again, which becomes unread.
    for (const auto& [computed, kept] : replacements) {
      const ValueId again = copy(computed);
      std::ranges::replace(results, again, kept);
      g_.replace_uses(again, kept);
    }
    return results;
  }
  /// A tensor in the dtype of `like`; a sequence or an optional as it is.
  ValueId in_dtype_of(ir::Builder& b, ValueId v, ValueId like) const {
    return type(v).is_tensor() ? ops::as(b, v, type(like).dtype()) : v;
  }
  std::vector<ValueId> differentiated(ir::Builder& b, ir::Cloner& copy, ValueId go,
                                      std::span<const ValueId> carried,
                                      std::span<const ValueId> scanned) {
    Influence influence(g_);
    for (const std::size_t s : states_) influence.add(copy(body().params[2 + s]));
    for (const std::size_t k : scans_) influence.add(copy(element(k)));
    for (const ValueId v : captures_) influence.add(v);
    influence.spread(b.region());
    RegionGradient gradient(b, influence);
    const auto seed = [&](ValueId result, ValueId adjoint) {
      if (influence.contains(result)) gradient.add(result, adjoint);
    };
    for (std::size_t j = 0; j < states_.size(); ++j)
      seed(copy(body().results[1 + states_[j]]), carried[j]);
    const std::size_t first = kept_.stacks().size() + parts().scans;
    for (std::size_t j = 0; j < with_adjoint_.size(); ++j)
      seed(copy(body().results[1 + parts().states + with_adjoint_[j]]), scanned[first + j]);
    gradient.run();
    std::vector<ValueId> results{go};
    const auto found = [&](ValueId v) {
      const ValueId adjoint = gradient.adjoint(v);
      return adjoint != ValueId::none ? adjoint : ops::zeros_like(b, v);
    };
    for (const std::size_t s : states_) results.push_back(found(copy(body().params[2 + s])));
    for (std::size_t j = 0; j < captures_.size(); ++j) {
      const ValueId sum = carried[states_.size() + j], adjoint = gradient.adjoint(captures_[j]);
      results.push_back(adjoint == ValueId::none
                            ? sum
                            : ops::sum_of_adjoints(b, sum, in_dtype_of(b, adjoint, sum)));
    }
    for (const std::size_t k : scans_) results.push_back(found(copy(element(k))));
    return results;
  }

  // ---- cleanup and results

  /// If an element-wise node is the only reader of some kept values, its result is kept instead.
  void keep_results_instead(NodeId reverse) {
    ir::LoopEditor editor(g_, reverse);
    for (const auto& [v, clone] : clones_) {
      const NodeId n = g_.value(clone).producer;
      if (!g_.is_read(clone) || !reads_kept_values_alone(editor, n) ||
          !passes::keeps_shape(types_, v))
        continue;
      const ValueId stack = kept_.stack_of(v);
      const ValueId kept = editor.add_scan(stack, 0, true, type(v), {});
      g_.replace_uses(clone, kept);
      g_.erase_node(n);
    }
  }
  /// Whether a node reads only kept values, constants and values from outside the loop, no other
  /// node reads these kept values, and they have the type of the result.
  bool reads_kept_values_alone(const ir::LoopEditor& editor, NodeId n) const {
    bool any = false;
    for (const ValueId x : g_.node(n).inputs) {
      if (x == ValueId::none || g_.value(x).region != editor.parts().body) continue;
      if (g_.constant(x) != nullptr) continue;
      const bool kept = is_kept(editor, x) && g_.value(x).uses.size() == 1 &&
                        type(x) == type(g_.node(n).outputs[0]);
      if (!kept) return false;
      any = true;
    }
    return any;
  }
  bool is_kept(const ir::LoopEditor& editor, ValueId x) const {
    const auto at = static_cast<std::size_t>(g_.value(x).position);
    const std::size_t first = 2 + editor.parts().states;
    return g_.value(x).producer == NodeId::none && at >= first &&
           g_.value(editor.scanned(at - first)).producer == n_;
  }
  /// Removes scans that no trip reads, and the stacks and lists that were made for them. The
  /// reverse loop does not need scans to end: it has a trip count.
  void drop_unread_scans(NodeId reverse) {
    ir::LoopEditor editor(g_, reverse);
    for (std::size_t k = editor.parts().scans; k-- > 0;) {
      const ir::Region& trip = g_.region(editor.parts().body);
      if (g_.is_read(trip.params[2 + editor.parts().states + k])) continue;
      const ValueId x = editor.scanned(k);
      editor.remove_scan(k);
      kept_.drop_if_unread(x);
    }
    kept_.drop_unread_lists();
  }

  LoopAdjoints adjoints_from(std::span<const ValueId> found) {
    LoopAdjoints adjoints;
    adjoints.inputs.assign(g_.node(n_).inputs.size(), ValueId::none);
    for (std::size_t j = 0; j < states_.size(); ++j)
      adjoints.inputs[parts().states_at() + states_[j]] = found[j];
    for (std::size_t j = 0; j < captures_.size(); ++j)
      adjoints.captures.emplace_back(captures_[j],
                                     in_dtype_of(b_, found[states_.size() + j], captures_[j]));
    for (std::size_t j = 0; j < scans_.size(); ++j)
      adjoints.inputs[parts().scans_at() + scans_[j]] = whole(scans_[j],
                                                              found[reverse_.states + j]);
    return adjoints;
  }
  /// Pads the adjoint of a scan with zeros for the elements that no trip has read.
  ValueId whole(std::size_t k, ValueId part) {
    part = with_shapes_of_elements(k, part);
    if (reads_all_of_its_scans()) return part;
    const std::int64_t axis = parts().axis_in[k];
    const ValueId unread = b_("sub", {axis_extent(loop_.scanned(k), axis), trips_});
    const ValueId none = b_.integers({0});
    const bool reverse = parts().reverse_in[k] != 0;
    const ValueId pads = b_("concat", {reverse ? unread : none, reverse ? none : unread},
                            {{"axis", 0}});
    return b_("pad", {part, pads, ValueId::none, b_.integers({axis})});
  }
  /// Without trips, the rank and the extents of the adjoints of elements are only those that their
  /// types tell; the scan has all.
  ValueId with_shapes_of_elements(std::size_t k, ValueId part) {
    const Type& t = type(element(k));
    if (t.has_rank() && std::ranges::all_of(t.extents(), &ir::Extent::known)) return part;
    const ValueId scanned = loop_.scanned(k);
    if (reads_all_of_its_scans()) return ops::with_shape_of(b_, part, scanned);
    const std::int64_t axis = parts().axis_in[k];
    std::vector<ValueId> shape{b_("shape", {scanned}, {{"end", axis}}), trips_};
    if (axis != -1) shape.push_back(b_("shape", {scanned}, {{"start", axis + 1}}));
    return b_("reshape", {part, b_("concat", std::move(shape), {{"axis", 0}})}, {{"allowzero", 1}});
  }

  ir::Graph& g_;
  ir::Builder& b_;
  const NodeId n_;
  ir::LoopEditor loop_;
  const ir::TypeEnvironment types_;
  const std::span<const ValueId> adjoints_;
  const Influence& influence_;
  const std::span<const ValueId> captures_;
  KeptValues kept_;
  std::vector<NodeId> nodes_;                ///< of the body
  std::size_t items_ = 0;                    ///< number of stacks before values were kept
  std::vector<std::size_t> states_, scans_;  ///< influenced ones, by number
  /// Results of the body's element-wise nodes, and their copies in the reverse body.
  std::vector<std::pair<ValueId, ValueId>> clones_;
  std::vector<std::size_t> with_adjoint_;  ///< stacks that have adjoints, by number
  ValueId count_ = ValueId::none;          ///< trips of the forward loop, i64[]
  ValueId trips_ = ValueId::none;          ///< the same, i64[1]
  LoopParts reverse_;
  std::vector<ValueId> initial_, scanned_;
};

}  // namespace

LoopAdjoints loop_gradient(ir::Builder& b, NodeId n, std::span<const ValueId> adjoints,
                           const Influence& influence, std::span<const ValueId> captures) {
  return LoopGradient(b, n, adjoints, influence, captures).run();
}

}  // namespace rondel::gradients
