#pragma once
#include "passes/group.h"
#include "passes/shape_class.h"
#include "scalar/loop_binding.h"
#include "scalar/program.h"

#include <memory>
#include <string>

namespace rondel::passes {

/// The scalar program of a group that `extract` made, for one shape class of its parameters.
/// The program's parameters are the graph's, then its results.
std::shared_ptr<const scalar::Program> lower_group(const ir::Graph& group, const ShapeClass&);

/// Whether the class tells the rank of everything in the group.
bool ranks_known(const ir::Graph& group, const ShapeClass&);

/// The scalar program of a whole loop for one shape class of its inputs and captures.
/// Parameters: from, to, n (the certain number of trips, else 0).
struct LoweredLoop {
  std::shared_ptr<const scalar::Program> program;  ///< null: see `reason`
  std::string reason;                              ///< why the loop runs step by step
  /// What each parameter buffer is; extents of temporaries and items by symbol of the class.
  struct Binding {
    scalar::LoopBinding kind;
    std::size_t index = 0;
    ir::Type type;    ///< of an item or a temporary
    Tensor constant;  ///< a constant of the model that is no register
  };
  std::vector<Binding> bindings;
};
LoweredLoop lower_loop(const ir::Graph&, ir::NodeId loop, const ShapeClass& inputs_then_captures,
                       bool fuse);

}  // namespace rondel::passes
