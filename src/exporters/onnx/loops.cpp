#include "exporters/onnx/loops.h"

#include "base/axis.h"
#include "base/error.h"
#include "exporters/onnx/stacks.h"
#include "ir/builder.h"
#include "ir/infer.h"
#include "ir/loop_editor.h"

#include <algorithm>
#include <unordered_set>

namespace rondel::exporters {
namespace {

using ir::Graph;
using ir::LoopParts;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;

/// Calls `see` for each value that the node or its regions read.
template <class See> void visit_reads(const Graph& g, NodeId n, See& see) {
  for (const ValueId v : g.node(n).inputs)
    if (v != ValueId::none) see(v);
  for (const RegionId r : g.node(n).regions) {
    for (const NodeId inner : g.region(r).nodes) visit_reads(g, inner, see);
    for (const ValueId v : g.region(r).results) see(v);
  }
}

/// The values and nodes of a region that some of its results depend on.
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
    visit_reads(g, *n, see);
  }
  return found;
}

/// The values and nodes that the body's states and items depend on, and also `go` if it stops the
/// loop.
Needed needed_in_body(const Graph& g, const LoopParts& parts) {
  const auto& results = g.region(parts.body).results;
  return needed_for(g, parts.body, std::span(results).subspan(parts.has_go ? 0 : 1));
}

/// Removes the computation of a `go` that does not stop the loop and that the body does not read.
void drop_unused_go(Graph& g, const LoopParts& parts) {
  if (parts.has_go || g.constant(g.region(parts.body).results[0]) != nullptr) return;
  const ValueId go = g.region(parts.body).params[1];
  const Needed needed = needed_in_body(g, parts);
  if (needed.reads(go)) return;
  g.set_result(parts.body, 0, go);
  g.erase_nodes(parts.body,
                [&](NodeId n) { return !needed.nodes.contains(static_cast<std::int32_t>(n)); });
}

const ir::Extent* extent_along(const Graph& g, ValueId v, std::int64_t axis) {
  const ir::Type& t = g.value(v).type;
  if (!t.is_tensor() || !t.has_rank()) return nullptr;
  return &t.extent(axis_from_front(axis, t.rank()));
}

/// Whether one `same_extent` node asserts that all scans have equal extents.
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

/// `v` as a scalar, written at the builder's position.
ValueId scalar_in(ir::Builder& b, ValueId v, const char* what) {
  const ir::Type& t = b.graph().value(v).type;
  if (t.has_rank() && t.rank() <= 1) return v;
  return b("one_element", {v}, {{"what", std::string(what)}});
}

void reshape_control_inputs(Graph& g, NodeId n) {
  ir::Builder outside(g, g.node(n).region);
  outside.source(g.node(n).source);
  outside.insert_before(n);
  const auto hold = [&](std::size_t k, const char* what) {
    g.set_input(n, k, scalar_in(outside, g.node(n).inputs[k], what));
  };
  if (g.node(n).op->name == "if") return hold(0, "the condition");
  if (!g.node(n).is_loop()) return;
  const LoopParts parts(g.node(n));
  if (parts.has_trips) hold(parts.trips_at(), "the trip count");
  if (parts.has_go) hold(parts.go_at(), "the condition");
  ir::Builder inside(g, parts.body);
  inside.source(g.node(n).source);
  const ValueId go = g.region(parts.body).results[0];
  g.set_result(parts.body, 0, scalar_in(inside, go, "the body's condition"));
}

}  // namespace

void reshape_control_inputs_to_scalars(Graph& g) {
  for (const RegionId r : g.regions_below(RegionId::root))
    for (const NodeId n : g.region(r).nodes) reshape_control_inputs(g, n);
}

