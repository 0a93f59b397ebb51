#include "exporters/onnx/rewrites.h"

#include "base/error.h"
#include "exporters/onnx/forms.h"
#include "exporters/onnx/loops.h"
#include "exporters/onnx/model.h"
#include "formats/onnx/schemas.h"
#include "ir/builder.h"
#include "ir/infer.h"
#include "ops/meaning.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

namespace rondel::exporters {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;
using Values = std::vector<ValueId>;

constexpr std::int64_t to_the_end = std::numeric_limits<std::int64_t>::max();

/// `convert` and `convert_text` are the two halves of Cast.
Values cast(ir::Builder& b, const ir::Node& n) {
  ir::Attributes how{{"to", *n.attributes.find("to")}};
  for (const char* name : {"saturate", "round_mode"})
    if (const ir::Attribute* a = n.attributes.find(name)) how.set(name, *a);
  return b.add("cast", n.inputs, how);
}

/// Two roundings instead of one; read back, the passes make one fma of them again.
Values multiply_and_add(ir::Builder& b, const ir::Node& n) {
  return {b("add", {b("mul", {n.inputs[0], n.inputs[1]}), n.inputs[2]})};
}

/// x under its own shape with the extent of each other input put in: an error where that is not
/// its own.
Values reshape_to_extents(ir::Builder& b, const ir::Node& n) {
  const ir::Ints axes = n.attributes.ints("axes");
  const ValueId x = n.inputs[0], zero = b.integers({0});
  const ValueId shape = b("shape", {x});
  const auto part = [&](std::int64_t from, std::int64_t to) {
    return b("slice", {shape, b.integers({from}), b.integers({to}), zero});
  };
  ValueId y = x;
  for (std::size_t k = 1; k < n.inputs.size(); ++k) {
    const ValueId extent = b("gather", {b("shape", {n.inputs[k]}), b.integers({axes[k]})});
    const ValueId wanted = b(
        "concat",
        {part(0, axes[0]), extent, part(axes[0] == -1 ? to_the_end : axes[0] + 1, to_the_end)},
        {{"axis", 0}});
    y = b("reshape", {y, wanted}, {{"allowzero", 1}});
  }
  return {y};
}

/// Looked up in 0, 1, ..., most: beyond it is an error, and where a negative length is sent.
Values look_up(ir::Builder& b, const ir::Node& n) {
  const ValueId lengths = n.inputs[0], zero = b.scalar<std::int64_t>(0),
                one = b.scalar<std::int64_t>(1);
  const ValueId beyond = b("add", {n.inputs[1], one});
  const ValueId at = b("where", {b("less", {lengths, zero}), beyond, lengths});
  return {b("gather", {b("range", {zero, beyond, one}), at})};
}

/// Shape before 15 gives all extents.
Values slice_of_shape(ir::Builder& b, const ir::Node& n) {
  const ValueId whole = b("shape", n.inputs);
  return {b("slice", {whole, b.integers({n.attributes.i("start")}),
                      b.integers({n.attributes.i("end")}), b.integers({0})})};
}

/// Split before 18 has no unequal parts but those whose lengths are given.
Values split_by_lengths(ir::Builder& b, const ir::Node& n) {
  const ir::Type& x = b.graph().value(n.inputs[0]).type;
  if (!x.has_rank() || n.inputs.size() > 1) return {};
  const std::int64_t axis = n.attributes.i("axis", 0);
  const ir::Extent& e = x.extent(axis < 0 ? axis + x.rank() : axis);
  if (!e.known()) return {};
  const auto parts = static_cast<std::int64_t>(n.outputs.size());
  const std::int64_t each = (e.value + parts - 1) / parts;
  ir::Ints lengths;
  for (std::int64_t j = 0; j < parts; ++j)
    lengths.push_back(std::clamp<std::int64_t>(e.value - j * each, 0, each));
  return b.add("split", {n.inputs[0], b.integers(lengths)}, {{"axis", axis}}, n.outputs.size());
}

/// Pad before 18 is told of every axis.
Values pad_every_axis(ir::Builder& b, const ir::Node& n) {
  const Graph& g = b.graph();
  const ir::Type& x = g.value(n.inputs[0]).type;
  const Tensor *pads = g.constant(n.inputs[1]), *axes = g.constant(n.inputs.at(3));
  if (!x.has_rank() || pads == nullptr || axes == nullptr) return {};
  const ir::Ints given = ir::integers_of(*pads), named = ir::integers_of(*axes);
  const auto rank = static_cast<std::size_t>(x.rank());
  ir::Ints all(2 * rank, 0);
  for (std::size_t k = 0; k < named.size(); ++k) {
    const auto axis = static_cast<std::size_t>(named[k] < 0 ? named[k] + x.rank() : named[k]);
    all[axis] = given[k];
    all[rank + axis] = given[named.size() + k];
  }
  Values inputs{n.inputs[0], b.integers(all), n.inputs[2]};
  if (n.inputs[2] == ValueId::none) inputs.pop_back();
  return b.add("pad", inputs, n.attributes);
}

/// An operand of our product may be taken transposed.
Values transpose_then_multiply(ir::Builder& b, const ir::Node& n) {
  const auto operand = [&](std::size_t k, const char* flag) {
    const ir::Type& t = b.graph().value(n.inputs[k]).type;
    if (!n.attributes.flag(flag) || (t.has_rank() && t.rank() < 2)) return n.inputs[k];
    if (!t.has_rank()) return ValueId::none;
    ir::Ints order(static_cast<std::size_t>(t.rank()));
    std::iota(order.begin(), order.end(), 0);
    std::swap(order.end()[-1], order.end()[-2]);
    return b("transpose", {n.inputs[k]}, {{"perm", order}});
  };
  const ValueId left = operand(0, "transpose_a"), right = operand(1, "transpose_b");
  if (left == ValueId::none || right == ValueId::none) return {};
  return b.add("mat_mul", {left, right});
}

Values reshape_to_scalar(ir::Builder& b, const ir::Node& n) {
  return {b("reshape", {n.inputs[0], b.integers({})})};
}

Values einsum(ir::Builder& b, const ir::Node& n) { return b.add("einsum", n.inputs, n.attributes); }

/// What says an op in ONNX ops where it is not one itself. Gives nothing where it cannot.
struct Rewrite {
  std::string_view op;
  Values (*write)(ir::Builder&, const ir::Node&);
};
constexpr Rewrite rewrites[] = {
    {"convert", cast},
    {"convert_text", cast},
    {"fma", multiply_and_add},
    {"same_extent", reshape_to_extents},
    {"checked_length", look_up},
    {"shape", slice_of_shape},
    {"split", split_by_lengths},
    {"pad", pad_every_axis},
    {"mat_mul", transpose_then_multiply},
    {"one_element", reshape_to_scalar},
    {"einsum_sum", einsum},
};

const Rewrite* find_rewrite(std::string_view op) {
  for (const Rewrite& r : rewrites)
    if (r.op == op) return &r;
  return nullptr;
}

/// The graph the op itself stands for: a row first, then its own meaning.
Values said_otherwise(ir::Builder& b, const ir::Node& n) {
  if (const Rewrite* r = find_rewrite(n.op->name))
    if (Values v = r->write(b, n); !v.empty()) return v;
  if (const auto* composite = ops::meaning_as<ops::Composite>(*n.op)) return composite->fn(b, n);
  return {};
}

/// Brings one region, and those within, into sayable form.
class Rewriter {
 public:
  Rewriter(Graph& g, const Scans& scans, int opset) : g_(g), scans_(scans), opset_(opset) {}
  void run() { region(RegionId::root); }

