#pragma once
#include "ir/infer.h"
#include "kernels/kernel.h"
#include "lowering/group.h"
#include "lowering/refusals.h"
#include "lowering/schedule.h"
#include "lowering/shape_class.h"
#include "scalar/loop_binding.h"
#include "scalar/program.h"

#include <memory>
#include <span>
#include <string>

namespace rondel::lowering {

/// The scalar program of a group, given as the graph that `extract` made of it, for one shape class
/// of the graph's parameters. The program's buffers are the parameters of the graph, then its
/// results. `dying`: parameters that nothing reads after the group; a result may be written over
/// such a parameter of the same type (`may_alias`). `by_rows`: of the `Group`. `schedule`: what was
/// decided, if somebody asks; it is made anew.
std::shared_ptr<const scalar::Program> lower_group(const ir::Graph& group, bool by_rows,
                                                   const ShapeClass&,
                                                   std::span<const std::size_t> dying,
                                                   Schedule* schedule = nullptr);

/// Whether the class tells enough to write the group's program: the ranks of all values, and which
/// of the extents of rows are equal. A class of exact shapes always does.
bool can_lower(const ir::Graph& group, bool by_rows, const ShapeClass&);

/// The number of trips, from the first one on, that a loop's states have room for if their extents
/// differ from trip to trip: a name in the types of memory.
ir::Symbol trips_with_room();

/// A size that a region's program is given, because an extent becomes known only while it runs.
struct GivenSize {
  ir::Symbol name;     ///< in the types of memory
  bool exact = false;  ///< the extent itself; else memory has room for as much
};

/// How programs are made.
struct LoweringOptions {
  bool fuse = true;          ///< element-wise nodes share loops
  bool fast_kernels = true;  ///< false: reference kernels only
  /// Folds values that follow from a class, for example conditions of `if`s; none: only values
  /// computed from extents are folded.
  ir::Evaluator evaluate = {};
  bool verify = false;  ///< whether to verify storage plans
  /// What was decided for the latest program, if somebody asks; it is made anew for each.
  Schedule* schedule = nullptr;
};

/// The workspace of a kernel that a program calls. Its size is computed from the extents of each
/// run.
struct KernelWorkspace {
  struct Operand {
    ir::Type type;  ///< extents are numbers and symbols of the class; none: operand left out
    bool row_major = true;
  };
  std::shared_ptr<const kernels::SizedKernel> kernel;
  std::vector<Operand> operands;  ///< inputs, then outputs
};

/// The values that a loop or an `if` reads from outside: its inputs, then its captures except
/// constants.
std::vector<ir::ValueId> outer_values(const ir::Graph&, ir::NodeId);
/// What a loop or an `if` reads, with its role: "state 's'", "'x'".
std::string role_of(const ir::Graph&, ir::NodeId, std::size_t outer_value);

/// The scalar program of a whole loop or `if`, with all nested regions, for one shape class of its
/// outer values.
struct LoweredRegion {
  /// Parameters: the first trip to run, the end of the trips to run, the trip count if it is known
  /// before the loop (else 0), the budget of trips, `sizes`. An `if` reads the budget only, and has
  /// no sizes.
  std::shared_ptr<const scalar::Program> program;  ///< null: see `refusals`
  std::vector<Refusal> refusals;  ///< why there is no program and the node runs step by step
  /// The role of a buffer of the program; extents of types are numbers, symbols of the class,
  /// `trips_with_room`, and names of `sizes`.
  struct Binding {
    scalar::LoopBinding kind;
    std::size_t index = 0;
    ir::Type type = {};  ///< of a state, an item, a result or a temporary
    /// Of a changing extent: the states and axes that have it.
    std::vector<std::pair<std::size_t, std::int64_t>> axes = {};
    KernelWorkspace workspace = {};          ///< of a temporary that is a kernel's workspace
    bool bounded = false;                    ///< of a temporary: `type` is an upper bound
    Tensor constant = {};                    ///< a constant of the model that is read from memory
    scalar::Buffer::Lifetime lifetime = {};  ///< of a temporary
  };
  std::vector<Binding> bindings;
  std::vector<GivenSize> sizes = {};
  RuleConditions conditions = {};  ///< what rules require of the class; the program checks the rest
};
LoweredRegion lower_control(const ir::Graph&, ir::NodeId, const ShapeClass&,
                            const LoweringOptions&);

}  // namespace rondel::lowering
