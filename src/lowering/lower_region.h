#pragma once
#include "lowering/lower_nodes.h"
#include "lowering/region_tree.h"
#include "lowering/storage_plan.h"

namespace rondel::lowering {

/// The buffer that stacks a loop's items.
struct StackBuffer {
  std::int32_t buffer = -1;  ///< -1: nothing reads the stack
  std::int64_t axis = 0;
  bool reversed = false;
  scalar::Ex rows = {};   ///< a reversed stack's first item goes to the last of these rows
  scalar::Ex limit = {};  ///< items from this index on are not stored; the loop reports an error
  /// The number of the size that the program is given for the rows, because nothing bounds them.
  std::optional<std::size_t> size = {};
};

/// A loop that is being lowered.
struct LoopContext {
  LoopContext(const ir::Graph& g, ir::NodeId n) : node(n), parts(g.node(n)) {}
  ir::NodeId node;
  ir::LoopParts parts;
  std::vector<StackBuffer> stacks;
  scalar::Ex trips;  ///< the trip count; empty if it is not known before the loop
};

/// Emits the nodes of a tree of regions, region by region: groups as loop nests, `if`s with both
/// branches, inner loops with their bodies. Before lowering, the caller declares the buffers, gives
/// each storage of the plan its buffer (`set_buffer`), and defines every value from outside as an
/// operand and every symbol of the class in `extents`.
class RegionLowering {
 public:
  RegionLowering(const RegionTree&, const StoragePlan&, scalar::Builder&);

  LoweringScope& scope() { return scope_; }
  /// Extents by symbol: those of the class, and those of inner stacks known only within a trip.
  std::map<ir::Symbol, scalar::Ex>& extents() { return extents_; }
  scalar::Ex extent(const ir::Extent&);
  scalar::Ex integer(const ir::Integer&);
  void set_buffer(StorageId id, std::int32_t buffer) { buffers_[id] = buffer; }
  std::int32_t buffer(StorageId id) const { return buffers_[id]; }
  void set_workspace(ir::NodeId kernel, std::int32_t buffer) { workspaces_[kernel] = buffer; }
  void set_budget(scalar::Ex trips) { budget_ = trips; }
  /// `size`: the program's parameter for the k-th of the tree's sizes.
  void set_size(std::size_t k, scalar::Ex size) { extents_[tree_.sizes()[k].name] = size; }

  /// Emits trip `t` of a loop. `carried` is [go, states in registers..., changing extents...];
  /// returns [whether the loop continues, then the next of these].
  std::vector<scalar::Ex> trip(const LoopContext&, scalar::Ex t,
                               std::span<const scalar::Ex> carried);
  /// Whether each element of the states is computed from itself, and from elements at its own
  /// index: then all trips can run for one element before the next.
  bool by_elements(const LoopContext& l) const { return why_not_by_elements(l).empty(); }
  /// Emits the trips [from, to) of such a loop, element by element.
  void trips_by_elements(const LoopContext&, scalar::Ex from, scalar::Ex to,
                         std::span<const scalar::Ex> carried);
  /// Emits an `if` and defines its outputs as operands.
  void branch(ir::NodeId);

  /// "for trips of 'r' (Loop): 1,000"
  std::string trips_text(const LoopContext&) const;
  /// Notes of a loop whose trips run one after the other: why, and where its states are.
  /// `otherwise`: why, if it hands nothing on.
  void note_trips_in_order(const LoopContext&, std::string_view otherwise);
  /// Why not all trips run for one element before the next; empty if they can.
  std::string why_not_by_elements(const LoopContext&) const;

  std::vector<scalar::Ex> extents_of(ir::ValueId);
  /// The only element of a value.
  scalar::Ex element(ir::ValueId);
  void copy(const Operand& from, StorageId to, ir::ValueId);
  /// Emits `fresh` for the storages whose lifetimes begin at a position.
  void begin_lifetimes(Position);
  void define(ir::ValueId, Operand);

