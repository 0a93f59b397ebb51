#pragma once
#include "ir/graph.h"
#include "ir/infer.h"

#include <functional>
#include <span>
#include <string_view>

namespace rondel::passes {

/// What passes may do, by the session's options.
struct PassOptions {
  bool contract = true;         ///< a*b+c may become one fma
  ir::Evaluator evaluate = {};  ///< for folding constants; none: nothing is folded
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

/// What whoever reads graphs may count on: no composites, no identities, nothing left that is known
/// without running, and no loop with a count that its scans have anyway.
const Pipeline& canonicalize();
/// What is only for speed.
const Pipeline& optimize();
/// What every graph goes through before its plan is built, in order.
std::span<const Pipeline* const> pipelines();

/// One run of one pass.
struct PassRun {
  const Pipeline* pipeline;
  const Pass* pass;
  int round;  ///< from 1
  bool changed;
  double seconds;
};

struct Driving {
  bool verify = false;                                               ///< the graph after each pass
  std::function<void(const PassRun&, const ir::Graph&)> after = {};  ///< each run of a pass
};

/// Runs the passes in rounds until nothing changes: a pass runs again only where another has
/// changed something since. Rounds are bounded; more are our fault, told where graphs are verified.
/// True: something changed.
bool run(const Pipeline&, ir::Graph&, const PassOptions&, const Driving& = {});

/// Runs all pipelines.
void run_pipelines(ir::Graph&, const PassOptions&, const Driving& = {});

}  // namespace rondel::passes
