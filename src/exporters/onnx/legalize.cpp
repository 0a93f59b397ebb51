#include "exporters/onnx/legalize.h"

#include "base/error.h"
#include "exporters/onnx/decompositions.h"
#include "exporters/onnx/encode_node.h"
#include "exporters/onnx/flattened_softmax.h"
#include "exporters/onnx/interoperability.h"
#include "exporters/onnx/loops.h"
#include "exporters/onnx/opsets.h"
#include "exporters/onnx/promotion.h"
#include "formats/onnx/schemas.h"
#include "ir/builder.h"
#include "ir/infer.h"
#include "ir/user_op.h"
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

constexpr int first_softmax_along_axis = 13;

/// The dtype substitution after which the opset's op takes a node, and how results are narrowed.
struct Promotion {
  DtypeSubstitution substitution;
  Narrowing how;
};

std::optional<Promotion> find_promotion(const Graph& g, const ir::Node& n,
                                        const EncodedNode& encoded, int opset) {
  if (!encoded.unsupported_dtype) return std::nullopt;
  const DType narrow = *encoded.unsupported_dtype;
  const Narrowing how = narrowing_of(n, narrow);
  if (how == Narrowing::none) return std::nullopt;
  for (const DType wide : promoted_dtypes(narrow, how)) {
    const DtypeSubstitution substitution{narrow, wide};
    const EncodedNode then = encode_node(g, n, opset, substitution);
    // Accepts a partial solution: another dtype that the op does not take is promoted afterwards.
    const bool better = then.why_not.empty() ||
                        (then.unsupported_dtype && *then.unsupported_dtype != narrow &&
                         *then.unsupported_dtype != wide);
    if (better && can_cast(substitution, opset)) return Promotion{substitution, how};
  }
  return std::nullopt;
}

/// Legalizes a region and the regions inside it.
class Legalizer {
 public:
  Legalizer(Graph& g, const Scans& scans, int opset) : g_(g), scans_(scans), opset_(opset) {}
  void run() { region(RegionId::root); }

 private:
  void region(RegionId r) {
    NodeId legal = NodeId::none;  // the last node of the legal prefix
    const auto next = [&] {
      if (legal != NodeId::none) return g_.next(legal);
      return g_.region(r).nodes.empty() ? NodeId::none : g_.region(r).nodes.front();
    };
    for (NodeId n = next(); n != NodeId::none; n = next()) {
      if (!legalize_node(n)) continue;
      for (const RegionId inner : g_.node(n).regions) region(inner);
      legal = n;
    }
  }

  /// Returns true if the node is legal or cannot be replaced; false if nodes were inserted before
  /// it or replaced it.
  bool legalize_node(NodeId n) {
    const std::string_view op = g_.node(n).op->name;
    if (op == "constant" || ir::user_op(*g_.node(n).op) != nullptr) return true;
    if (op == "loop") return is_scan(n) || !convert_to_loop(g_, n);
    if (op == "reshape" && opset_ < first_softmax_along_axis && join_flattened_softmax(g_, n))
      return false;
    if (make_interoperable(g_, n, opset_)) return false;
    const EncodedNode encoded = encode_node(g_, g_.node(n), opset_);
    return encoded.why_not.empty() || !(promote(n, encoded) || decompose_node(n));
  }

  bool is_scan(NodeId n) const { return scans_.contains(static_cast<std::int32_t>(n)); }

  /// Replaces the node by the same op in a wider dtype.
  bool promote(NodeId n, const EncodedNode& encoded) {
    const auto by = find_promotion(g_, g_.node(n), encoded, opset_);
    if (by) promote_to(n, by->substitution, by->how);
    return by.has_value();
  }

