#include "exporters/onnx/model.h"

#include "base/error.h"
#include "exporters/onnx/assertions.h"
#include "exporters/onnx/encode_node.h"
#include "exporters/onnx/ir_version.h"
#include "exporters/onnx/legalize.h"
#include "exporters/onnx/liveness.h"
#include "exporters/onnx/loops.h"
#include "exporters/onnx/names.h"
#include "exporters/onnx/opsets.h"
#include "exporters/onnx/promote_containers.h"
#include "exporters/onnx/strict_slices.h"
#include "exporters/onnx/unranked_ports.h"
#include "formats/onnx/protos.h"
#include "formats/onnx/types.h"
#include "ir/infer.h"
#include "ir/user_op.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

namespace rondel::exporters {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;

bool is_constant(const ir::Node& n) { return n.op->name == "constant"; }

/// Removes dead nodes, including nodes without outputs, which ONNX does not have.
void drop_unread(Graph& g) {
  const LiveValues live(g);
  for (std::size_t r = 0; r < g.region_count(); ++r)
    g.erase_nodes(static_cast<RegionId>(r), [&](NodeId n) { return !live(g.node(n)); });
}

/// Writes a graph in which every node is one node of ONNX.
class Writer {
 public:
  Writer(const Graph& g, const Scans& scans, int opset)
      : g_(g), scans_(scans), opset_(opset), live_values_(g), node_names_(g, live_values_),
        dimensions_(g) {
    named_.resize(g_.value_count());
  }

  Model write(const ModelInfo& info) {
    header(info);
    pb::GraphProto& out = *model_.proto.mutable_graph();
    out.set_name(g_.name);
    out.set_doc_string(info.graph_description);
    name_ports();
    inputs(out);
    nodes(RegionId::root, out);
    outputs(out);
    int ir = ir_version(opset_);
    for (const Tensor& t : model_.initializers) ir = std::max(ir, ir_version(t.dtype()));
    model_.proto.set_ir_version(ir);
    model_.report.opset = opset_;
    model_.report.ir_version = ir;
    return std::move(model_);
  }

 private:
  void header(const ModelInfo& info) {
    pb::ModelProto& m = model_.proto;
    m.set_producer_name("rondel");
    m.set_producer_version(RONDEL_VERSION);
    m.set_domain(info.domain);
    m.set_doc_string(info.description);
    m.set_model_version(info.version);
    for (const auto& [key, value] : info.custom_metadata) {
      auto* entry = m.add_metadata_props();
      entry->set_key(key);
      entry->set_value(value);
    }
    import_opset("", opset_);
  }

  void import_opset(const std::string& domain, int version) {
    auto* opset = model_.proto.add_opset_import();
    opset->set_domain(domain);
    opset->set_version(version);
    imported_.insert(domain);
  }

  /// Names inputs and outputs first, so that no other value takes their names. An output may be
  /// listed twice: the first value of the name is written for both.
  void name_ports() {
    const ir::Region& root = g_.root();
    for (const std::string& name : g_.input_names) names_.reserve(name);
    for (const std::string& name : g_.output_names) names_.reserve(name);
    for (std::size_t i = 0; i < root.params.size(); ++i)
      named_[ir::index(root.params[i])] = g_.input_names[i];
    std::unordered_set<std::string> listed;
    for (std::size_t j = 0; j < root.results.size(); ++j) {
      const ValueId v = root.results[j];
      if (!listed.insert(g_.output_names[j]).second) continue;
      if (made_by_node(v, RegionId::root) && named_[ir::index(v)].empty())
        named_[ir::index(v)] = g_.output_names[j];
    }
  }

  bool made_by_node(ValueId v, RegionId r) const {
    const ir::ValueInfo& value = g_.value(v);
    return value.region == r && value.producer != NodeId::none &&
           !is_constant(g_.node(value.producer));
  }

  bool is_param(ValueId v, RegionId r) const {
    return g_.value(v).region == r && g_.value(v).producer == NodeId::none;
  }

