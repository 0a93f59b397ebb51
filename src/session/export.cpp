#include "exporters/onnx/export.h"

#include "frontends/onnx/import.h"
#include "passes/pipeline.h"
#include "session/from_graph.h"
#include "session/options.h"
#include "session/plan_builder.h"

#include <rondel/exporter.h>

namespace rondel {
namespace {

/// The graph as it is compiled.
ir::Graph compiled(ir::Graph g, const SessionOptions& o) {
  passes::PassOptions how;
  how.contract = !o.strict;
  how.evaluate = session::make_evaluator();
  passes::run(passes::normalise(), g, how, false);
  return g;
}

ir::Graph to_write(onnx::Imported& imported, const ExportOptions& o) {
  return o.compiled ? compiled(std::move(imported.graph), o.reading) : std::move(imported.graph);
}

}  // namespace

ExportReport export_model(const std::filesystem::path& model, const std::filesystem::path& to,
                          const ExportOptions& o) {
  onnx::Imported imported = onnx::import_file(model, session::import_options(o.reading));
  return exporters::to_file(to_write(imported, o), imported.info, to, o);
}

ExportReport export_model(std::span<const std::byte> model, const std::filesystem::path& to,
                          const ExportOptions& o) {
  onnx::Imported imported = onnx::import_bytes(model, session::import_options(o.reading));
  return exporters::to_file(to_write(imported, o), imported.info, to, o);
}

ExportReport export_model(const Session& s, const std::filesystem::path& to,
                          const ExportOptions& o) {
  return exporters::to_file(session::FromGraph::of(s, o.compiled), s.info(), to, o);
}

ExportedModel export_model(const std::filesystem::path& model, const ExportOptions& o) {
  onnx::Imported imported = onnx::import_file(model, session::import_options(o.reading));
  return exporters::to_bytes(to_write(imported, o), imported.info, o);
}

ExportedModel export_model(std::span<const std::byte> model, const ExportOptions& o) {
  onnx::Imported imported = onnx::import_bytes(model, session::import_options(o.reading));
  return exporters::to_bytes(to_write(imported, o), imported.info, o);
}

ExportedModel export_model(const Session& s, const ExportOptions& o) {
  return exporters::to_bytes(session::FromGraph::of(s, o.compiled), s.info(), o);
}

}  // namespace rondel
