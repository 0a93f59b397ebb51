#pragma once
#include "ir/graph.h"
#include "ir/infer.h"
#include "runtime/plan.h"
#include "session/code.h"

#include <rondel/session.h>

#include <memory>

namespace rondel::session {

/// What building a plan needs to know.
struct Building {
  std::shared_ptr<const ir::Graph> graph;
  std::shared_ptr<Code> code;
  bool fuse = true;              ///< element-wise nodes share loops
  bool borrowed_kernels = true;  ///< false: references only
};

/// The graph that plans are made of: the imported one after every pass.
std::shared_ptr<const ir::Graph> normalised(ir::Graph, const SessionOptions&);

/// The plan of a region: its nodes as steps. Captures are listed by the slots that
/// `outer` gives the enclosing values.
runtime::Plan build_plan(const Building&, ir::RegionId,
                         const std::function<runtime::Slot(ir::ValueId)>& outer = nullptr);

/// Evaluates one node without a plan around it, by the interpreter.
ir::Evaluator make_evaluator();

}  // namespace rondel::session
