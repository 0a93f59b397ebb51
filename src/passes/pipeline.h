#pragma once
#include "ir/graph.h"
#include "ir/infer.h"

#include <functional>
#include <span>
#include <string_view>

namespace rondel::passes {

/// What the session's options allow passes to do.
struct PassOptions {
  bool fuse_multiply_add = true;  ///< a*b+c may become one fma
  ir::Evaluator evaluate = {};    ///< for folding constants; none: nothing is folded
};

/// A rewrite of a graph into a graph that means the same.
struct Pass {
  std::string_view name;
  std::string_view doc;
  std::function<bool(ir::Graph&, const PassOptions&)> run;  ///< true: it changed something
};

/// A flat list of passes, in order.
struct Pipeline {
  std::string_view name;
  std::string_view doc;
  std::span<const Pass> passes;
};

/// The canonical form that readers of graphs may rely on: no composites, no identities, no values
/// that are known without running, and no trip count that is the extent of a loop's scans anyway.
const Pipeline& canonicalize();
/// Passes that are only for speed.
const Pipeline& optimize();
/// All pipelines that a graph goes through before its plan is built, in order.
std::span<const Pipeline* const> pipelines();

/// One run of one pass.
struct PassRun {
  const Pipeline* pipeline;
  const Pass* pass;
  int round;  ///< from 1
  bool changed;
  double seconds;
};

struct PipelineOptions {
  bool verify = false;                                               ///< the graph after each pass
  std::function<void(const PassRun&, const ir::Graph&)> after = {};  ///< each run of a pass
};

/// Runs the passes in rounds until nothing changes; a pass runs again only if another pass has
/// changed something since. The number of rounds is bounded; exceeding it is a bug of ours,
/// reported where graphs are verified. Returns whether something changed.
bool run(const Pipeline&, ir::Graph&, const PassOptions&, const PipelineOptions& = {});

/// Runs all pipelines.
void run_pipelines(ir::Graph&, const PassOptions&, const PipelineOptions& = {});

}  // namespace rondel::passes
