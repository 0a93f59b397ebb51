#pragma once
#include "base/error.h"
#include "ir/infer.h"
#include "ir/name_of.h"
#include "kernels/kernel.h"
#include "lowering/extent_bounds.h"
#include "lowering/group.h"
#include "lowering/lower.h"
#include "lowering/refusals.h"
#include "lowering/row_schedule.h"
#include "lowering/shape_class.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace rondel::lowering {

/// A position in a region: the index of a group or, past the last group, the end of the region,
/// where its results are read.
struct Position {
  ir::RegionId region;
  std::size_t index = 0;
  bool operator==(const Position&) const = default;
};

/// One reader of a value.
struct Read {
  Position at;
  ir::NodeId node = ir::NodeId::none;  ///< none: the value is a result of the region
  std::size_t number = 0;              ///< of the node's input or the region's result
};

/// A loop or an `if` with all nested regions, analysed for one shape class: types, groups in order,
/// the producer and the readers of each value, and what keeps the node from having a program.
class RegionTree {
 public:
  /// `c`: the shape class of `outer_values(g, top)`.
  RegionTree(const ir::Graph& g, ir::NodeId top, const ShapeClass& c, const LoweringOptions&);

  const ir::Graph& graph() const { return g_; }
  ir::NodeId top() const { return top_; }
  const ShapeClass& shape_class() const { return class_; }
  /// The names of the class that the program can read.
  const std::set<ir::Symbol>& class_names() const { return class_names_; }
  /// What the ops' type rules require of the extents of the class, but for `conditions_inside`.
  RuleConditions conditions() const;
  const ir::TypeEnvironment& environment() const { return k_; }
  const ir::Type& type(ir::ValueId v) const { return k_.types[ir::index(v)]; }
  /// The values from outside that the node reads in addition to its inputs, without constants.
  const std::vector<ir::ValueId>& captures() const { return captures_; }
  /// The constants of the model that are read and are too large for a register, each once.
  const std::vector<ir::ValueId>& constants() const { return constants_; }
  /// The regions of a node that may run: without a branch that the class rules out.
  std::vector<ir::RegionId> regions(ir::NodeId) const;
  const std::vector<Group>& groups(ir::RegionId r) const { return info(r).groups; }
  /// The schedule of a group that runs by rows.
  const RowSchedule& rows(const Group& g) const { return rows_.at(g.nodes[0]); }
  /// Why groups are apart, if somebody asks for the schedule.
  const GroupRemarks& remarks() const { return remarks_; }
  /// A node that the program calls a kernel for. The list is in program order.
  struct KernelNode {
    ir::NodeId node;
    Position at;
    std::shared_ptr<const kernels::SizedKernel> kernel;
    std::string content = {};  ///< what the kernel was made of besides op and attributes
    /// Whether the kernel is told the extents of its operands, because some become known inside
    /// (kernels/on_parts.h).
    bool on_parts = false;
  };
  const std::vector<KernelNode>& kernels() const { return kernels_; }
  /// What keeps the tree from being lowered, each cause once; empty if it can be.
  std::vector<Refusal> refusals() const;

  /// The integers that must not be negative when a node runs: the conditions of its rule that
  /// depend on extents that become known only inside the tree.
  const ir::Integers& conditions_inside(ir::NodeId) const;

  /// The names in the extents of the node's results, and in the conditions of its rule, that the
  /// program finds before the node runs (`ir::Measure`).
  std::vector<ir::Symbol> measures(ir::NodeId) const;

  /// The sizes that the program is given, because nothing bounds some extents before it runs.
  const std::vector<GivenSize>& sizes() const { return sizes_; }
  /// Whether the program computes extents of the node's results from values of its inputs, and
  /// checks these values (`ops::extents_code`).
  bool finds_extents(ir::NodeId n) const { return finding_.contains(n); }
  /// Whether the program knows the extents of the node's results only after the call of its kernel.
  bool kernel_finds_extents(ir::NodeId) const;
  /// The number of a size in an expression over names of memory; nullopt if there is none. Of
  /// several, the one that was given last, for want of a bound that the others are a part of.
  std::optional<std::size_t> size_in(const ir::Extent&) const;
  /// The type of the items of a stack of the top loop, as the caller lays them out: extents that
  /// become known inside are sizes that the program is given.
  ir::Type item_type(std::size_t stack) const;

