#pragma once
#include "ir/graph.h"
#include "ir/infer.h"
#include "passes/remarks.h"

#include <functional>
#include <span>
#include <string_view>

namespace rondel::passes {

/// The options of a session that passes depend on.
struct PassOptions {
  bool fuse_multiply_add = true;  ///< a*b+c may become one fma
  ir::Evaluator evaluate = {};    ///< runs nodes to fold constants; none: nodes are not run
  Remarks* remarks = nullptr;     ///< where passes say what they do to loops; null: nowhere
};

/// A rewrite of a graph into an equivalent graph.
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

/// Brings a graph into the canonical form that readers of graphs may rely on: no composites (but
/// those that need a rank which is not known), no identities, no values that are known without
/// running the model, and no trip count that equals the extent of the loop's scans.
const Pipeline& canonicalize();
/// Passes that only make a graph faster.
const Pipeline& optimize();
/// Passes that decide how lists, and operands that are packed, lie in memory. They come last: ONNX
/// has no form for what they make, and the shapes of the lists' items decide it: with `specialize`,
/// a graph for certain shapes comes to other forms.
const Pipeline& pack_storage();
/// Passes in place of `pack_storage` for a graph of which more types are known than when it was
/// optimized. They change no bit of a result: what rounds is computed by the same nodes.
const Pipeline& specialize();
/// All pipelines that an imported graph goes through before its plan is built, in order.
std::span<const Pipeline* const> pipelines();

/// One run of one pass.
struct PassRun {
  const Pipeline* pipeline;
  const Pass* pass;
  int round;  ///< from 1
  bool changed;
  double seconds;
  Remarks remarks;  ///< in the order of loops and, for each loop, of what was done to it
};

struct PipelineOptions {
  bool verify = false;  ///< whether to verify the graph after each pass
  std::function<void(const PassRun&, const ir::Graph&)> after = {};  ///< called after each pass
};

/// Runs the passes in rounds until nothing changes; a pass runs again only if another pass has
/// changed the graph in the meantime. The number of rounds is bounded. Reaching the bound is a bug
/// in a pass; it throws Error(internal) if `verify` is set. Returns whether the graph changed.
bool run(const Pipeline&, ir::Graph&, const PassOptions&, const PipelineOptions& = {});

/// Runs all pipelines.
void run_pipelines(ir::Graph&, const PassOptions&, const PipelineOptions& = {});

}  // namespace rondel::passes
