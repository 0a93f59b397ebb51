#include "exporters/onnx/interoperability.h"

#include "ir/builder.h"
#include "ops/windows/pooling.h"

#include <algorithm>
#include <optional>
#include <string>

namespace rondel::exporters {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;

/// The terms of an equation's operands, without spaces.
std::vector<std::string> terms_of(const std::string& equation) {
  std::vector<std::string> terms{""};
  for (const char c : equation.substr(0, equation.find("->"))) {
    if (c == ',') terms.emplace_back();
    else if (c != ' ') terms.back() += c;
  }
  return terms;
}

/// An operand's ellipsis: its first axis and its number of axes.
struct Ellipsis {
  std::size_t operand;
  std::int64_t at, axes;
};

/// The ellipses of all operands that have one; empty if a rank is not known.
std::vector<Ellipsis> ellipses_of(const Graph& g, const Node& n) {
  const std::vector<std::string> terms = terms_of(n.attributes.s("equation", ""));
  std::vector<Ellipsis> found;
  for (std::size_t k = 0; k < terms.size() && k < n.inputs.size(); ++k) {
    const std::size_t at = terms[k].find("...");
    if (at == std::string::npos) continue;
    const ir::Type& x = g.value(n.inputs[k]).type;
    if (!x.has_rank()) return {};
    found.push_back({k, static_cast<std::int64_t>(at), x.rank() - (std::ssize(terms[k]) - 3)});
  }
  return found;
}

bool add_axes_under_ellipses(Graph& g, NodeId id) {
  const Node n = g.node(id);
  const std::vector<Ellipsis> ellipses = ellipses_of(g, n);
  std::int64_t most = 0;
  for (const Ellipsis& e : ellipses) most = std::max(most, e.axes);

  ir::Builder b(g, n.region);
  b.source(n.source);
  b.insert_before(id);
  bool changed = false;
  for (const Ellipsis& e : ellipses) {
    ir::Ints added;
    for (std::int64_t k = e.axes; k < most; ++k) added.push_back(e.at + k - e.axes);
    if (added.empty()) continue;
    const ir::ValueId x = n.inputs[e.operand];
    const ir::ValueId wider = b("unsqueeze", {x, b.integers(added)});
    g.set_input(id, e.operand, wider);
    changed = true;
  }
  return changed;
}

/// Padding with which a pool has the same windows without rounding up.
struct Rounded {
  ir::Ints pads;
  bool drops = false;  ///< rounding up alone would count one more window
};

/// Nothing if no such padding is known, or if an average would count it.
std::optional<Rounded> without_rounding(const kernels::PoolSpec& spec, const ir::Type& x) {
  const std::size_t spatial = spec.window.kernel.size();
  if (!x.has_rank() || x.rank() != static_cast<std::int64_t>(spatial) + 2) return std::nullopt;
  Rounded r{ir::Ints(2 * spatial, 0)};
  for (std::size_t a = 0; a < spatial; ++a) {
    const ir::Extent& e = x.extent(static_cast<std::int64_t>(a) + 2);
    if (!e.known()) return std::nullopt;
    const std::int64_t kernel = spec.window.kernel[a];
    const kernels::WindowAxis w = kernels::axis_of(spec.window, a, e.value, kernel);
    const std::int64_t count = kernels::window_count(w, e.value, true);
    const std::int64_t before = e.value + w.begin, room = before + w.end - w.reach();
    r.drops = r.drops || count * w.stride < room + w.stride;
    const std::int64_t end = std::max<std::int64_t>((count - 1) * w.stride + w.reach() - before, 0);
    // Elements added by rounding up are not counted as padding, but these would be. ONNX Runtime
    // requires padding smaller than the kernel.
    if (end > w.end && (spec.count_include_pad || end >= kernel)) return std::nullopt;
    r.pads[a] = w.begin;
    r.pads[a + spatial] = end;
  }
  return r;
}

bool pool_without_rounding(Graph& g, NodeId id) {
  Node& n = g.node(id);
  const kernels::PoolSpec spec = ops::pool_spec(n.attributes);
  if (!spec.window.ceil_mode) return false;
  const auto r = without_rounding(spec, g.value(n.inputs[0]).type);
  if (!r || !r->drops) return false;
  n.attributes.set("ceil_mode", std::int64_t{0});
  n.attributes.set("auto_pad", std::string("NOTSET"));
  n.attributes.set("pads", r->pads);
  return true;
}

/// Gives a Resize an empty list as roi and as scales where it has none.
bool add_empty_lists(Graph& g, NodeId id) {
  ir::Builder b(g, g.node(id).region);
  b.source(g.node(id).source);
  b.insert_before(id);
  bool changed = false;
  for (const std::size_t k : {std::size_t{1}, std::size_t{2}}) {
    if (g.node(id).inputs.at(k) != ir::ValueId::none) continue;
    g.set_input(id, k, b.constant(Tensor(DType::f32, {0})));
    changed = true;
  }
  return changed;
}

constexpr int first_consistent_opset = 22, first_optional_scales = 13;

}  // namespace

bool make_interoperable(Graph& g, NodeId id, int opset) {
  const std::string_view op = g.node(id).op->name;
  if (op == "einsum") return add_axes_under_ellipses(g, id);
  if (op == "resize") return opset < first_optional_scales && add_empty_lists(g, id);
  if (op == "average_pool" || op == "max_pool")
    return opset < first_consistent_opset && pool_without_rounding(g, id);
  return false;
}

}  // namespace rondel::exporters