  const std::string& name(ValueId v) {
    std::string& given = named_[ir::index(v)];
    if (!given.empty()) return given;
    const ir::ValueInfo& value = g_.value(v);
    std::string wanted = value.name;
    if (wanted.empty())
      wanted = value.producer == NodeId::none ? "x" : std::string(g_.node(value.producer).op->name);
    return given = names_.unique(wanted);
  }

  void declare(pb::ValueInfoProto& out, const std::string& name_, const ir::Type& type) {
    out.set_name(name_);
    *out.mutable_type() = onnx::type_proto(type);
  }

  void inputs(pb::GraphProto& out) {
    for (const ValueId v : g_.root().params) {
      declare(*out.add_input(), name(v), g_.value(v).type);
      if (const auto given = g_.defaults.find(v); given != g_.defaults.end())
        initializer(name(v), given->second);
    }
  }

  void initializer(const std::string& name_, const Tensor& t) {
    pb::TensorProto* out = model_.proto.mutable_graph()->add_initializer();
    *out = onnx::tensor_header(t);
    out->set_name(name_);
    model_.initializers.push_back(t);
  }

  void outputs(pb::GraphProto& out) {
    std::unordered_set<std::string> written;
    for (std::size_t j = 0; j < g_.root().results.size(); ++j) {
      const ValueId v = g_.root().results[j];
      const std::string& wanted = g_.output_names[j];
      if (written.insert(wanted).second && name(v) != wanted) copy(out, v, wanted);
      const ir::Type& actual = g_.value(v).type;
      const bool declared = j < g_.declared_outputs.size() &&
                            g_.declared_outputs[j].kind() == actual.kind() &&
                            (g_.declared_outputs[j].has_rank() || !actual.has_rank());
      declare(*out.add_output(), wanted, declared ? g_.declared_outputs[j] : actual);
    }
  }

  void copy(pb::GraphProto& out, ValueId from, const std::string& to) {
    const ir::Type& type = g_.value(from).type;
    if (!can_copy(type, opset_))
      refuse(fmt::format("'{}'", to),
             fmt::format("its Identity does not take {}", ir::to_text(type)), opset_,
             least_opset_to_copy(type, opset_));
    pb::NodeProto& n = *out.add_node();
    n.set_op_type("Identity");
    n.add_input(name(from));
    n.add_output(to);
    ++model_.report.op_counts["Identity"];
  }

  void nodes(RegionId r, pb::GraphProto& out) {
    for (const NodeId n : g_.region(r).nodes) {
      const ir::Node& node = g_.node(n);
      if (!live_values_(node)) continue;
      // All constants are initializers of the model; bodies capture them.
      if (is_constant(node)) initializer(name(node.outputs[0]), node.attributes.tensor("value"));
      else write_node(n, out);
    }
  }

  void write_node(NodeId id, pb::GraphProto& out) {
    const ir::Node& n = g_.node(id);
    const bool loop = n.is_loop(), scan = scans_.contains(static_cast<std::int32_t>(id));
    const EncodedNode encoded = loop ? encode_loop(g_, n, scan, opset_)
                                     : encode_node(g_, n, opset_);
    if (!encoded.why_not.empty()) refuse(g_, id, encoded.why_not, opset_);
    if (!imported_.contains(encoded.domain))
      import_opset(encoded.domain, ir::user_op(*n.op) != nullptr
                                       ? static_cast<int>(n.attributes.i(ir::imported_version, 1))
                                       : onnx::newest_version(encoded.domain));
    pb::NodeProto& node = *out.add_node();
    node.set_op_type(encoded.op);
    node.set_domain(encoded.domain);
    if (const std::string given = node_names_.of(id); !given.empty()) node.set_name(given);
    for (const ValueId v : encoded.inputs) node.add_input(v == ValueId::none ? "" : name(v));
    for (const auto& [key, value] : encoded.attributes) {
      *node.add_attribute() = attribute(key, value, encoded);
      note_rounding(id, key, value);
    }
    if (loop) body(n, scan, node);
    else branches(n, node);
    name_outputs(n, encoded, node);
    ++model_.report
          .op_counts[encoded.domain.empty() ? encoded.op : encoded.domain + "." + encoded.op];
  }

