#include "base/error.h"
#include "base/text.h"
#include "compile/plan_builder.h"
#include "ir/text.h"
#include "passes/pipeline.h"
#include "session/front_ends.h"

#include <rondel/session.h>

#include <string>
#include <vector>

namespace rondel {
namespace {

std::size_t count_nodes(const ir::Graph& g, ir::RegionId r) {
  std::size_t count = g.region(r).nodes.size();
  for (const ir::NodeId n : g.region(r).nodes)
    for (const ir::RegionId inner : g.node(n).regions) count += count_nodes(g, inner);
  return count;
}

std::string full_name(const passes::Pipeline& pipeline, const passes::Pass& pass) {
  return fmt::format("{}/{}", pipeline.name, pass.name);
}

void check_pass(const std::string& asked) {
  std::vector<std::string> known;
  for (const passes::Pipeline* pipeline : passes::pipelines())
    for (const passes::Pass& pass : pipeline->passes) {
      if (asked.empty() || asked == pass.name || asked == full_name(*pipeline, pass)) return;
      known.push_back(full_name(*pipeline, pass));
    }
  fail("there is no pass '{}'; the passes are {}", asked, join(known));
}

std::vector<PassRun> trace(const auto& model, const SessionOptions& o, const std::string& asked) {
  check_pass(asked);
  std::vector<PassRun> runs;
  const auto note = [&](const passes::PassRun& r, const ir::Graph& g) {
    const bool told = asked == r.pass->name || asked == full_name(*r.pipeline, *r.pass);
    runs.push_back({std::string(r.pipeline->name),
                    std::string(r.pass->name),
                    std::string(r.pass->doc),
                    r.round,
                    r.changed,
                    r.seconds,
                    count_nodes(g, ir::RegionId::root),
                    told ? ir::to_text(g) : "",
                    {}});
    for (const passes::Remark& remark : r.remarks)
      runs.back().remarks.push_back({remark.loop, remark.done, remark.text});
  };
  compile::compile_graph(session::read_model(model, o).graph, o, note);
  return runs;
}

}  // namespace

std::vector<PassRun> trace_passes(const std::filesystem::path& model, const SessionOptions& o,
                                  std::string after) {
  return trace(model, o, after);
}

std::vector<PassRun> trace_passes(std::span<const std::byte> model, const SessionOptions& o,
                                  std::string after) {
  return trace(model, o, after);
}

}  // namespace rondel