std::string why_not_scan(const Graph& g, const ir::Node& loop) {
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

ir::Type stacked(const ir::Type& item, const ir::Extent& trips) {
  if (!item.has_rank()) return ir::Type::unranked(item.dtype());
  ir::Extents extents = item.extents();
  extents.insert(extents.begin(), trips);
  return ir::Type::tensor(item.dtype(), std::move(extents));
}

/// Converts one loop to the form of ONNX's Loop.
class LoopConversion {
 public:
  LoopConversion(Graph& g, NodeId n)
      : g_(g), n_(n), editor_(g, n), outer_(g, g.node(n).region), inner_(g, parts().body) {
    outer_.insert_before(n);
    outer_.source(g.node(n).source);
    inner_.source(g.node(n).source);
    inner_.insert_first();
  }

  void run() {
    if (!parts().has_trips && !parts().has_go && parts().scans > 0)
      editor_.set_trips(least_extent());
    while (parts().scans > 0) gather_first_scan();
    if (!parts().has_go) replace_unused_go();
    if (g_.is_read(trips_made())) count_trips();
    g_.leave_out_output(n_, parts().output_count() - 1);
    outer_.insert_after(n_);
    add_missing_finals();
    for (std::size_t k = parts().stacks; k-- > 0;) normalize_first_stack();
  }

 private:
  const LoopParts& parts() const { return editor_.parts(); }
  const ir::Region& body() const { return g_.region(parts().body); }
  ValueId trips_made() const { return g_.node(n_).outputs.back(); }

  ValueId least_extent() {
    std::vector<ValueId> extents;
    for (std::size_t k = 0; k < parts().scans; ++k)
      extents.push_back(extent_of(outer_, editor_.scanned(k), parts().axis_in[k]));
    return extents.size() == 1 ? extents[0] : outer_("min", extents);
  }

  /// Replaces a scan by a Gather at the trip index. A trip past the extent is an error in both.
  void gather_first_scan() {
    const ValueId element = body().params[2 + parts().states];
    if (g_.is_read(element)) {
      const std::int64_t axis = parts().axis_in[0];
      ValueId x = editor_.scanned(0);
      if (parts().reverse_in[0] != 0) x = reversed(outer_, x, axis);
      const ValueId slice = inner_("gather", {x, body().params[0]}, {{"axis", axis}});
      g_.value(slice).name = g_.value(element).name;
      g_.replace_uses(element, slice);
    }
    editor_.remove_scan(0);
  }

  /// The condition of a loop without one becomes the constant true. If the body reads the `go` of
  /// the previous trip, that becomes a state.
  void replace_unused_go() {
    const ValueId go = body().params[1], body_go = body().results[0];
    g_.set_result(parts().body, 0, go);
    if (needed_in_body(g_, parts()).reads(go)) {
      const ValueId state = add_state(outer_.scalar(true), body_go == go ? ValueId::none : body_go,
                                      g_.value(go).name)
                                .param;
      g_.replace_uses(go, state);
    }
    inner_.insert_first();
    g_.set_result(parts().body, 0, inner_.scalar(true));
  }

  void count_trips() {
    inner_.insert_last();
    const ValueId next = inner_("add", {body().params[0], inner_.scalar<std::int64_t>(1)});
    const ValueId counted = add_state(outer_.scalar<std::int64_t>(0), next, "trips_made").final;
    replace_value(trips_made(), counted);
  }

  /// `name` is passed by value, because names in the graph move when the graph grows.
  ir::LoopEditor::State add_state(ValueId initial, ValueId next, std::string name) {
    const ir::Type type = g_.value(initial).type;
    const auto state = editor_.add_state(initial, next, type, std::move(name));
    editor_.set_fixed(parts().states - 1, true);
    return state;
  }

  /// Adds missing outputs, because a Loop must have an output for each final state.
  void add_missing_finals() {
    for (std::size_t s = 0; s < parts().states; ++s)
      ir::restored_output(g_, n_, s, g_.value(body().params[2 + s]).type);
  }

  /// Replaces the first stack by a stack on axis 0, added after the others, and converts it to the
  /// original layout after the loop.
  void normalize_first_stack() {
    const ValueId old = editor_.stack(0), item = editor_.item(0);
    const StackLayout form{parts().reverse_out[0] != 0, editor_.extent(0), parts().axis_out[0]};
    const ir::Extent* trips = old == ValueId::none || parts().has_extent(0)
                                  ? nullptr
                                  : extent_along(g_, old, form.axis);
    const ir::Type declared = parts().declared[0];
    const ir::Type type = stacked(g_.value(item).type, trips == nullptr ? ir::Extent() : *trips);
    const ValueId stack = editor_.add_stack(item, 0, false, ValueId::none, type, {});
    editor_.set_declared(parts().stacks - 1, declared);
    if (old != ValueId::none) replace_value(old, apply_stack_layout(outer_, stack, form));
    editor_.remove_stack(0);
  }

  void replace_value(ValueId old, ValueId now) {
    g_.value(now).name = g_.value(old).name;
    g_.replace_uses(old, now);
  }

  Graph& g_;
  NodeId n_;
  ir::LoopEditor editor_;
  ir::Builder outer_, inner_;
};

/// Removes the parts that a Scan implies: the assertion of equal extents, and the output n.
void drop_implied_by_scan(Graph& g, NodeId n) {
  const LoopParts p(g.node(n));
  ir::Builder b(g, g.node(n).region);
  b.source(g.node(n).source);
  if (p.scans > 1 && asserted_equal(g, g.node(n), p)) {
    const NodeId same = g.value(g.node(n).inputs[p.scans_at()]).producer;
    ir::LoopEditor(g, n).set_scanned(0, g.node(same).inputs[0]);
  }
  const ValueId trips = g.node(n).outputs.back();
  if (g.is_read(trips)) {
    b.insert_before(n);
    g.replace_uses(trips, extent_of(b, g.node(n).inputs[p.scans_at()], p.axis_in[0]));
  }
}

bool is_true(const Graph& g, ValueId condition) {
  const Tensor* t = g.constant(condition);
  return t != nullptr && t->size() == 1 && *t->data_as<std::uint8_t>() != 0;
}

/// Whether the loop has the form of an ONNX Loop (see convert_to_loop).
bool is_onnx_loop(const Graph& g, const ir::Node& loop) {
  const LoopParts p(loop);
  const auto zeros = [](const ir::Ints& v) { return std::ranges::count(v, 0) == std::ssize(v); };
  if (p.scans > 0 || !zeros(p.axis_out) || !zeros(p.reverse_out) || !zeros(p.extents)) return false;
  if (g.is_read(loop.outputs.back())) return false;
  const ir::Region& body = g.region(p.body);
  return p.has_go || (is_true(g, body.results[0]) && !needed_in_body(g, p).reads(body.params[1]));
}

}  // namespace

bool convert_to_scan(Graph& g, NodeId n) {
  if (!why_not_scan(g, g.node(n)).empty()) return false;
  drop_unused_go(g, LoopParts(g.node(n)));
  drop_implied_by_scan(g, n);
  return true;
}

bool convert_to_loop(Graph& g, NodeId n) {
  drop_unused_go(g, LoopParts(g.node(n)));
  if (is_onnx_loop(g, g.node(n))) return false;
  LoopConversion(g, n).run();
  return true;
}

}  // namespace rondel::exporters