  static pb::AttributeProto attribute(const std::string& key, const ir::Attribute& value,
                                      const EncodedNode& encoded) {
    const auto* whole = std::get_if<std::int64_t>(&value);
    const bool as_float = whole != nullptr && encoded.schema != nullptr &&
                          encoded.schema->attributes().at(key).type == pb::AttributeProto::FLOAT;
    return onnx::attribute_proto(key,
                                 as_float ? ir::Attribute(static_cast<double>(*whole)) : value);
  }

  /// Notes that an attribute was rounded: ONNX's attributes are f32, and f64 arithmetic shows the
  /// difference.
  void note_rounding(NodeId id, const std::string& key, const ir::Attribute& value) {
    const auto* x = std::get_if<double>(&value);
    const bool f64 = std::ranges::any_of(g_.node(id).inputs, [&](ValueId v) {
      return v != ValueId::none && g_.value(v).type.kind() != ir::Type::Kind::none &&
             g_.value(v).type.dtype() == DType::f64;
    });
    if (x == nullptr || !f64 || std::isnan(*x)) return;
    if (const auto rounded = static_cast<double>(static_cast<float>(*x)); rounded != *x)
      model_.report.notes.push_back(
          fmt::format("{}: {} = {} is written as {}: ONNX's attributes are f32", ir::where(g_, id),
                      key, *x, rounded));
  }

  /// Leaves out unread optional outputs. Other unread outputs get a name: the number of outputs may
  /// determine them (Split), and loops and branches have an output for each result of their bodies.
  void name_outputs(const ir::Node& n, const EncodedNode& encoded, pb::NodeProto& node) {
    std::vector<ValueId> outputs = n.outputs;
    if (n.is_loop()) outputs.pop_back();
    if (encoded.schema == nullptr) return name_user_outputs(n, node);
    const auto& formals = encoded.schema->outputs();
    const auto optional = [&](std::size_t k) {
      return formals[std::min(k, formals.size() - 1)].GetOption() == pb::OpSchema::Optional;
    };
    while (!outputs.empty() && !live_values_(outputs.back()) && optional(outputs.size() - 1))
      outputs.pop_back();
    for (std::size_t k = 0; k < outputs.size(); ++k)
      node.add_output(live_values_(outputs[k]) ? name(outputs[k])
                                               : (optional(k) ? "" : names_.unique("unused")));
  }

  /// The number of outputs is part of what the op is called with.
  void name_user_outputs(const ir::Node& n, pb::NodeProto& node) {
    for (const ValueId v : n.outputs) {
      const bool exists = v != ValueId::none;
      node.add_output(exists && live_values_(v) ? name(v) : exists ? names_.unique("unused") : "");
    }
  }

  void body(const ir::Node& n, bool scan, pb::NodeProto& node) {
    const ir::Region& r = g_.region(n.regions[0]);
    pb::GraphProto& out = graph_attribute(node, "body", n);
    for (std::size_t k = scan ? 2 : 0; k < r.params.size(); ++k)
      declare(*out.add_input(), name(r.params[k]), g_.value(r.params[k]).type);
    nodes(n.regions[0], out);
    results(n.regions[0], scan ? 1 : 0, out);
    if (!scan) declare_invariant_shapes(n, out);
    declare_items(n, scan ? 0 : 1, out);
  }

  /// Declares the types of items with the source model's declarations, if these say more than the
  /// inferred types. Without a trip, the declared type decides the type of the stack.
  void declare_items(const ir::Node& n, std::size_t before_states, pb::GraphProto& body) {
    const ir::LoopParts parts(n);
    for (std::size_t k = 0; k < parts.stacks; ++k) {
      const std::size_t at = parts.states + k;
      const ir::Type& inferred = g_.value(g_.region(parts.body).results[1 + at]).type;
      *body.mutable_output(static_cast<int>(before_states + at))->mutable_type() = onnx::type_proto(
          ir::completed(inferred, parts.declared[k]));
    }
  }

