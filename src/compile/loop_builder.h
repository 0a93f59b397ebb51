#pragma once
#include "compile/build_context.h"
#include "runtime/loop.h"

namespace rondel::compile {

/// The step of a `loop` node: its parts, the plan of its body and, if possible, native code of the
/// whole loop. `outer`: the slot that holds a value from outside.
std::unique_ptr<runtime::Step> loop_step(const BuildContext&, ir::NodeId,
                                         const std::function<runtime::Slot(ir::ValueId)>& outer);

}  // namespace rondel::compile
