#include "exporters/onnx/export.h"

#include "base/text.h"
#include "compile/plan_builder.h"
#include "passes/simplify_scans.h"
#include "session/export_source.h"
#include "session/from_graph.h"
#include "session/front_ends.h"
#include "session/options.h"

#include <rondel/exporter.h>

#include <algorithm>

namespace rondel {

namespace session {
namespace {

std::string unused_name(const std::vector<std::string>& names, const std::string& wanted) {
  const auto is_used = [&](const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  std::string name = wanted;
  for (int k = 1; is_used(name); ++k) name = fmt::format("{}_{}", wanted, k);
  return name;
}

}  // namespace

ExportSource with_seed(ir::Graph g) {
  const ir::ValueId seed = g.input(ir::InputRole::seed);
  if (seed == ir::ValueId::none) return {std::move(g)};
  g.roles.erase(seed);
  g.defaults[seed] = Tensor::scalar<std::uint64_t>(0);
  g.input_names.resize(g.root().params.size());  // a graph without other inputs has no names
  std::string& name = g.input_names[static_cast<std::size_t>(g.value(seed).position)];
  name.clear();
  std::vector<std::string> others = g.input_names;
  others.insert(others.end(), g.output_names.begin(), g.output_names.end());
  name = unused_name(others, "seed");
  std::string note = fmt::format(
      "random draws are written out in standard arithmetic: the same numbers come for a seed as in "
      "a session; it is the input '{}', and 0 where that is left out",
      name);
  return {std::move(g), std::move(note)};
}

ExportedModel to_bytes(const ExportSource& w, const ModelInfo& info, const ExportOptions& o) {
  ExportedModel m = exporters::to_bytes(w.graph, info, o);
  if (!w.note.empty()) m.report.notes.push_back(w.note);
  return m;
}

}  // namespace session

namespace {

using session::ExportSource;
using session::to_bytes;
using session::with_seed;

/// The graph as it was read, except that loops that end with their scans lose their trip counts.
ExportSource as_read(ir::Graph g) {
  passes::simplify_scans(g);
  return with_seed(std::move(g));
}

ExportSource to_write(frontends::Imported& imported, const ExportOptions& o) {
  session::report_warnings(o.reading, imported.findings);
  return o.compiled ? with_seed(compile::optimize_graph(std::move(imported.graph), o.reading))
                    : as_read(std::move(imported.graph));
}

ExportSource to_write(const Session& s, const ExportOptions& o) {
  const ir::Graph& imported = session::FromGraph::of(s, false);
  return o.compiled ? with_seed(compile::optimize_graph(imported, session::FromGraph::options(s)))
                    : as_read(imported);
}

ExportReport to_file(const ExportSource& w, const ModelInfo& info, const std::filesystem::path& to,
                     const ExportOptions& o) {
  ExportReport report = exporters::to_file(w.graph, info, to, o);
  if (!w.note.empty()) report.notes.push_back(w.note);
  return report;
}

}  // namespace

ExportReport export_model(const std::filesystem::path& model, const std::filesystem::path& to,
                          const ExportOptions& o) {
  frontends::Imported imported = session::read_model(model, o.reading);
  return to_file(to_write(imported, o), imported.info, to, o);
}

ExportReport export_model(std::span<const std::byte> model, const std::filesystem::path& to,
                          const ExportOptions& o) {
  frontends::Imported imported = session::read_model(model, o.reading);
  return to_file(to_write(imported, o), imported.info, to, o);
}

ExportReport export_model(const Session& s, const std::filesystem::path& to,
                          const ExportOptions& o) {
  return to_file(to_write(s, o), s.info(), to, o);
}

ExportedModel export_model(const std::filesystem::path& model, const ExportOptions& o) {
  frontends::Imported imported = session::read_model(model, o.reading);
  return to_bytes(to_write(imported, o), imported.info, o);
}

ExportedModel export_model(std::span<const std::byte> model, const ExportOptions& o) {
  frontends::Imported imported = session::read_model(model, o.reading);
  return to_bytes(to_write(imported, o), imported.info, o);
}

ExportedModel export_model(const Session& s, const ExportOptions& o) {
  return to_bytes(to_write(s, o), s.info(), o);
}

}  // namespace rondel