  /// The states of an ONNX Loop may change their shapes. A state that keeps its shape is declared
  /// with the same type at the body's input and output, with names for unknown extents.
  void declare_invariant_shapes(const ir::Node& n, pb::GraphProto& body) {
    const ir::LoopParts parts(n);
    const ir::Region& r = g_.region(parts.body);
    for (std::size_t s = 0; s < parts.states; ++s) {
      const ir::Type &first = g_.value(n.inputs[parts.states_at() + s]).type,
                     &next = g_.value(r.results[1 + s]).type;
      const bool kept = parts.fixed[s] != 0 || parts.keeps[s] != 0;
      if (!kept || !first.is_tensor() || !first.has_rank() || !ir::fits(next, first)) continue;
      const pb::TypeProto type = onnx::type_proto(dimensions_.named(first, name(r.params[2 + s])));
      *body.mutable_input(static_cast<int>(2 + s))->mutable_type() = type;
      *body.mutable_output(static_cast<int>(1 + s))->mutable_type() = type;
    }
  }

  void branches(const ir::Node& n, pb::NodeProto& node) {
    static constexpr const char* names[] = {"then_branch", "else_branch"};
    for (std::size_t b = 0; b < n.regions.size(); ++b) {
      pb::GraphProto& out = graph_attribute(node, names[b], n);
      nodes(n.regions[b], out);
      results(n.regions[b], 0, out);
    }
  }

  pb::GraphProto& graph_attribute(pb::NodeProto& node, const char* key, const ir::Node& n) {
    pb::AttributeProto& a = *node.add_attribute();
    a.set_name(key);
    a.set_type(pb::AttributeProto::GRAPH);
    const std::string owner = name_in_file(n);
    a.mutable_g()->set_name(graph_names_.unique(owner.empty() ? key : owner + "/" + key));
    return *a.mutable_g();
  }

  /// The results of a body must be computed in it and have distinct names; other results are copied
  /// by Identity. A parameter that Identity does not take is returned under its own name.
  void results(RegionId r, std::size_t first, pb::GraphProto& out) {
    std::unordered_set<std::int32_t> given;
    const auto& all = g_.region(r).results;
    for (std::size_t k = first; k < all.size(); ++k) {
      const bool here = made_by_node(all[k], r) ||
                        (is_param(all[k], r) && !can_copy(g_.value(all[k]).type, opset_));
      const bool own = here && given.insert(static_cast<std::int32_t>(all[k])).second;
      std::string given_name = name(all[k]);
      if (!own) {
        given_name = names_.unique(given_name);
        copy(out, all[k], given_name);
      }
      declare(*out.add_output(), given_name, g_.value(all[k]).type);
    }
  }

