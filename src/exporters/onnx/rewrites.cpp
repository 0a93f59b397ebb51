#include "exporters/onnx/rewrites.h"

#include "base/error.h"
#include "exporters/onnx/carriers.h"
#include "exporters/onnx/forms.h"
#include "exporters/onnx/loops.h"
#include "exporters/onnx/opsets.h"
#include "exporters/onnx/plainly.h"
#include "exporters/onnx/rows.h"
#include "formats/onnx/schemas.h"
#include "ir/builder.h"
#include "ir/infer.h"
#include "ops/meaning.h"

#include <algorithm>
#include <map>
#include <set>

namespace rondel::exporters {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;
using Values = std::vector<ValueId>;

/// The dtype in which an opset's op takes a node whose own it does not take, and how.
struct Carrier {
  Exchange exchange;
  Carried how;
};

std::optional<Carrier> carrier(const Graph& g, const ir::Node& n, const Said& said, int opset) {
  if (!said.untaken) return std::nullopt;
  const DType narrow = *said.untaken;
  const Carried how = carried(n, narrow);
  if (how == Carried::no) return std::nullopt;
  for (const DType wide : carriers(narrow, how)) {
    const Exchange exchange{narrow, wide};
    const Said then = say(g, n, opset, exchange);
    // Another dtype that is not taken has its turn after this one.
    const bool better = then.why_not.empty() ||
                        (then.untaken && *then.untaken != narrow && *then.untaken != wide);
    if (better && can_cast(exchange, opset)) return Carrier{exchange, how};
  }
  return std::nullopt;
}

/// Brings one region, and those within, into sayable form.
class Rewriter {
 public:
  Rewriter(Graph& g, const Scans& scans, int opset) : g_(g), scans_(scans), opset_(opset) {}
  void run() { region(RegionId::root); }

 private:
  void region(RegionId r) {
    NodeId settled = NodeId::none;  // the last of those that are, from the first on
    const auto next = [&] {
      if (settled != NodeId::none) return g_.next(settled);
      return g_.region(r).nodes.empty() ? NodeId::none : g_.region(r).nodes.front();
    };
    for (NodeId n = next(); n != NodeId::none; n = next()) {
      if (!settle(n)) continue;
      for (const RegionId inner : g_.node(n).regions) region(inner);
      settled = n;
    }
  }

  /// True when the node may stay as it is; else there are other nodes before or in place of it.
  bool settle(NodeId n) {
    const std::string_view op = g_.node(n).op->name;
    if (op == "constant") return true;
    if (op == "loop") return is_scan(n) || !make_loop(g_, n);
    if (put_plainly(g_, n, opset_)) return false;
    const Said said = say(g_, g_.node(n), opset_);
    return said.why_not.empty() || !(carry(n, said) || rewrite(n));
  }

  bool is_scan(NodeId n) const { return scans_.contains(static_cast<std::int32_t>(n)); }

  /// Writes the node in a wider dtype than the one that its op does not take.
  bool carry(NodeId n, const Said& said) {
    const auto by = carrier(g_, g_.node(n), said, opset_);
    if (by) carry_in(n, by->exchange, by->how);
    return by.has_value();
  }

  void carry_in(NodeId n, const Exchange& e, Carried how) {
    const ir::Node node = g_.node(n);
    Values inputs = node.inputs;
    for (ValueId& v : inputs)
      if (has_dtype(v, e.from)) v = wide(v, e.to, node.source);
    ir::Attributes attributes = node.attributes;
    for (const auto& [name, value] : node.attributes)
      if (const auto* t = std::get_if<ir::Type>(&value);
          t != nullptr && t->is_tensor() && t->dtype() == e.from)
        attributes.set(name, ir::Type::scalar(e.to));
    ir::Builder b(g_, node.region);
    b.source(node.source);
    b.insert_before(n);
    const Values results = b.add(node.op->name, inputs, attributes, node.outputs.size());
    for (std::size_t j = 0; j < results.size(); ++j) {
      const ValueId old = node.outputs[j];
      if (old == ValueId::none) continue;
      const ValueId now = has_dtype(old, e.from) ? narrowed(b, results[j], e, how) : results[j];
      g_.value(now).name = g_.value(old).name;
      g_.replace_uses(old, now);
    }
    g_.erase_node(n);
  }

