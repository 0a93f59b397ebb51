#include "exporters/onnx/loops.h"

#include "base/axis.h"
#include "base/error.h"
#include "exporters/onnx/stacks.h"
#include "ir/builder.h"
#include "ir/infer.h"

#include <algorithm>
#include <unordered_set>

namespace rondel::exporters {
namespace {

using ir::Graph;
using ir::LoopParts;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;

/// Calls `see` for every value that the node reads, in its regions too.
template <class See> void each_read(const Graph& g, NodeId n, See& see) {
  for (const ValueId v : g.node(n).inputs)
    if (v != ValueId::none) see(v);
  for (const RegionId r : g.node(n).regions) {
    for (const NodeId inner : g.region(r).nodes) each_read(g, inner, see);
    for (const ValueId v : g.region(r).results) see(v);
  }
}

/// The values that a region reads for `results`, and the nodes of its own that it runs for them.
struct Needed {
  std::unordered_set<std::int32_t> values, nodes;
  bool reads(ValueId v) const { return values.contains(static_cast<std::int32_t>(v)); }
};

Needed needed_for(const Graph& g, RegionId r, std::span<const ValueId> results) {
  Needed found;
  const auto see = [&](ValueId v) { found.values.insert(static_cast<std::int32_t>(v)); };
  for (const ValueId v : results) see(v);
  const auto& nodes = g.region(r).nodes;
  for (auto n = nodes.rbegin(); n != nodes.rend(); ++n) {
    if (std::ranges::none_of(g.node(*n).outputs, [&](ValueId v) { return found.reads(v); }))
      continue;
    found.nodes.insert(static_cast<std::int32_t>(*n));
    each_read(g, *n, see);
  }
  return found;
}

/// What the body runs for its states and items, and, where it decides, for `go`.
Needed needed_in_body(const Graph& g, const LoopParts& parts) {
  const auto& results = g.region(parts.body).results;
  return needed_for(g, parts.body, std::span(results).subspan(parts.has_go ? 0 : 1));
}

/// A `go` that never decides and that the body does not read is not computed.
void drop_idle_go(Graph& g, const LoopParts& parts) {
  if (parts.has_go || g.constant(g.region(parts.body).results[0]) != nullptr) return;
  const ValueId go = g.region(parts.body).params[1];
  const Needed needed = needed_in_body(g, parts);
  if (needed.reads(go)) return;
  g.region(parts.body).results[0] = go;
  std::erase_if(g.region(parts.body).nodes,
                [&](NodeId n) { return !needed.nodes.contains(static_cast<std::int32_t>(n)); });
}

const ir::Extent* extent_along(const Graph& g, ValueId v, std::int64_t axis) {
  const ir::Type& t = g.value(v).type;
  if (!t.is_tensor() || !t.has_rank()) return nullptr;
  return &t.extent(axis_from_front(axis, t.rank()));
}

/// Whether one `same_extent` makes sure of the extents of all scans.
bool asserted_equal(const Graph& g, const ir::Node& loop, const LoopParts& p) {
  const NodeId producer = g.value(loop.inputs[p.scans_at()]).producer;
  if (producer == NodeId::none || g.node(producer).op->name != "same_extent") return false;
  const ir::Node& same = g.node(producer);
  const ir::Ints axes = same.attributes.ints("axes");
  const auto asserted = [&](ValueId v, std::int64_t axis) {
    for (std::size_t k = 0; k < same.inputs.size(); ++k)
      if (same.inputs[k] == v && axes[k] == axis) return true;
    return false;
  };
  if (axes.empty() || axes[0] != p.axis_in[0]) return false;
  for (std::size_t k = 1; k < p.scans; ++k)
    if (!asserted(loop.inputs[p.scans_at() + k], p.axis_in[k])) return false;
  return true;
}

bool one_extent(const Graph& g, const ir::Node& loop, const LoopParts& p) {
  const ir::Extent* first = extent_along(g, loop.inputs[p.scans_at()], p.axis_in[0]);
  for (std::size_t k = 1; k < p.scans; ++k) {
    const ir::Extent* e = extent_along(g, loop.inputs[p.scans_at() + k], p.axis_in[k]);
    if (first == nullptr || e == nullptr || !(*e == *first)) return asserted_equal(g, loop, p);
  }
  return true;
}

bool keeps_shape(const Graph& g, const LoopParts& p, std::size_t s) {
  const ir::Region& body = g.region(p.body);
  const ir::Type &before = g.value(body.params[2 + s]).type,
                 &after = g.value(body.results[1 + s]).type;
  if (!before.is_tensor()) return false;
  return p.fixed[s] != 0 ||
         (before.has_rank() && after.has_rank() && before.extents() == after.extents());
}

bool is_read(const Graph& g, ValueId v) {
  if (v == ValueId::none) return false;
  const auto in_region = [&](auto&& self, RegionId r) -> bool {
    const auto& results = g.region(r).results;
    if (std::ranges::find(results, v) != results.end()) return true;
    for (const NodeId n : g.region(r).nodes) {
      const auto& inputs = g.node(n).inputs;
      if (std::ranges::find(inputs, v) != inputs.end()) return true;
      for (const RegionId inner : g.node(n).regions)
        if (self(self, inner)) return true;
    }
    return false;
  };
  return in_region(in_region, g.value(v).region);
}

}  // namespace

namespace {

/// Value `v` of region `r` as a scalar, made before position `at` of the region.
ValueId scalar_in(Graph& g, RegionId r, std::size_t at, const std::string& source, ValueId v,
                  const char* what) {
  const ir::Type& t = g.value(v).type;
  if (t.has_rank() && t.rank() <= 1) return v;
  ir::Builder b(g, r);
  b.source(source);
  b.insert_at(at);
  return b("one_element", {v}, {{"what", std::string(what)}});
}

void hold_inputs(Graph& g, NodeId n) {
  const ir::Node node = g.node(n);
  const auto hold = [&](std::size_t k, const char* what) {
    const ValueId v = scalar_in(g, node.region, g.position_of(n), node.source, node.inputs[k],
                                what);
    g.node(n).inputs[k] = v;
  };
  if (node.op->name == "if") return hold(0, "the condition");
  if (node.op->name != "loop") return;
  const LoopParts parts(node);
  if (parts.has_trips) hold(parts.trips_at(), "the trip count");
  if (parts.has_go) hold(parts.go_at(), "the condition");
  const ValueId go = scalar_in(g, parts.body, g.region(parts.body).nodes.size(), node.source,
                               g.region(parts.body).results[0], "the body's condition");
  g.region(parts.body).results[0] = go;
}

}  // namespace

void hold_scalars(Graph& g) {
  for (std::size_t r = 0; r < g.region_count(); ++r)
    for (const NodeId n : std::vector(g.region(static_cast<RegionId>(r)).nodes)) hold_inputs(g, n);
}

std::string why_no_scan(const Graph& g, const ir::Node& loop) {
  const LoopParts p(loop);
  if (p.scans == 0) return "it has no scans";
  if (p.has_go) return "a condition ends it";
  if (p.has_trips) return "it has a trip count of its own";
  if (!one_extent(g, loop, p)) return "its scans may differ in extent";
  if (std::ranges::count(p.extents, 1) > 0) return "a stack has an extent of its own";
  const auto& params = g.region(p.body).params;
  const Needed needed = needed_in_body(g, p);
  if (needed.reads(params[0])) return "its body reads the trip index";
  if (needed.reads(params[1])) return "its body reads its condition";
  for (std::size_t s = 0; s < p.states; ++s)
    if (!keeps_shape(g, p, s)) return fmt::format("state {} may change its shape", s);
  return {};
}

namespace {

/// The extent of `x` along `axis`: a scalar.
ValueId extent_of(ir::Builder& b, ValueId x, std::int64_t axis) {
  return b("gather", {b("shape", {x}), b.scalar<std::int64_t>(axis)});
}

/// One loop on its way to the form of ONNX's Loop.
class Rewriting {
 public:
  Rewriting(Graph& g, NodeId n)
      : g_(g), n_(n), parts_(g.node(n)), outer_(g, g.node(n).region), inner_(g, parts_.body) {
    outer_.insert_at(g.position_of(n));
    outer_.source(g.node(n).source);
    inner_.source(g.node(n).source);
    inner_.insert_at(0);
  }

