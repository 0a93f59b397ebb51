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

/// Replaces a node of one output by the value `y`.
void replace(Graph& g, NodeId id, ir::ValueId y) {
  const ir::ValueId old = g.node(id).outputs[0];
  g.value(y).name = g.value(old).name;
  g.replace_uses(old, y);
  g.erase_node(id);
}

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

/// Replaces a Squeeze or Unsqueeze of no axes by Identity.
bool change_no_axes(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const Tensor* axes = has_input(n, 1) ? g.constant(n.inputs[1]) : nullptr;
  if (axes == nullptr || axes->size() > 0) return false;
  ir::Builder b(g, n.region);
  b.source(n.source);
  b.insert_before(id);
  replace(g, id, b("identity", {n.inputs[0]}));
  return true;
}

/// The zero point of all channels, if it is one constant.
std::optional<std::int64_t> one_zero_point(const Graph& g, ir::ValueId list) {
  const Tensor* t = g.constant(list);
  if (t == nullptr || t->size() == 0) return std::nullopt;
  const ir::Ints zeros = ir::integers_of(*t);
  if (std::ranges::count(zeros, zeros[0]) != std::ssize(zeros)) return std::nullopt;
  return zeros[0];
}

/// How much the zero points of w take from the convolution: each times the sum of its window of x.
ir::ValueId part_of_zero_points(ir::Builder& b, const Node& n) {
  const ir::Type i32 = ir::Type::scalar(DType::i32), w = b.graph().value(n.inputs[1]).type;
  const ir::ValueId ones = b("expand", {b.scalar(w.dtype(), 1), b("shape", {n.inputs[1]})});
  const ir::ValueId sums = b("conv_integer", {n.inputs[0], ones, n.inputs[2]}, n.attributes);
  ir::Ints axes;
  for (std::int64_t k = 2; k < w.rank(); ++k) axes.push_back(k - 1);
  const ir::ValueId zeros = b("cast", {n.inputs[3]}, {{"to", i32}});
  return b("mul", {sums, axes.empty() ? zeros : b("unsqueeze", {zeros, b.integers(axes)})});
}

/// Gives a ConvInteger whose w has a list of zero points none, or one for all channels.
bool convolve_without_list(Graph& g, NodeId id) {
  const Node n = g.node(id);
  if (!has_input(n, 3)) return false;
  const ir::Type zeros = g.value(n.inputs[3]).type, w = g.value(n.inputs[1]).type;
  if (!zeros.has_rank() || zeros.rank() == 0 || !w.has_rank()) return false;
  if (zeros.extent(0).known() && zeros.extent(0).value == 1) return false;
  ir::Builder b(g, n.region);
  b.source(n.source);
  b.insert_before(id);
  const std::optional<std::int64_t> zero = one_zero_point(g, n.inputs[3]);
  if (zero && *zero != 0) {
    g.set_input(id, 3, b.scalar(w.dtype(), static_cast<double>(*zero)));
    return true;
  }
  ir::ValueId y = b("conv_integer", {n.inputs[0], n.inputs[1], n.inputs[2]}, n.attributes);
  if (!zero) y = b("sub", {y, part_of_zero_points(b, n)});
  replace(g, id, y);
  return true;
}

constexpr int first_consistent_opset = 22, first_optional_scales = 13;

}  // namespace

bool make_interoperable(Graph& g, NodeId id, int opset) {
  const std::string_view op = g.node(id).op->name;
  if (op == "einsum") return add_axes_under_ellipses(g, id);
  if (op == "squeeze" || op == "unsqueeze") return change_no_axes(g, id);
  if (op == "conv_integer") return convolve_without_list(g, id);
  if (op == "resize") return opset < first_optional_scales && add_empty_lists(g, id);
  if (op == "average_pool" || op == "max_pool")
    return opset < first_consistent_opset && pool_without_rounding(g, id);
  return false;
}

}  // namespace rondel::exporters
