#pragma once
#include "runtime/loop.h"
#include "session/plan_builder.h"

namespace rondel::session {

/// The step of a `loop` node: its parts, the plan of its body and, where it can be had, a native
/// whole loop.
std::unique_ptr<runtime::Step> loop_step(const Building&, ir::NodeId,
                                         const std::function<runtime::Slot(ir::ValueId)>& outer);

/// How a loop will run, in words, as far as the declared types of its inputs tell.
std::string how_it_runs(const ir::Graph&, ir::NodeId loop, bool fuse);

}  // namespace rondel::session
