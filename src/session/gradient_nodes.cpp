#include "session/gradient_nodes.h"

#include "base/error.h"
#include "compile/plan_builder.h"
#include "gradients/gradient.h"
#include "gradients/influence.h"
#include "gradients/mask_scores.h"
#include "gradients/stop_gradients.h"
#include "ir/builder.h"
#include "ir/clone.h"
#include "lowering/empty_stacks.h"
#include "passes/remove_dead.h"
#include "session/constants_as_inputs.h"

#include <algorithm>
#include <set>

namespace rondel::session {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::ValueId;

bool is_gradient(const Graph& g, NodeId n) { return g.node(n).op->name == "gradient"; }

/// The first `gradient` node of the innermost region that has one, so that gradients that other
/// `gradient` nodes differentiate are replaced before them; none if there is none.
NodeId first_gradient(const Graph& g) {
  const std::vector<ir::RegionId> regions = g.regions_below(ir::RegionId::root);
  for (auto r = regions.rbegin(); r != regions.rend(); ++r)
    for (const NodeId n : g.region(*r).nodes)
      if (is_gradient(g, n)) return n;
  return NodeId::none;
}

[[noreturn]] void refuse(const Graph& g, NodeId n, ValueId v, std::string_view why) {
  throw_error_at(Blame::unsupported, ir::where(g, n), fmt::format("'{}' {}", g.value(v).name, why));
}

/// The operands of a `gradient` node, by role.
class Request {
 public:
  Request(const Graph& g, NodeId n)
      : inputs_(g.node(n).inputs), xs_(count(g, n, "xs")), all_(xs_ + count(g, n, "zs")) {}
  ValueId y() const { return inputs_[0]; }
  std::span<const ValueId> variables() const { return std::span(inputs_).subspan(1, all_); }
  std::span<const ValueId> values() const { return std::span(inputs_).subspan(1 + all_); }
  std::size_t xs() const { return xs_; }
  /// Whether a variable is held constant (one of ONNX's zs).
  bool is_held(std::size_t variable) const { return variable >= xs_; }
  bool is_at_the_variables() const { return std::ranges::equal(variables(), values()); }

 private:
  static std::size_t count(const Graph& g, NodeId n, std::string_view name) {
    return static_cast<std::size_t>(g.node(n).attributes.i(name));
  }

  std::vector<ValueId> inputs_;
  std::size_t xs_, all_;
};

/// The constants of the root region that `gradient` nodes read, for example as variables.
std::vector<ValueId> constant_variables(const Graph& g) {
  std::vector<ValueId> found;
  for (std::size_t n = 0; n < g.node_count(); ++n) {
    const auto node = static_cast<NodeId>(n);
    if (g.is_erased(node) || !is_gradient(g, node)) continue;
    for (const ValueId v : g.node(node).inputs)
      if (g.constant(v) != nullptr && g.value(v).region == ir::RegionId::root &&
          std::ranges::find(found, v) == found.end())
        found.push_back(v);
  }
  return found;
}

/// Stops the gradient at the variables that are held constant; returns y, which may have changed.
ValueId stop_at_held(Graph& g, const Request& r, NodeId n) {
  for (std::size_t k = r.xs(); k < r.variables().size(); ++k)
    if (gradients::has_adjoint(g, r.variables()[k]))
      gradients::stop_gradients(g, r.variables().subspan(k, 1));
  return g.node(n).inputs[0];
}

/// Copies the nodes between the variables and y, before the `gradient` node, with the given values
/// in place of the variables; returns the copy of y. `values` gets a new value for each variable,
/// even if two variables have the same one.
ValueId moved_to_values(ir::Builder& b, const Request& r, NodeId n, std::vector<ValueId>& values) {
  Graph& g = b.graph();
  ir::Cloner clone(g, g);
  std::set<ValueId> moved;
  for (std::size_t k = 0; k < r.values().size(); ++k) {
    const bool stops = r.is_held(k) && gradients::has_adjoint(g, r.values()[k]);
    values.push_back(b(stops ? "stop_gradient" : "identity", {r.values()[k]}));
    clone.map(r.variables()[k], values.back());
    moved.insert(r.variables()[k]);
  }
  const std::vector<NodeId> nodes = g.region(b.region()).nodes;
  for (const NodeId at : nodes) {
    if (at == n) break;
    const ir::Node& node = g.node(at);
    const auto is_moved = [&](ValueId v) { return moved.contains(v); };
    bool reads = std::ranges::any_of(node.inputs, is_moved);
    for (const ir::RegionId inner : node.regions)
      reads = reads || std::ranges::any_of(g.captures(inner), is_moved);
    const bool is_variable = std::ranges::any_of(node.outputs, is_moved);
    if (!reads || is_variable) continue;
    clone.node(at, b.region(), n);
    moved.insert(node.outputs.begin(), node.outputs.end());
  }
  return moved.contains(r.y()) ? clone(r.y()) : r.y();
}

void write_gradient(Graph& g, NodeId n) {
  const Request r(g, n);
  const ir::RegionId region = g.node(n).region;
  if (g.value(r.y()).region != region)
    refuse(g, n, r.y(), "is made outside of the body in which it is differentiated");
  for (const ValueId v : r.variables()) {
    if (g.value(v).region != region)
      refuse(g, n, v, "is made outside of the body in which something is differentiated by it");
    if (g.constant(v) != nullptr)
      refuse(g, n, v,
             "is known without running; a variable is an input, an initializer of the model, or "
             "depends on inputs");
  }
  gradients::GradientRequest request;
  request.region = region;
  request.before = n;
  std::vector<ValueId> variables(r.variables().begin(), r.variables().end());
  if (r.is_at_the_variables()) {
    request.targets = {stop_at_held(g, r, n)};
  } else {
    ir::Builder b(g, region);
    b.source(g.node(n).source);
    b.insert_before(n);
    variables.clear();
    request.targets = {moved_to_values(b, r, n, variables)};
  }
  variables.resize(r.xs());
  request.wrt = variables;
  const std::vector<ValueId> adjoints = gradients::add_gradient(g, request);
  for (std::size_t j = 0; j < g.node(n).outputs.size(); ++j) {
    const ValueId given = g.node(n).outputs[j];
    if (given == ValueId::none) continue;
    if (g.value(adjoints[j]).name.empty()) g.value(adjoints[j]).name = g.value(given).name;
    g.replace_uses(given, adjoints[j]);
  }
  g.erase_node(n);
  passes::remove_gradient_stops(g);
}

}  // namespace

void write_gradients(Graph& g) {
  if (first_gradient(g) == NodeId::none) return;
  gradients::mask_scores(g);
  ConstantsAsInputs constants(g);
  for (const ValueId v : constant_variables(g)) constants.stand_in(v);
  for (NodeId n = first_gradient(g); n != NodeId::none; n = first_gradient(g)) {
    compile::canonicalize(g);
    lowering::declare_items(g);  // for reverse loops, as `prepare` in gradient.cpp says
    // Canonicalization may have removed unread gradient nodes.
    if (n = first_gradient(g); n != NodeId::none) write_gradient(g, n);
  }
  compile::canonicalize(g);
  constants.restore();
}

}  // namespace rondel::session