  void promote_to(NodeId n, const DtypeSubstitution& e, Narrowing how) {
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
      const ValueId now = has_dtype(old, e.from) ? narrow_result(b, results[j], e, how)
                                                 : results[j];
      g_.value(now).name = g_.value(old).name;
      g_.replace_uses(old, now);
    }
    g_.erase_node(n);
  }

  bool has_dtype(ValueId v, DType t) const {
    return v != ValueId::none && g_.value(v).type.is_tensor() && g_.value(v).type.dtype() == t;
  }

  /// The value in a wider dtype. It is cast once, where it is produced, for all readers.
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

  ValueId narrow_result(ir::Builder& b, ValueId x, const DtypeSubstitution& e, Narrowing how) {
    const ValueId whole = how == Narrowing::saturated ? saturate(b, x, e) : x;
    const ValueId y = b("cast", {whole}, narrowing_cast(e.from));
    if (how == Narrowing::exact) wide_[{y, e.to}] = x;
    return y;
  }

  static ValueId saturate(ir::Builder& b, ValueId x, const DtypeSubstitution& e) {
    const int bits = file_bits(e.from) - (is_unsigned_integer(e.from) ? 0 : 1);
    const double most = static_cast<double>((std::int64_t{1} << bits) - 1);
    return b("clip", {x, b.scalar(e.to, is_unsigned_integer(e.from) ? 0 : -most - 1),
                      b.scalar(e.to, most)});
  }

  bool decompose_node(NodeId n) {
    // A decomposition may contain its own op again, but only as a legal node.
    const ir::Node node = g_.node(n);
    std::set<std::string_view> within = expanded_from_[n];
    if (!within.insert(node.op->name).second) return false;
    // Cast is defined by the two ops that are written as Cast: what it does not take is its limit.
    if (node.op->name == "cast" && (within.contains("convert") || within.contains("convert_text")))
      return false;
    ir::Builder b(g_, node.region);
    b.source(node.source);
    b.insert_before(n);
    const std::size_t before = g_.node_count();
    const Values results = decompose(b, node);
    if (results.empty()) return false;
    for (std::size_t made = before; made < g_.node_count(); ++made)
      expanded_from_[static_cast<NodeId>(made)] = within;
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
  std::map<NodeId, std::set<std::string_view>>
      expanded_from_;                                  ///< the ops that a node was decomposed from
  std::map<std::pair<ValueId, DType>, ValueId> wide_;  ///< values that were cast
};

/// The oldest opset from `from` on that fits.
template <typename Predicate> std::optional<int> oldest_that(const Predicate& fits, int from) {
  for (int opset = from; opset <= newest_opset(); ++opset)
    if (fits(opset)) return opset;
  return std::nullopt;
}

/// The oldest opset from `from` on that has the node, in its own or in a wider dtype.
std::optional<int> opset_to_try(const Graph& g, const ir::Node& n, int from) {
  if (n.is_loop()) return std::nullopt;
  const auto can_write = [&](int opset) {
    const EncodedNode encoded = encode_node(g, n, opset);
    return encoded.why_not.empty() || find_promotion(g, n, encoded, opset).has_value();
  };
  return oldest_that(can_write, from);
}

}  // namespace

std::optional<int> least_opset(const Graph& g, const ir::Node& n, int from) {
  return oldest_that([&](int opset) { return encode_node(g, n, opset).why_not.empty(); }, from);
}

std::optional<int> least_opset_to_copy(const ir::Type& t, int from) {
  return oldest_that([&](int opset) { return can_copy(t, opset); }, from);
}

Scans convert_scans(Graph& g) {
  Scans scans;
  for (std::size_t r = 0; r < g.region_count(); ++r)
    for (const NodeId n : std::vector<NodeId>(g.region(static_cast<RegionId>(r)).nodes))
      if (g.node(n).is_loop() && convert_to_scan(g, n)) scans.insert(static_cast<std::int32_t>(n));
  return scans;
}

void refuse(const Graph& g, NodeId n, const std::string& why_not, int opset) {
  refuse(ir::where(g, n), why_not, opset, opset_to_try(g, g.node(n), opset));
}

void refuse(std::string what, const std::string& why_not, int opset, std::optional<int> newer) {
  const std::string way_out = newer ? fmt::format("; opset {} has it", *newer) : "";
  throw_error_at(newer ? Blame::caller : Blame::unsupported, std::move(what),
                 fmt::format("opset {} cannot express it: {}{}", opset, why_not, way_out));
}

void legalize(Graph& g, const Scans& scans, int opset) { Legalizer(g, scans, opset).run(); }

bool can_be_exported(const ir::OpDef& op) {
  return onnx_name(op.name) || has_decomposition(op.name) ||
         ops::meaning_as<ops::Composite>(op) != nullptr;
}

}  // namespace rondel::exporters
