#pragma once
#include "ir/infer.h"
#include "kernels/kernel.h"
#include "passes/group.h"
#include "passes/shape_class.h"
#include "scalar/loop_binding.h"
#include "scalar/program.h"

#include <memory>
#include <span>
#include <string>

namespace rondel::passes {

/// The scalar program of a group that `extract` made, for one shape class of its parameters.
/// The program's parameters are the graph's, then its results. Of parameters that die with the
/// group a result may be written over one of its type (`may_alias`).
std::shared_ptr<const scalar::Program> lower_group(const ir::Graph& group, const ShapeClass&,
                                                   std::span<const std::size_t> dying);

/// Whether the class tells the rank of everything in the group.
bool ranks_known(const ir::Graph& group, const ShapeClass&);

/// How programs are made.
struct LoweringOptions {
  bool fuse = true;          ///< element-wise nodes share loops
  bool fast_kernels = true;  ///< false: references only
  /// Finds values that follow from a class, conditions of `if`s among them; none: extents alone.
  ir::Evaluator evaluate = {};
};

/// How much memory a kernel that a program calls works in: asked for the extents at hand.
struct KernelWorkspace {
  struct Operand {
    ir::Type type;  ///< none: it is left out; extents are numbers and symbols of the class
    bool row_major = true;
  };
  std::shared_ptr<const kernels::SizedKernel> kernel;
  std::vector<Operand> operands;  ///< inputs, then outputs
};

/// What a loop or an `if` reads from outside: its inputs, then its captures but for constants.
std::vector<ir::ValueId> outer_values(const ir::Graph&, ir::NodeId);

/// The scalar program of a whole loop, or of an `if`, with everything below it, for one shape class
/// of its outer values.
struct LoweredRegion {
  /// Parameters: from, to, n (the certain number of trips, else 0), the budget of trips; an `if`
  /// reads the last one only.
  std::shared_ptr<const scalar::Program> program;  ///< null: see `reasons`
  std::vector<std::string> reasons;                ///< all why it runs step by step
  /// What each parameter buffer is; extents of types are numbers and symbols of the class.
  struct Binding {
    scalar::LoopBinding kind;
    std::size_t index = 0;
    ir::Type type;                      ///< of a state, an item, a result or a temporary
    KernelWorkspace workspace;          ///< of a temporary that is one
    Tensor constant;                    ///< a constant of the model that is no register
    scalar::Buffer::Lifetime lifetime;  ///< of a temporary
  };
  std::vector<Binding> bindings;
  /// Where none of these is negative, all ops' rules hold for a member of the class; nothing: that
  /// must be checked for each.
  std::optional<ir::Integers> conditions = {};
};
LoweredRegion lower_control(const ir::Graph&, ir::NodeId, const ShapeClass&,
                            const LoweringOptions&);

}  // namespace rondel::passes