 private:
  void groups(ir::RegionId, const LoopContext* around, scalar::Ex t);
  void group(const Group&, const LoopContext* around, scalar::Ex t);
  void by_rows(const RowSchedule&);
  void measure(ir::Symbol name);
  void find_extents(ir::NodeId);
  void check_room(std::span<const scalar::Ex> extents, StorageId to);
  void check_item(std::size_t stack, ir::ValueId item);
  void check_rule(ir::NodeId);
  void view(ir::NodeId);
  void on_buffers(const Group&);
  void call(ir::NodeId);
  std::int32_t told_extents(ir::NodeId);
  void define_found(ir::NodeId, std::int32_t extents);
  void loop(ir::NodeId);
  Sink sink_for(ir::ValueId, const LoopContext* around, scalar::Ex t, bool in_registers);
  bool is_there(ir::ValueId, StorageId) const;
  void define_params(const LoopContext&, scalar::Ex t, std::span<const scalar::Ex> carried);
  void define_scan_element(const LoopContext&, std::size_t s, scalar::Ex t);
  void define_constant(ir::ValueId);
  bool stored_by_maker(ir::ValueId item, ir::RegionId body) const;
  void store_items(const LoopContext&, scalar::Ex t);
  void store_item(const LoopContext&, std::size_t k, const scalar::Indices&, scalar::Ex t,
                  scalar::Ex value);
  void move_states(const LoopContext&);
  using Moves = std::vector<std::pair<ir::ValueId, StorageId>>;
  void move(const Moves&, ir::RegionId);

  std::vector<std::size_t> changing_states(const LoopContext&) const;
  std::vector<ir::NodeId> nodes_of_trip(const LoopContext&) const;
  bool has_short_rows(ir::ValueId item) const;

  // Parts of an inner loop.
  std::vector<scalar::Ex> run_loop(const LoopContext&, scalar::Ex most);
  void begin_states(const LoopContext&);
  bool trips_are_constant(const LoopContext&) const;
  scalar::Ex most_trips(const LoopContext&);
  StackBuffer begin_stack(const LoopContext&, std::size_t k);
  void finish_stack(const LoopContext&, std::size_t k, scalar::Ex made);
  void check_rows(const StackBuffer&, scalar::Ex rows);
  void check_length(const LoopContext&, ir::ValueId stack, scalar::Ex room, scalar::Ex trips,
                    const char* makes);
  void check_budget(const LoopContext&, scalar::Ex over);

  std::vector<std::pair<std::size_t, std::int64_t>> extents_of_either(ir::NodeId);
  std::size_t states_in_registers(const LoopContext&) const;

  // What is told of the schedule; only called if somebody asks.
  void note_group(const Group&, const LoopContext* around);
  void note_states(const LoopContext&, std::string_view place);
  void enter_states(const LoopContext&);
  std::string place_of(ir::ValueId, const Group&, const LoopContext* around) const;
  ir::NodeId reader_outside(ir::ValueId) const;
  std::string name_of_storage(StorageId, ir::ValueId, const LoopContext* around) const;
  std::string name_of_stack(const LoopContext&, std::size_t k) const;
  Operand in_register(ir::ValueId v, scalar::Ex x);
  Operand in_buffer(ir::ValueId v, std::int32_t buffer);
  Operand without_elements(ir::ValueId v);
  scalar::Indices zeros(ir::ValueId);
  const ir::Type& type(ir::ValueId v) const { return tree_.type(v); }

  const RegionTree& tree_;
  const StoragePlan& plan_;
  scalar::Builder& b_;
  ir::TypeEnvironment environment_;  ///< the tree's, with the types of constants that are read
  LoweringScope scope_;
  std::multimap<std::int32_t, StorageId> beginning_;  ///< storages by the start of their lifetime
  std::vector<std::int32_t> buffers_;                 ///< by storage
  std::map<ir::NodeId, std::int32_t> workspaces_;     ///< of kernels
  std::map<ir::Symbol, scalar::Ex> extents_;
  std::map<StorageId, std::string> state_names_;  ///< of the loops that are open, for the schedule
  scalar::Ex budget_;
};

}  // namespace rondel::lowering