 private:
  void region(RegionId r) {
    for (std::size_t at = 0; at < g_.region(r).nodes.size();) {
      const NodeId n = g_.region(r).nodes[at];
      if (!settle(r, at, n)) continue;
      for (const RegionId inner : std::vector<RegionId>(g_.node(n).regions)) region(inner);
      ++at;
    }
  }

  /// True when the node at `at` may stay; else other nodes stand there now.
  bool settle(RegionId r, std::size_t at, NodeId n) {
    const std::string_view op = g_.node(n).op->name;
    if (op == "constant") return true;
    if (op == "loop") return is_scan(n) || !make_loop(g_, n);
    return say(g_, g_.node(n), opset_).why_not.empty() || !rewrite(r, at, n);
  }

  bool is_scan(NodeId n) const { return scans_.contains(static_cast<std::int32_t>(n)); }

  bool rewrite(RegionId r, std::size_t at, NodeId n) {
    // What stands for an op may hold that op again, but then it must be sayable.
    const ir::Node node = g_.node(n);
    std::set<std::string_view> within = within_[n];
    if (!within.insert(node.op->name).second) return false;
    ir::Builder b(g_, r);
    b.source(node.source);
    b.insert_at(at);
    const std::size_t before = g_.node_count();
    const Values results = said_otherwise(b, node);
    if (results.empty()) return false;
    for (std::size_t made = before; made < g_.node_count(); ++made)
      within_[static_cast<NodeId>(made)] = within;
    for (std::size_t j = 0; j < node.outputs.size(); ++j) {
      if (node.outputs[j] == ValueId::none || results[j] == ValueId::none) continue;
      if (g_.value(results[j]).name.empty())
        g_.value(results[j]).name = g_.value(node.outputs[j]).name;
      g_.replace_uses(node.outputs[j], results[j]);
    }
    g_.erase_node(n);
    return true;
  }

  Graph& g_;
  const Scans& scans_;
  int opset_;
  std::map<NodeId, std::set<std::string_view>> within_;  ///< the ops that a node stands for
};

}  // namespace

std::optional<int> least_opset(const Graph& g, const ir::Node& n, int from) {
  for (int opset = from; opset <= newest_opset(); ++opset)
    if (say(g, n, opset).why_not.empty()) return opset;
  return std::nullopt;
}

Scans make_scans(Graph& g) {
  Scans scans;
  for (std::size_t r = 0; r < g.region_count(); ++r)
    for (const NodeId n : std::vector<NodeId>(g.region(static_cast<RegionId>(r)).nodes))
      if (g.node(n).op->name == "loop" && make_scan(g, n))
        scans.insert(static_cast<std::int32_t>(n));
  return scans;
}

void refuse(const Graph& g, NodeId n, const std::string& why_not, int opset) {
  const auto newer = g.node(n).op->name == "loop" ? std::nullopt : least_opset(g, g.node(n), opset);
  const std::string way_out = newer ? fmt::format("; opset {} has it", *newer) : "";
  throw_error(
      newer ? Blame::caller : Blame::unsupported,
      fmt::format("{}: opset {} cannot say it: {}{}", ir::where(g, n), opset, why_not, way_out));
}

void make_sayable(Graph& g, const Scans& scans, int opset) { Rewriter(g, scans, opset).run(); }

bool can_be_said(const ir::OpDef& op) {
  return onnx_name(op.name) || find_rewrite(op.name) != nullptr ||
         ops::meaning_as<ops::Composite>(op) != nullptr;
}

}  // namespace rondel::exporters
