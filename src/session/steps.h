#pragma once
#include "passes/shape_class.h"
#include "runtime/plan.h"
#include "session/plan_builder.h"

#include <memory>

namespace rondel::session {

/// The step of a group that `passes::extract` made: types, shape class, program, code.
std::unique_ptr<runtime::Step> program_step(const Building&, ir::Graph group,
                                            std::vector<std::size_t> value_inputs);

/// The step of a node whose meaning is a kernel.
std::unique_ptr<runtime::Step> kernel_step(const Building&, const ir::Graph&, ir::NodeId);

/// Types of everything in `g` for these very values of its parameters.
ir::Knowledge exact_knowledge(const ir::Graph& g, std::span<const Value> inputs,
                              std::span<const std::size_t> value_inputs);

}  // namespace rondel::session
