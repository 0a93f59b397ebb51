#pragma once
#include "ir/graph.h"
#include "ir/infer.h"

#include <functional>
#include <span>
#include <string_view>

namespace rondel::passes {

/// What passes may do, by the session's options.
struct PassOptions {
  bool contract = true;    ///< a*b+c may become one fma
  ir::Evaluator evaluate;  ///< for folding constants; none: nothing is folded
};

/// A rewrite of a graph into a graph that means the same.
struct Pass {
  std::string_view name;
  std::string_view doc;
  std::function<bool(ir::Graph&, const PassOptions&)> run;  ///< true: it changed something
};

/// What every graph goes through before its plan is built, in order.
std::span<const Pass> normalise();

/// Runs the passes; `verify` checks the graph after each.
void run(std::span<const Pass>, ir::Graph&, const PassOptions&, bool verify);

}  // namespace rondel::passes
