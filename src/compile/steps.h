#pragma once
#include "compile/build_context.h"
#include "lowering/group.h"
#include "lowering/shape_class.h"
#include "runtime/plan.h"

#include <memory>

namespace rondel::compile {

/// The step of a group, given as the graph that `lowering::extract` made of it: types, shape class,
/// program, code.
std::unique_ptr<runtime::ProgramStep> program_step(const BuildContext&, ir::Graph,
                                                   const lowering::Group&);

/// The step of a node whose meaning is a kernel.
std::unique_ptr<runtime::Step> kernel_step(const BuildContext&, const ir::Graph&, ir::NodeId);

/// The types of all values of `g`, inferred for these values of its parameters.
ir::TypeEnvironment exact_type_environment(const ir::Graph& g, std::span<const Value> inputs,
                                           std::span<const std::size_t> value_inputs);

}  // namespace rondel::compile
