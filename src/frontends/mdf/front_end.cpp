#include "frontends/mdf/front_end.h"

#include "base/error.h"
#include "frontends/mdf/lower.h"
#include "frontends/mdf/read_file.h"

namespace rondel::mdf {
namespace {

using frontends::Imported;
using frontends::ImportOptions;
using frontends::Source;
using frontends::Survey;

/// The number of calls of each MDF function in the model.
std::map<std::string, std::int64_t> count_functions(const Graph& g) {
  std::map<std::string, std::int64_t> counts;
  const auto count = [&](const std::string& function) {
    if (!function.empty()) ++counts["mdf." + function];
  };
  for (const Node& n : g.nodes) {
    for (const Function& f : n.functions) count(f.function);
    for (const Parameter& p : n.parameters) count(p.function);
  }
  return counts;
}

Imported imported(const ModelFile& model) {
  Imported out;
  out.graph = lower(model.graph, {}).graph;
  out.info.graph_name = model.graph.id;
  out.findings = model.findings;
  out.op_counts = count_functions(model.graph);
  return out;
}

Imported import(const Source& s, const ImportOptions&) { return imported(read(s)); }

Survey survey(const Source& s, const ImportOptions&) {
  const ModelFile model = read(s);
  Survey found;
  found.op_counts = count_functions(model.graph);
  found.findings = model.findings;
  try {
    found.imported = imported(model);
    const ir::Graph& graph = found.imported->graph;
    for (std::size_t k = 0; k < graph.input_names.size(); ++k)
      found.inputs.emplace_back(graph.input_names[k], graph.value(graph.root().params[k]).type);
    for (std::size_t k = 0; k < graph.output_names.size(); ++k)
      found.outputs.emplace_back(graph.output_names[k], graph.value(graph.root().results[k]).type);
  } catch (const Error& e) {
    found.findings.push_back({Finding::Level::error, model.graph.id, e.what()});
  }
  return found;
}

/// Whether this is a text with the word `graphs`, which every model has near its beginning.
bool begins_a_model(std::span<const std::byte> beginning) {
  const std::string_view text(reinterpret_cast<const char*>(beginning.data()), beginning.size());
  return text.find('\0') == std::string_view::npos && text.find("graphs") != std::string_view::npos;
}

}  // namespace

const frontends::FrontEnd& front_end() {
  static const frontends::FrontEnd row{
      .name = "mdf",
      .doc = "a model in ModECI's Model Description Format",
      .extensions = {".json", ".yaml", ".yml"},
      .recognises = begins_a_model,
      .import = import,
      .survey = survey,
  };
  return row;
}

}  // namespace rondel::mdf