  /// An extent of states that may differ from trip to trip.
  struct ChangingExtent {
    ir::Symbol now;                                          ///< the extent in the current trip
    ir::Extent first, next, most;                            ///< most: an upper bound for all trips
    std::vector<std::pair<std::size_t, std::int64_t>> axes;  ///< the states and axes that have it
  };
  /// Those of a loop, each once.
  const std::vector<ChangingExtent>& changing_extents(ir::NodeId loop) const;

  /// Whether the value certainly has one element, which is kept in a register.
  bool is_one_element(ir::ValueId) const;
  /// The extents in the tree that are computed from symbols of the class.
  const std::set<ir::Symbol>& expressions() const { return expressions_; }
  /// Whether the value's extents are numbers or expressions over symbols of the class.
  bool extents_known(ir::ValueId) const;
  /// Whether the value certainly is row-major when it is read.
  bool row_major(ir::ValueId) const;
  /// The type of the memory that holds the value: extents that are known only within a trip are
  /// replaced by their upper bounds. The extents are expressions over `memory_names`.
  ir::Type memory_type(ir::ValueId) const;
  /// The names of the class, those of the top loop's trip count among them, `trips_with_room`, and
  /// those of `sizes`.
  const std::set<ir::Symbol>& memory_names() const { return memory_names_; }
  /// Whether the value is in a buffer from its beginning on, when it is read. A stack that is
  /// filled backwards by a loop that may end early is not.
  bool begins_with_buffer(ir::ValueId) const;
  /// An upper bound of the trip count that is a number or an expression over symbols of the class;
  /// unknown if there is none.
  ir::Extent most_trips(ir::NodeId loop) const;
  /// The value of which the group's result is the beginning along each axis: its elements may stay
  /// where they are. None if the group gives anything else.
  ir::ValueId beginning_in(const Group&) const;
  /// Whether no trip changes state `s` of the loop.
  bool is_invariant(const ir::LoopParts&, std::size_t s) const;
  /// Whether the trip count is known before the first trip.
  bool trip_count_known(ir::NodeId loop) const;

  /// The group that computes a value; nullopt for values from outside, parameters and constants.
  std::optional<Position> maker(ir::ValueId) const;
  /// Those that read elements.
  const std::vector<Read>& reads(ir::ValueId) const;
  bool is_loop_body(ir::RegionId) const;
  /// The position of the node that the region belongs to; nullopt for regions of the top node.
  std::optional<Position> holder(ir::RegionId) const;

  /// The first and the last program point of a position, numbered in program order. The last point
  /// of a loop follows those of everything in the loop.
  std::int32_t begins(Position) const;
  std::int32_t ends(Position) const;