  void run() {
    const ir::Node before = g_.node(n_);
    read_inputs(before);
    gather_scans(before);
    if (!parts_.has_go) settle_go();
    if (is_read(g_, before.outputs.back())) count_trips();
    replace(before);
  }

 private:
  void read_inputs(const ir::Node& n) {
    if (parts_.has_trips) trips_ = n.inputs[parts_.trips_at()];
    else if (!parts_.has_go && parts_.scans > 0) trips_ = least_extent(n);
    if (parts_.has_go) go_ = n.inputs[parts_.go_at()];
    const auto first = n.inputs.begin() + static_cast<std::ptrdiff_t>(parts_.states_at());
    initial_.assign(first, first + static_cast<std::ptrdiff_t>(parts_.states));
    const auto& params = g_.region(parts_.body).params;
    for (std::size_t s = 0; s < parts_.states; ++s) states_.push_back(params[2 + s]);
  }

  ValueId least_extent(const ir::Node& n) {
    std::vector<ValueId> extents;
    for (std::size_t k = 0; k < parts_.scans; ++k)
      extents.push_back(extent_of(outer_, n.inputs[parts_.scans_at() + k], parts_.axis_in[k]));
    return extents.size() == 1 ? extents[0] : outer_("min", extents);
  }

  /// A scan is read at the trip's index; beyond its extent that is an error, as a scan's is.
  void gather_scans(const ir::Node& n) {
    const auto params = g_.region(parts_.body).params;
    for (std::size_t k = 0; k < parts_.scans; ++k) {
      const ValueId element = params[2 + parts_.states + k];
      if (!is_read(g_, element)) continue;
      ValueId x = n.inputs[parts_.scans_at() + k];
      if (parts_.reverse_in[k] != 0) x = reversed(outer_, x, parts_.axis_in[k]);
      const ValueId slice = inner_("gather", {x, params[0]}, {{"axis", parts_.axis_in[k]}});
      g_.value(slice).name = g_.value(element).name;
      g_.replace_uses(element, slice);
    }
  }

