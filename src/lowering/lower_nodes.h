#pragma once
#include "ir/infer.h"
#include "lowering/row_schedule.h"
#include "lowering/schedule.h"
#include "ops/meaning.h"
#include "scalar/builder.h"

#include <functional>
#include <map>
#include <set>
#include <vector>

/// Lowering of nodes to loop nests, used by the lowering of groups and of loops.
namespace rondel::lowering {

/// A value that is read: how a program loads its elements.
struct Operand {
  std::function<scalar::Ex(const scalar::Indices&)> load;
  /// The part of a buffer that holds exactly the value, if there is one.
  ops::BufferPart part;
  std::vector<scalar::Ex> extents;
};

/// A value that is written: how a program stores its elements. A value that is both a next state
/// and an item of a stack is stored to several places.
struct Sink {
  std::vector<std::function<void(const scalar::Indices&, scalar::Ex)>> stores;
  ops::BufferPart part;  ///< the part of a buffer that gets all elements, if there is one
  std::vector<scalar::Ex> extents;
};

/// The context of lowering nodes.
struct LoweringScope {
  const ir::Graph& graph;
  const ir::TypeEnvironment& environment;
  std::set<ir::Symbol> never_one;  ///< names of extents that are not 1: those of the shape class
  scalar::Builder& builder;
  std::map<ir::ValueId, Operand> operands;
  std::map<ir::ValueId, Sink> sinks;
  ScheduleNotes* notes = nullptr;  ///< null: nobody asks for the schedule
};

/// A value whose only element is `element`.
Operand one_element(scalar::Builder&, scalar::Ex element, std::int64_t rank);
/// The elements of a buffer.
Operand whole_buffer(scalar::Builder&, std::int32_t buffer);
Sink whole_sink(scalar::Builder&, std::int32_t buffer);
/// The only element of a small constant.
scalar::Ex constant_element(scalar::Builder&, const Tensor&);

/// Emits the computation of the extents of output j from values of the node's inputs
/// (`ops::extents_code`).
std::vector<scalar::Ex> found_extents(LoweringScope&, ir::NodeId, std::size_t j);

/// Emits a group of nodes: one loop nest over their index space, or the loop nest that defines the
/// op of a single node. Every value from outside the group must have an operand, every value read
/// outside the group a sink.
void lower_nodes(LoweringScope&, std::span<const ir::NodeId>);

/// The values of one element by the nodes that compute them; to begin with, those that are known.
using ElementValues = std::map<ir::ValueId, scalar::Ex>;
/// Emits the loads of element `index` of all operands of a group of element-wise nodes for which
/// `wanted` is true, into `values`.
void load_operands(LoweringScope&, std::span<const ir::NodeId>, const scalar::Indices& index,
                   const std::function<bool(ir::ValueId)>& wanted, ElementValues& values);
/// Emits element `index` of every node of a group over an index space. Stores nothing.
void compute_element(LoweringScope&, std::span<const ir::NodeId>,
                     const std::vector<scalar::Ex>& space, const scalar::Indices& index,
                     ElementValues& values);

/// Emits element `index` of every node of an element-wise group, and stores what has a sink. All
/// loads precede all stores, because a state may be updated in place. Returns the elements.
ElementValues lower_element(LoweringScope&, std::span<const ir::NodeId>,
                            const std::vector<scalar::Ex>& space, const scalar::Indices& index);

/// Emits the nest of nodes that work on the same rows. A result that needs memory has a whole
/// buffer as its sink. `space`: the extents of the elements.
void lower_rows(LoweringScope&, const RowSchedule&, std::span<const scalar::Ex> space);

/// Makes the result of a view an operand that is read where the input of the view lies. `extents`:
/// those of the result.
void define_view(LoweringScope&, ir::NodeId view, const std::vector<scalar::Ex>& extents);

/// Makes v an operand whose elements the element-wise nodes compute where they are read. `space`:
/// the extents of v.
void define_inlined(LoweringScope&, ir::ValueId v, std::span<const ir::NodeId>,
                    const std::vector<scalar::Ex>& space);

}  // namespace rondel::lowering
