#pragma once
#include "ir/graph.h"
#include "ir/infer.h"
#include "passes/pipeline.h"
#include "runtime/plan.h"
#include "session/build_context.h"

#include <rondel/session.h>

#include <functional>
#include <memory>

namespace rondel::session {

/// The graph that plans are made of: the imported one after every pass. Each pass is verified in
/// debug builds, and where the environment has RONDEL_VERIFY=1.
ir::Graph compile_graph(
    ir::Graph, const SessionOptions&,
    const std::function<void(const passes::PassRun&, const ir::Graph&)>& after = nullptr);

/// The plan of a region: its nodes as steps. Captures are listed by the slots that
/// `outer` gives the enclosing values.
runtime::Plan build_plan(const BuildContext&, ir::RegionId,
                         const std::function<runtime::Slot(ir::ValueId)>& outer = nullptr);

/// Evaluates one node without a plan around it, by the interpreter.
ir::Evaluator make_evaluator();
/// Brings a graph into canonical form; constants are folded by the interpreter.
void canonicalize(ir::Graph&);

}  // namespace rondel::session