  /// Without a condition of its own the loop is told to go on; where the body reads what it said
  /// last, that is a state.
  void settle_go() {
    ir::Region& body = g_.region(parts_.body);
    const ValueId go = body.params[1];
    const ValueId told = body.results[0];
    body.results[0] = go;
    const bool read = needed_in_body(g_, parts_).reads(go);
    if (read) {
      const std::string name = g_.value(go).name;
      const ValueId state = add_state(outer_.scalar(true), name);
      g_.replace_uses(go, state);
      more_next_.push_back(told == go ? state : told);
    }
    inner_.insert_at(0);
    const ValueId on = inner_.scalar(true);
    g_.region(parts_.body).results[0] = on;
  }

  void count_trips() {
    add_state(outer_.scalar<std::int64_t>(0), "trips_made");
    counter_ = states_.size() - 1;
    inner_.insert_at(g_.region(parts_.body).nodes.size());
    const ValueId i = g_.region(parts_.body).params[0];
    more_next_.push_back(inner_("add", {i, inner_.scalar<std::int64_t>(1)}));
  }

  ValueId add_state(ValueId initial, const std::string& name) {
    initial_.push_back(initial);
    states_.push_back(g_.add_param(parts_.body, g_.value(initial).type, name));
    return states_.back();
  }

  /// The body's parameters and results in their new order.
  void arrange_body() {
    ir::Region& body = g_.region(parts_.body);
    std::vector<ValueId> params{body.params[0], body.params[1]}, results{body.results[0]};
    params.insert(params.end(), states_.begin(), states_.end());
    const auto items = body.results.begin() + 1 + static_cast<std::ptrdiff_t>(parts_.states);
    results.insert(results.end(), body.results.begin() + 1, items);
    results.insert(results.end(), more_next_.begin(), more_next_.end());
    results.insert(results.end(), items, body.results.end());
    for (std::size_t k = 0; k < params.size(); ++k)
      g_.value(params[k]).position = static_cast<std::int32_t>(k);
    body.params = std::move(params);
    body.results = std::move(results);
  }

  void replace(const ir::Node& before) {
    const std::size_t stacks_from = 1 + parts_.states;
    const std::vector<ValueId> items(
        g_.region(parts_.body).results.begin() + static_cast<std::ptrdiff_t>(stacks_from),
        g_.region(parts_.body).results.end());
    arrange_body();
    LoopParts now;
    now.has_trips = trips_ != ValueId::none;
    now.has_go = go_ != ValueId::none;
    now.states = states_.size();
    now.stacks = parts_.stacks;
    now.fixed = parts_.fixed;
    now.fixed.resize(now.states, 1);
    now.keeps = parts_.keeps;
    now.keeps.resize(now.states, 0);
    now.axis_out.assign(now.stacks, 0);
    now.reverse_out.assign(now.stacks, 0);
    now.extents.assign(now.stacks, 0);
    now.declared = parts_.declared;
    std::vector<ValueId> inputs;
    if (now.has_trips) inputs.push_back(trips_);
    if (now.has_go) inputs.push_back(go_);
    inputs.insert(inputs.end(), initial_.begin(), initial_.end());

    std::vector<ir::Type> types;
    for (std::size_t s = 0; s < now.states; ++s)
      types.push_back(s < parts_.states && before.outputs[s] != ValueId::none
                          ? g_.value(before.outputs[s]).type
                          : g_.value(states_[s]).type);
    for (std::size_t k = 0; k < items.size(); ++k)
      types.push_back(stacked(g_.value(items[k]).type, trips_of(before, k)));
    types.push_back(ir::Type::scalar(DType::i64));
    const std::size_t at = g_.position_of(n_);
    const NodeId loop = g_.insert_node(before.region, at, *before.op, now.attributes(),
                                       std::move(inputs), types, {parts_.body});
    g_.node(loop).source = before.source;
    const std::vector<ValueId> outputs = g_.node(loop).outputs;
    g_.node(loop).outputs.back() = ValueId::none;
    outer_.insert_at(at + 1);
    for (std::size_t s = 0; s < parts_.states; ++s) hand_over(before.outputs[s], outputs[s]);
    if (counter_) hand_over(before.outputs.back(), outputs[*counter_]);
    for (std::size_t k = 0; k < parts_.stacks; ++k) {
      const ValueId old = before.outputs[parts_.states + k];
      if (old != ValueId::none) hand_over(old, finished(before, k, outputs[now.states + k]));
    }
    g_.erase_node(n_);
  }