  const Graph& g_;
  const Scans& scans_;
  int opset_;
  LiveValues live_values_;
  Model model_;
  Names names_, graph_names_;
  NodeNames node_names_;
  Dimensions dimensions_;
  std::vector<std::string> named_;  ///< by ValueId
  std::unordered_set<std::string> imported_;
};

/// Reports why each loop is not a Scan, in the graph's order. Must run before the loops are
/// converted.
void report_loops(const Graph& g, RegionId r, std::vector<ExportReport::Loop>& out) {
  for (const NodeId n : g.region(r).nodes) {
    const ir::Node& node = g.node(n);
    if (node.is_loop()) {
      const std::string reason = why_not_scan(g, node);
      out.push_back({name_in_file(node), reason.empty() ? "Scan" : "Loop", reason});
    }
    for (const RegionId inner : node.regions) report_loops(g, inner, out);
  }
}

/// The newest opset that released runtimes read (ONNX Runtime 1.31). What only newer ones have is
/// rather rewritten.
constexpr int newest_common_opset = 26;

/// The oldest opset from `opset` on that has every op on tensors without a rewrite. Ops that no
/// common opset has are ignored.
int opset_for(const Graph& g, RegionId r, int opset) {
  const auto is_tensor = [&](ValueId v) {
    return v == ValueId::none || g.value(v).type.is_tensor();
  };
  for (const NodeId n : g.region(r).nodes) {
    const ir::Node& node = g.node(n);
    const bool tensors = std::ranges::all_of(node.inputs, is_tensor) &&
                         std::ranges::all_of(node.outputs, is_tensor);
    if (tensors && !node.is_loop() && !is_constant(node)) {
      const int least = least_opset(g, node, opset).value_or(opset);
      if (least <= newest_common_opset) opset = std::max(opset, least);
    }
    for (const RegionId inner : node.regions) opset = opset_for(g, inner, opset);
  }
  return opset;
}

/// Writes the model in the oldest opset from `opset` on that can express the graph; if `fixed`, in
/// `opset` only.
Model write_in_least_opset(const Graph& g, const Scans& scans, const ModelInfo& info, int opset,
                           bool fixed) {
  for (;; ++opset) {
    try {
      Graph legal = g;
      const std::vector<std::string> notes = wrap_unranked_ports(legal, opset);
      promote_containers(legal, opset);
      legalize(legal, scans, opset);
      Model m = Writer(legal, scans, opset).write(info);
      m.report.notes.insert(m.report.notes.begin(), notes.begin(), notes.end());
      return m;
    } catch (const Error& e) {
      if (fixed || opset == newest_opset() || e.blame() == Blame::internal) throw;
    }
  }
}

}  // namespace

Model to_model(ir::Graph g, const ModelInfo& info, const ExportOptions& options) {
  const std::optional<int> wanted = options.opset;
  require(!wanted || (*wanted >= oldest_opset && *wanted <= newest_opset()),
          "there is no way to opset {}; those that can be written are {} to {}", wanted.value_or(0),
          oldest_opset, newest_opset());
  const int first = options.least_opset.value_or(usual_opset);
  require(first >= oldest_opset && first <= newest_opset(), "least_opset is {}; expected {} to {}",
          first, oldest_opset, newest_opset());
  require(options.least_ir_version.value_or(0) <= pb::IR_VERSION,
          "there is no IR version {}; the newest one is {}", options.least_ir_version.value_or(0),
          static_cast<int>(pb::IR_VERSION));
  const std::vector<std::string> notes = options.assertions
                                             ? lower_assertions(g, wanted.value_or(first))
                                             : report_dropped_assertions(g);
  lower_strict_slices(g);
  drop_unread(g);
  name_loops(g);
  reshape_control_inputs_to_scalars(g);
  std::vector<ExportReport::Loop> loops;
  report_loops(g, RegionId::root, loops);
  const Scans scans = convert_scans(g);
  drop_unread(g);
  const int least = wanted ? *wanted : opset_for(g, RegionId::root, first);
  Model model = write_in_least_opset(g, scans, info, least, wanted.has_value());
  model.report.ir_version = std::max(model.report.ir_version, options.least_ir_version.value_or(0));
  model.proto.set_ir_version(model.report.ir_version);
  model.report.loops = std::move(loops);
  model.report.notes.insert(model.report.notes.begin(), notes.begin(), notes.end());
  const int opset = model.report.opset;
  if (!wanted && opset > first)
    model.report.notes.push_back(fmt::format(
        "opset {} rather than the usual {}, which has not all ops and types of the model", opset,
        first));
  return model;
}

void embed(Model& m) {
  for (std::size_t k = 0; k < m.initializers.size(); ++k) {
    pb::TensorProto& t = *m.proto.mutable_graph()->mutable_initializer(static_cast<int>(k));
    const std::string name = t.name();
    t = onnx::tensor_proto(m.initializers[k]);
    t.set_name(name);
  }
}

}  // namespace rondel::exporters
