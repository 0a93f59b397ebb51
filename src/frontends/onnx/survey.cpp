// The survey of a model: the contents of the file, then the findings of the import.
#include "frontends/onnx/survey.h"

#include "formats/onnx/types.h"
#include "frontends/onnx/check.h"
#include "frontends/onnx/importer.h"

#include <algorithm>

namespace rondel::onnx {
namespace {

using Ports = google::protobuf::RepeatedPtrField<pb::ValueInfoProto>;

/// The declared type; kind none if there is none, or one that we do not support.
ir::Type declared(const pb::ValueInfoProto& v) {
  if (!declares_type(v.type())) return {};
  try {
    return type_of(v.type(), v.name());
  } catch (const Error&) { return {}; }
}

std::string typed(const pb::ValueInfoProto& v) {
  const ir::Type t = declared(v);
  return t.kind() == ir::Type::Kind::none ? v.name() : v.name() + ": " + ir::to_text(t);
}

/// Ports [from, to) as text. The list may be shorter than `to`, because nothing is checked yet.
std::vector<std::string> typed(const Ports& all, int from, int to) {
  std::vector<std::string> texts;
  for (int i = std::max(from, 0); i < std::min(to, all.size()); ++i) texts.push_back(typed(all[i]));
  return texts;
}

const pb::AttributeProto* attribute(const pb::NodeProto& n, std::string_view name) {
  for (const auto& a : n.attribute())
    if (a.name() == name) return &a;
  return nullptr;
}

FileLoop describe(const pb::NodeProto& n, const pb::GraphProto& body, int depth) {
  FileLoop loop;
  const std::string& name = !n.name().empty() || n.output_size() == 0 ? n.name() : n.output(0);
  loop.info.name = "node '" + name + "' (" + n.op_type() + ")";
  loop.info.source = n.op_type();
  loop.info.depth = depth;
  const int inputs = body.input_size(), outputs = body.output_size();
  if (n.op_type() == "Loop") {
    loop.has_trips = n.input_size() > 0 && !n.input(0).empty();
    loop.has_condition = n.input_size() > 1 && !n.input(1).empty();
    loop.info.states = typed(body.input(), 2, inputs);
    loop.info.stacks = typed(body.output(), inputs - 1, outputs);
    return loop;
  }
  const pb::AttributeProto* count = attribute(n, "num_scan_inputs");
  const auto scans = count == nullptr ? 0 : std::clamp<std::int64_t>(count->i(), 0, inputs);
  const int states = inputs - static_cast<int>(scans);
  loop.info.states = typed(body.input(), 0, states);
  loop.info.scans = typed(body.input(), states, inputs);
  loop.info.stacks = typed(body.output(), states, outputs);
  return loop;
}

void find_loops(const Nodes& nodes, int depth, std::vector<FileLoop>& found) {
  for (const pb::NodeProto& n : nodes) {
    const bool loop = normal_domain(n.domain()).empty() &&
                      (n.op_type() == "Loop" || n.op_type() == "Scan");
    const pb::AttributeProto* body = loop ? attribute(n, "body") : nullptr;
    if (body != nullptr) found.push_back(describe(n, body->g(), depth));
    for (const auto& a : n.attribute()) {
      if (a.has_g()) find_loops(a.g().node(), depth + 1, found);
      for (const auto& g : a.graphs()) find_loops(g.node(), depth + 1, found);
    }
  }
}

Survey contents(const pb::ModelProto& model) {
  Survey s;
  for (const auto& v : model.graph().input()) s.inputs.emplace_back(v.name(), declared(v));
  for (const auto& v : model.graph().output()) s.outputs.emplace_back(v.name(), declared(v));
  for (const auto& i : model.opset_import())
    s.opsets[domain_text(normal_domain(i.domain()))] = i.version();
  s.op_counts = count_ops(model);
  find_loops(model.graph().node(), 0, s.loops);
  for (const auto& f : model.functions()) find_loops(f.node(), 0, s.loops);
  return s;
}

/// The missing ops; empty if the opsets are not known, which the import reports.
std::vector<Finding> missing(const pb::ModelProto& model) {
  try {
    read_opsets(model.opset_import(), "the model");
  } catch (const Error&) { return {}; }
  return missing_ops(model);
}

}  // namespace

Survey survey(const std::shared_ptr<pb::ModelProto>& model, DataFolder folder,
              const ImportOptions& options) {
  Survey s = contents(*model);
  s.findings = missing(*model);
  const bool ops_missing = !s.findings.empty();
  try {
    Imported imported = Importer(model, std::move(folder), options).run();
    s.findings.insert(s.findings.end(), imported.findings.begin(), imported.findings.end());
    if (!ops_missing) s.imported = std::move(imported);
  } catch (const Error& e) {
    // A missing op also ends the import; it has been reported above.
    if (!ops_missing)
      s.findings.push_back({Finding::Level::error, model->graph().name(), e.what()});
  }
  return s;
}

}  // namespace rondel::onnx