  /// The number of trips, as far as the stack tells.
  ir::Extent trips_of(const ir::Node& before, std::size_t k) const {
    const ValueId stack = before.outputs[parts_.states + k];
    if (stack == ValueId::none || parts_.has_extent(k)) return {};
    const ir::Extent* e = extent_along(g_, stack, parts_.axis_out[k]);
    return e == nullptr ? ir::Extent() : *e;
  }

  static ir::Type stacked(const ir::Type& item, const ir::Extent& trips) {
    if (!item.has_rank()) return ir::Type::unranked(item.dtype());
    ir::Extents extents = item.extents();
    extents.insert(extents.begin(), trips);
    return ir::Type::tensor(item.dtype(), std::move(extents));
  }

  void hand_over(ValueId old, ValueId now) {
    if (old == ValueId::none) return;
    g_.value(now).name = g_.value(old).name;
    g_.replace_uses(old, now);
  }

  ValueId finished(const ir::Node& before, std::size_t k, ValueId stack) {
    const ValueId extent = parts_.has_extent(k) ? before.inputs[parts_.extent_at(k)]
                                                : ValueId::none;
    return finished_stack(outer_, stack, {parts_.reverse_out[k] != 0, extent, parts_.axis_out[k]});
  }

  Graph& g_;
  NodeId n_;
  LoopParts parts_;
  ir::Builder outer_, inner_;
  ValueId trips_ = ValueId::none, go_ = ValueId::none;
  std::vector<ValueId> initial_, states_;
  std::vector<ValueId> more_next_;      ///< of the states that are added
  std::optional<std::size_t> counter_;  ///< the state that counts the trips
};

/// What a Scan says by itself is not said again: that the extents are equal, and n.
void take_as_scan(Graph& g, NodeId n) {
  const LoopParts p(g.node(n));
  ir::Builder b(g, g.node(n).region);
  b.source(g.node(n).source);
  if (p.scans > 1 && asserted_equal(g, g.node(n), p)) {
    const NodeId same = g.value(g.node(n).inputs[p.scans_at()]).producer;
    g.node(n).inputs[p.scans_at()] = g.node(same).inputs[0];
  }
  const ValueId trips = g.node(n).outputs.back();
  if (is_read(g, trips)) {
    b.insert_at(g.position_of(n));
    g.replace_uses(trips, extent_of(b, g.node(n).inputs[p.scans_at()], p.axis_in[0]));
  }
}

/// Whether the loop has the form of an ONNX Loop: no scans, stacks on axis 0 in order, no extents,
/// n not read, and a constant for the body's `go` where it never decides.
bool is_onnx_loop(const Graph& g, const ir::Node& loop) {
  const LoopParts p(loop);
  const auto zeros = [](const ir::Ints& v) { return std::ranges::count(v, 0) == std::ssize(v); };
  if (p.scans > 0 || !zeros(p.axis_out) || !zeros(p.reverse_out) || !zeros(p.extents)) return false;
  if (is_read(g, loop.outputs.back())) return false;
  const ir::Region& body = g.region(p.body);
  return p.has_go ||
         (g.constant(body.results[0]) != nullptr && !needed_in_body(g, p).reads(body.params[1]));
}

}  // namespace

bool make_scan(Graph& g, NodeId n) {
  if (!why_no_scan(g, g.node(n)).empty()) return false;
  take_as_scan(g, n);
  return true;
}

bool make_loop(Graph& g, NodeId n) {
  drop_idle_go(g, LoopParts(g.node(n)));
  if (is_onnx_loop(g, g.node(n))) return false;
  Rewriting(g, n).run();
  return true;
}

}  // namespace rondel::exporters
