#pragma once
#include "compile/build_context.h"
#include "ir/graph.h"
#include "ir/infer.h"
#include "passes/pipeline.h"
#include "runtime/plan.h"

#include <rondel/session.h>

#include <functional>
#include <memory>

namespace rondel::compile {

/// Runs all passes over an imported graph; plans are built from the result. If `verifies()`, the
/// graph is verified after each pass. `after` is called after each pass.
ir::Graph compile_graph(
    ir::Graph, const SessionOptions&,
    const std::function<void(const passes::PassRun&, const ir::Graph&)>& after = nullptr);

/// The same but for the passes that decide how values lie in memory: a graph that ONNX can express.
ir::Graph optimize_graph(ir::Graph, const SessionOptions&);

/// What `compile_graph` makes, for inputs of these types, which fit the graph's own. The result
/// gives the same bits as that of `compile_graph`: what depends on rounding is decided by the
/// graph's own types. Refuses graphs in which what a loop gives without trips may depend on more
/// than these.
ir::Graph compile_graph_for(ir::Graph, std::span<const ir::Type> inputs, const SessionOptions&);

/// The plan of a region: its nodes as steps. `outer`: the slot of a captured value in the plan of
/// the enclosing region.
runtime::Plan build_plan(const BuildContext&, ir::RegionId,
                         const std::function<runtime::Slot(ir::ValueId)>& outer = nullptr);

/// An evaluator that runs single nodes in the interpreter.
ir::Evaluator make_evaluator();
/// Brings a graph into canonical form; the interpreter folds constants.
void canonicalize(ir::Graph&);

}  // namespace rondel::compile
