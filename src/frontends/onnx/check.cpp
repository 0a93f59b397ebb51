#include "frontends/onnx/check.h"

#include "frontends/onnx/importer.h"
#include "frontends/onnx/microsoft/signatures.h"
#include "frontends/onnx/rules.h"
#include "frontends/onnx/user_ops.h"

#include <set>
#include <tuple>

namespace rondel::onnx {
namespace {

/// Calls `visit(node, opsets)` once for every node, nested graphs included.
template <class Visit> void each_node(const Nodes& nodes, const Opsets& opsets, Visit& visit) {
  for (const pb::NodeProto& n : nodes) {
    visit(n, opsets);
    for (const auto& a : n.attribute()) {
      if (a.has_g()) each_node(a.g().node(), opsets, visit);
      for (const auto& g : a.graphs()) each_node(g.node(), opsets, visit);
    }
  }
}

template <class Visit>
void each_node(const pb::ModelProto& model, const Opsets& opsets, Visit visit) {
  each_node(model.graph().node(), opsets, visit);
  for (const auto& f : model.functions()) {
    Opsets own;
    for (const auto& import : f.opset_import())
      own[normal_domain(import.domain())] = import.version();
    each_node(f.node(), own.empty() ? opsets : own, visit);
  }
}

class Support {
 public:
  Support() = default;
  explicit Support(const pb::ModelProto& model) {
    for (const auto& f : model.functions())
      local_.insert(function_key(f.domain(), f.name(), f.overload()));
  }

  bool has(const pb::NodeProto& n, const Opsets& opsets) {
    if (local_.contains(function_key(n.domain(), n.op_type(), n.overload()))) return true;
    const std::string domain = normal_domain(n.domain());
    if (ir::find_user_op(domain, n.op_type())) return true;
    const auto import = opsets.find(domain);
    return op(n.op_type(), domain,
              import == opsets.end() ? newest_version(domain) : import->second);
  }

  bool op(const std::string& name, const std::string& domain, std::int64_t version) {
    const auto [it, fresh] = known_.try_emplace({name, domain, version}, true);
    if (fresh) {
      const bool found = look(name, domain, version);
      known_[{name, domain, version}] = found;
      return found;
    }
    return it->second;
  }

 private:
  bool look(const std::string& name, const std::string& domain, std::int64_t version) {
    const pb::OpSchema* schema = find_readable_schema(name, version, domain);
    if (schema == nullptr) return false;
    const Rule* rule = find_rule(domain, name, schema->since_version());
    if (schema->Deprecated() && rule == nullptr) return false;
    if (rule != nullptr && !rule->needs.empty())
      return rule->needs == "-" || ir::find_op(rule->needs) != nullptr;
    if (native_op(name) != nullptr || function(*schema, version)) return true;
    const int now = newest_version(domain);
    const pb::OpSchema* latest = find_schema(name, now, domain);
    return latest != nullptr && !latest->Deprecated() && function(*latest, now);
  }

  /// Whether ONNX's schema has a function body for the op, whose ops are all supported. A body that
  /// depends on the node's types is assumed to be supported; the import checks it.
  bool function(const pb::OpSchema& schema, std::int64_t version) {
    if (const pb::FunctionProto* f = schema.GetFunction(static_cast<int>(version))) {
      Opsets opsets;
      for (const auto& i : f->opset_import()) opsets[normal_domain(i.domain())] = i.version();
      bool all = true;
      auto visit = [&](const pb::NodeProto& n, const Opsets& o) { all = all && has(n, o); };
      each_node(f->node(), opsets, visit);
      return all;
    }
    return schema.HasContextDependentFunction();
  }

  std::set<std::string> local_;
  std::map<std::tuple<std::string, std::string, std::int64_t>, bool> known_;
};

}  // namespace

std::map<std::string, std::int64_t> count_ops(const pb::ModelProto& model) {
  std::map<std::string, std::int64_t> counts;
  each_node(model, {}, [&](const pb::NodeProto& n, const Opsets&) {
    const std::string domain = normal_domain(n.domain());
    ++counts[domain.empty() ? n.op_type() : domain + "." + n.op_type()];
  });
  return counts;
}

std::vector<Finding> missing_ops(const pb::ModelProto& model) {
  Opsets opsets;
  for (const auto& i : model.opset_import()) opsets[normal_domain(i.domain())] = i.version();
  struct Missing {
    std::string first;
    std::int64_t times = 0;
  };
  std::map<std::tuple<std::string, std::string, std::int64_t>, Missing> missing;
  Support support(model);
  each_node(model, opsets, [&](const pb::NodeProto& n, const Opsets& o) {
    if (support.has(n, o)) return;
    const std::string domain = normal_domain(n.domain());
    const auto import = o.find(domain);
    Missing& m = missing[{domain, n.op_type(), import == o.end() ? 0 : import->second}];
    if (m.times++ == 0)
      m.first = !n.name().empty() ? n.name() : n.output_size() > 0 ? n.output(0) : n.op_type();
  });
  std::vector<Finding> findings;
  for (const auto& [key, m] : missing) {
    const auto& [domain, op, version] = key;
    findings.push_back(
        {Finding::Level::error, fmt::format("node '{}' ({})", m.first, op),
         fmt::format(
             "op {} of {}, version {}, is not supported; it occurs {} time{}{}", op,
             domain_text(domain), version, m.times, m.times == 1 ? "" : "s",
             is_onnx_domain(domain)
                 ? ""
                 : "; if it is an op of your own, register it "
                   "first (rondel.register_op, --ops FILE.py; in C++ rondel::register_op)")});
  }
  return findings;
}

bool is_supported(const std::string& op, const std::string& domain, std::int64_t version) {
  return Support().op(op, domain, version);
}

}  // namespace rondel::onnx
