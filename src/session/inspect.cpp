#include "base/error.h"
#include "frontends/onnx/import.h"
#include "ir/graph.h"
#include "session/ports.h"

#include <rondel/session.h>

#include <algorithm>

namespace rondel {
namespace {

std::string typed(const ir::Graph& g, ir::ValueId v) {
  const ir::ValueInfo& info = g.value(v);
  return (info.name.empty() ? "(unnamed)" : info.name) + ": " + to_text(info.type);
}

/// What ends a loop, in words.
std::string bound_of(const ir::Graph& g, const ir::Node& node, const ir::LoopParts& parts) {
  std::string text;
  if (parts.has_trips) {
    const Tensor* trips = g.constant(node.inputs[parts.trips_at()]);
    text = trips != nullptr && trips->size() == 1
               ? fmt::format("{} trips", *trips->data_as<std::int64_t>())
               : "a trip count from data";
  }
  if (parts.has_go) text += text.empty() ? "a condition from data" : ", or a condition from data";
  if (text.empty())
    text = parts.scans > 0 ? "the extent of its scans" : "nothing: it needs a deadline";
  return text;
}

void find_loops(const ir::Graph& g, ir::RegionId r, int depth, std::vector<LoopInfo>& found) {
  for (const ir::NodeId n : g.region(r).nodes) {
    const ir::Node& node = g.node(n);
    if (node.op->name == "loop") {
      const ir::LoopParts parts(node);
      const ir::Region& body = g.region(parts.body);
      LoopInfo info{node.source, "loop", depth, {}, {}, {}, bound_of(g, node, parts)};
      for (std::size_t s = 0; s < parts.states; ++s)
        info.states.push_back(typed(g, body.params[2 + s]));
      for (std::size_t s = 0; s < parts.scans; ++s)
        info.scans.push_back(typed(g, body.params[2 + parts.states + s]));
      for (std::size_t s = 0; s < parts.stacks; ++s)
        info.stacks.push_back(typed(g, body.results[1 + parts.states + s]));
      found.push_back(std::move(info));
    }
    for (const ir::RegionId inner : node.regions) find_loops(g, inner, depth + 1, found);
  }
}

ModelReport report(const auto& import, const auto& check) {
  ModelReport r;
  r.findings = check();
  if (!r.runs()) return r;
  const onnx::Imported model = import();
  for (std::size_t i = 0; i < model.graph.input_names.size(); ++i)
    r.inputs.push_back(session::port(model.graph.input_names[i],
                                     model.graph.value(model.graph.root().params[i]).type));
  for (std::size_t j = 0; j < model.graph.output_names.size(); ++j)
    r.outputs.push_back(session::port(model.graph.output_names[j],
                                      model.graph.value(model.graph.root().results[j]).type));
  r.opsets = model.opsets;
  r.op_counts = model.op_counts;
  find_loops(model.graph, ir::RegionId::root, 0, r.loops);
  return r;
}

onnx::ImportOptions options_of(const SessionOptions& o) {
  return {o.loop_cond, o.external_data_dir};
}

}  // namespace

bool ModelReport::runs() const {
  return std::ranges::none_of(findings,
                              [](const Finding& f) { return f.level == Finding::Level::error; });
}

ModelReport inspect(const std::filesystem::path& model, const SessionOptions& o) {
  return report([&] { return onnx::import_file(model, options_of(o)); },
                [&] { return onnx::check_file(model, options_of(o)); });
}

ModelReport inspect(std::span<const std::byte> model, const SessionOptions& o) {
  return report([&] { return onnx::import_bytes(model, options_of(o)); },
                [&] { return onnx::check_bytes(model, options_of(o)); });
}

const char* version() { return RONDEL_VERSION; }

}  // namespace rondel