  bool has_dtype(ValueId v, DType t) const {
    return v != ValueId::none && g_.value(v).type.is_tensor() && g_.value(v).type.dtype() == t;
  }

  /// The value in a wider dtype: cast once, where it is made, for all who read it.
  ValueId wide(ValueId v, DType to, const std::string& source) {
    const auto [known, fresh] = wide_.try_emplace({v, to}, ValueId::none);
    if (!fresh) return known->second;
    const ir::ValueInfo& value = g_.value(v);
    ir::Builder b(g_, value.region);
    b.source(source);
    if (value.producer == NodeId::none) b.insert_first();
    else b.insert_after(value.producer);
    return known->second = b("cast", {v}, {{"to", ir::Type::scalar(to)}});
  }

  ValueId narrowed(ir::Builder& b, ValueId x, const Exchange& e, Carried how) {
    const ValueId whole = how == Carried::saturated ? clipped(b, x, e) : x;
    const ValueId y = b("cast", {whole}, cast_back(e.from));
    if (how == Carried::kept) wide_[{y, e.to}] = x;
    return y;
  }

  static ValueId clipped(ir::Builder& b, ValueId x, const Exchange& e) {
    const int bits = file_bits(e.from) - (is_unsigned_integer(e.from) ? 0 : 1);
    const double most = static_cast<double>((std::int64_t{1} << bits) - 1);
    return b("clip", {x, b.scalar(e.to, is_unsigned_integer(e.from) ? 0 : -most - 1),
                      b.scalar(e.to, most)});
  }

  bool rewrite(NodeId n) {
    // What stands for an op may hold that op again, but then it must be sayable.
    const ir::Node node = g_.node(n);
    std::set<std::string_view> within = within_[n];
    if (!within.insert(node.op->name).second) return false;
    ir::Builder b(g_, node.region);
    b.source(node.source);
    b.insert_before(n);
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
  std::map<std::pair<ValueId, DType>, ValueId> wide_;    ///< values in another dtype
};

}  // namespace

std::optional<int> least_opset(const Graph& g, const ir::Node& n, int from) {
  for (int opset = from; opset <= newest_opset(); ++opset)
    if (say(g, n, opset).why_not.empty()) return opset;
  return std::nullopt;
}

namespace {

/// The least opset that has the node, if only in a wider dtype.
std::optional<int> opset_to_try(const Graph& g, const ir::Node& n, int from) {
  if (n.op->name == "loop") return std::nullopt;
  for (int opset = from; opset <= newest_opset(); ++opset) {
    const Said said = say(g, n, opset);
    if (said.why_not.empty() || carrier(g, n, said, opset)) return opset;
  }
  return std::nullopt;
}

}  // namespace

Scans make_scans(Graph& g) {
  Scans scans;
  for (std::size_t r = 0; r < g.region_count(); ++r)
    for (const NodeId n : std::vector<NodeId>(g.region(static_cast<RegionId>(r)).nodes))
      if (g.node(n).op->name == "loop" && make_scan(g, n))
        scans.insert(static_cast<std::int32_t>(n));
  return scans;
}

void refuse(const Graph& g, NodeId n, const std::string& why_not, int opset) {
  const auto newer = opset_to_try(g, g.node(n), opset);
  const std::string way_out = newer ? fmt::format("; opset {} has it", *newer) : "";
  throw_error_at(newer ? Blame::caller : Blame::unsupported, ir::where(g, n),
                 fmt::format("opset {} cannot say it: {}{}", opset, why_not, way_out));
}

void make_sayable(Graph& g, const Scans& scans, int opset) { Rewriter(g, scans, opset).run(); }

bool can_be_said(const ir::OpDef& op) {
  return onnx_name(op.name) || has_row(op.name) || ops::meaning_as<ops::Composite>(op) != nullptr;
}

}  // namespace rondel::exporters
