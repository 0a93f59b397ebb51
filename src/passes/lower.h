#pragma once
#include "passes/group.h"
#include "passes/shape_class.h"
#include "scalar/program.h"

#include <memory>
#include <string>

namespace rondel::passes {

/// The scalar program of a group for one shape class of its inputs: parameters are the inputs
/// (those that are not small constants of the model), then the outputs.
struct LoweredGroup {
  std::shared_ptr<const scalar::Program> program;
  std::vector<bool> bound;  ///< by input: whether the program has a buffer for it
};
LoweredGroup lower_group(const ir::Graph&, const Group&, const ShapeClass&);

/// The scalar program of a whole loop for one shape class of its inputs and captures.
/// Parameters: from, to, n (the certain number of trips, else 0).
struct LoweredLoop {
  std::shared_ptr<const scalar::Program> program;  ///< null: see `reason`
  std::string reason;                              ///< why the loop runs step by step
  /// What each parameter buffer is; extents of temporaries and items by symbol of the class.
  struct Binding {
    enum class Kind : std::uint8_t { state, go, stopped, capture, scan, stack, temporary } kind;
    std::size_t index = 0;
    ir::Type type;
  };
  std::vector<Binding> bindings;
};
LoweredLoop lower_loop(const ir::Graph&, ir::NodeId loop, const ShapeClass& inputs_then_captures,
                       bool fuse);

}  // namespace rondel::passes