 private:
  struct RegionInfo {
    std::vector<Group> groups;
    std::vector<std::int32_t> begins, ends;  ///< by group; last: of the region's end
    std::optional<Position> holder;
  };
  /// What is known only within a trip: extents, and nodes whose rules depend on some.
  struct Late {
    std::set<ir::Symbol> extents;
    std::set<ir::NodeId> nodes;
  };
  /// A node, or else a value, or else the whole tree, that cannot be lowered. Often another one is
  /// the cause.
  struct Refused {
    ir::NodeId node = ir::NodeId::none;
    ir::ValueId value = ir::ValueId::none;
    Refusal what = {};
    bool own = false;  ///< of a node: whatever its operands are
    bool is_of_all() const { return node == ir::NodeId::none && value == ir::ValueId::none; }
  };
  const RegionInfo& info(ir::RegionId r) const { return regions_.at(r); }
  void refuse(ir::NodeId, std::string why, std::string help = "");
  void refuse(ir::ValueId, std::string why, std::string help = "");
  void refuse_itself(ir::NodeId, std::string why, std::string help);
  void refuse_all(std::string why);
  void refuse_type(ir::ValueId);
  void refuse_extents(ir::ValueId);
  class Causes;
  bool is_known_in_time(ir::ValueId) const;
  bool is_inside(ir::ValueId) const;
  std::string shown_type(ir::ValueId) const;
  std::string described(ir::ValueId) const;
  std::string named(ir::ValueId v) const { return ir::name_of(g_, v); }
  void infer();
  ir::Evaluator evaluator();
  void find_names();
  std::map<ir::Symbol, ir::Extent> extents_of_captures() const;
  /// Of an outer value: its value if the class has it, and its elements if it is a list of extents.
  void set_known_values(ir::ValueId, const Tensor& value, const ir::Extents& elements);
  void visit(ir::RegionId, std::optional<Position> holder);
  void visit_group(const Group&, Position);
  void visit_kernel(ir::NodeId, Position);
  void prepare_kernels();
  void prepare(KernelNode&) const;
  bool can_give_sizes() const;
  ir::Extent given_size(bool exact = false);
  void give_sizes(ir::NodeId);
  void visit_items();
  void note_measures(ir::NodeId);
  void note_measures(ir::RegionId);
  void note_measures(const ir::Integer&);
  void visit_loop(ir::NodeId);
  void visit_state(ir::NodeId, const ir::LoopParts&, std::size_t s);
  bool visit_changing_extent(ir::NodeId, const ir::LoopParts&, std::size_t s, std::int64_t axis);
  ir::Extent bound_of_states(ir::NodeId loop, ir::Symbol now, const ir::Extent& first,
                             std::span<const ir::Extent> next) const;
  std::vector<ir::Extent> alternatives(const ir::Extent&) const;
  bool visit_result(ir::NodeId, std::size_t j);
  void visit_top_if();
  void visit_if(ir::NodeId);
  void check_element(ir::ValueId, const char* what);
  void visit_stack(ir::NodeId, const ir::LoopParts&, std::size_t k, const ir::Type* without_trips);
  bool may_stack_nothing(ir::NodeId loop) const;
  bool empty_stack_known(ir::NodeId, std::size_t k, const ir::Type& without_trips) const;
  void check_values(ir::NodeId);
  void check_rule(ir::NodeId);
  void check_rules_of_empty(ir::NodeId loop, const Late& before);
  bool is_typed_by_graph(ir::NodeId) const;
  Late late() const;
  bool is_found(ir::Symbol) const;
  bool depends_on_late(const ir::Integers&) const;
  bool follows_from_extents(ir::ValueId) const;
  bool extents_found(ir::NodeId) const;
  bool extent_known(const ir::Integer& e) const;
  void check_type(ir::ValueId);
  void check_extents(ir::ValueId);
  void check_size(ir::ValueId);
  bool needs_elements(const ir::Node&, ir::ValueId) const;
  void read(ir::ValueId v, Position at, ir::NodeId node, std::size_t number);

  const ir::Graph& g_;
  const ir::NodeId top_;
  const ShapeClass& class_;
  const LoweringOptions options_;
  ir::TypeEnvironment k_;
  bool evaluated_ = false;  ///< some node, to know what it gives
  std::vector<ir::ValueId> captures_, constants_;
  std::vector<KernelNode> kernels_;
  std::map<ir::RegionId, RegionInfo> regions_;
  std::map<ir::NodeId, RowSchedule> rows_;  ///< by the group's first node
  std::map<ir::ValueId, Position> makers_;
  std::map<ir::ValueId, std::vector<Read>> reads_;
  std::set<ir::Symbol> class_names_, memory_names_;
  std::map<ir::NodeId, std::vector<ChangingExtent>> changing_;
  std::set<ir::Symbol> expressions_;
  std::map<ir::NodeId, ir::Integers> conditions_inside_;
  ExtentBounds bounds_;  ///< of extents known only within a trip
  std::vector<GivenSize> sizes_;
  std::set<ir::NodeId> finding_;  ///< nodes whose extents the program finds from values
  std::map<std::size_t, ir::Type> item_types_;  ///< by stack of the top loop, if sizes are given
  std::vector<Refused> refused_;
  GroupRemarks remarks_;
  std::int32_t moment_ = 0;
};

}  // namespace rondel::lowering
