#pragma once
#include "ir/lists.h"
#include "ir/loop_parts.h"
#include "ir/op_def.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rondel::ir {

struct ValueInfo {
  Type type;
  std::string name;                  ///< unique in the graph after `uniquify_names`
  NodeId producer = NodeId::none;    ///< none: a parameter of `region`
  RegionId region = RegionId::none;  ///< where it is defined
  std::int32_t position = 0;         ///< output number or parameter number
  ReadOnly<Use> uses = {};           ///< all inputs and results that read it, unordered
};

struct Node {
  const OpDef* op = nullptr;
  Attributes attributes;
  Operands inputs;            ///< `none`: an optional input that is left out
  ReadOnly<ValueId> outputs;  ///< `none`: an output that the source does not name
  ReadOnly<RegionId> regions;
  RegionId region = RegionId::none;  ///< the region that contains it; none: it was erased
  /// The origin: the node's name in the file (or a generated name) and its ONNX op.
  std::string source;

  bool is_loop() const { return loop_ != nullptr; }
  /// The structure of a loop; only for a `loop` node.
  const LoopParts& loop() const;

 private:
  friend class Graph;
  friend struct Tampering;
  std::shared_ptr<const LoopParts> loop_;
  std::int32_t link_ = -1;  ///< index of its link in the region's node list
};

/// Whether optional input k is given.
inline bool has_input(const Node& n, std::size_t k) {
  return k < n.inputs.size() && n.inputs[k] != ValueId::none;
}
/// Whether the node has output j, so that the output may be used.
inline bool has_output(const Node& n, std::size_t j) {
  return j < n.outputs.size() && n.outputs[j] != ValueId::none;
}

/// A list of nodes in order, with parameters and results: a graph, a loop's body, a branch.
/// It may read values of enclosing regions (captures).
struct Region {
  ReadOnly<ValueId> params;
  NodeList nodes;
  Operands results;
  NodeId parent = NodeId::none;
};

/// The role of an input that the user does not feed by name.
enum class InputRole { seed };  ///< seed: of a run's random numbers, u64[]
const char* name(InputRole);

/// A program of tensor ops. Owns all nodes, values and regions, of every depth, by id.
/// References to nodes and regions stay valid while the graph grows; references to values do not.
class Graph {
 public:
  Graph();
  std::string name = "graph";
  /// Inputs that may be left out, and their defaults.
  std::map<ValueId, Tensor> defaults;
  /// Inputs that have a role; all others are fed by name.
  std::map<ValueId, InputRole> roles;
  std::vector<std::string> input_names, output_names;  ///< names by which users feed and fetch
  std::vector<Type> declared_outputs;                  ///< types that the file declares
  /// Set when passes begin. They learn more about types than the file tells, and then the rule of a
  /// node may not hold in a loop or a branch that never runs: that is an error of the run, if it
  /// gets there.
  bool may_hold_broken_nodes = false;

  const ValueInfo& value(ValueId v) const { return values_[index(v)]; }
  ValueInfo& value(ValueId v) { return values_[index(v)]; }
  const Node& node(NodeId n) const { return nodes_[index(n)]; }
  Node& node(NodeId n) { return nodes_[index(n)]; }
  const Region& region(RegionId r) const { return regions_[index(r)]; }
  Region& region(RegionId r) { return regions_[index(r)]; }
  const Region& root() const { return regions_[0]; }
  std::size_t value_count() const { return values_.size(); }
  std::size_t node_count() const { return nodes_.size(); }
  std::size_t region_count() const { return regions_.size(); }

  /// The input with this role; none if the graph has no such input.
  ValueId input(InputRole) const;

  // ---- building

  RegionId add_region();
  ValueId add_param(RegionId, Type, std::string name);
  /// Inserts a node before `before`; if `before` is none, at the end of the region. The outputs get
  /// the given types. Attributes that are left out get the op's defaults.
  NodeId insert_node(RegionId, NodeId before, const OpDef&, Attributes, std::vector<ValueId> inputs,
                     std::span<const Type> outputs, std::vector<RegionId> regions = {});
  /// The same, at the end of the region.
  NodeId add_node(RegionId r, const OpDef& op, Attributes attributes, std::vector<ValueId> inputs,
                  std::span<const Type> outputs, std::vector<RegionId> regions = {}) {
    return insert_node(r, NodeId::none, op, std::move(attributes), std::move(inputs), outputs,
                       std::move(regions));
  }
  /// Inserts a loop. Only a malformed loop has a number of bodies other than one.
  NodeId insert_loop(RegionId, NodeId before, LoopParts, std::vector<ValueId> inputs,
                     std::span<const Type> outputs, std::vector<RegionId> bodies);
  void set_results(RegionId, std::vector<ValueId>);
  void add_result(RegionId r, ValueId v) { insert_result(r, region(r).results.size(), v); }

  // ---- changing uses

  void set_input(NodeId, std::size_t k, ValueId);
  void set_inputs(NodeId, std::vector<ValueId>);
  void set_result(RegionId, std::size_t k, ValueId);
  /// Makes every reader of `from`, results included, read `to`. The cost is proportional to the
  /// number of readers.
  void replace_uses(ValueId from, ValueId to);
  bool is_read(ValueId v) const { return v != ValueId::none && !value(v).uses.empty(); }

  // ---- changing the order and number of nodes

  /// Removes a node and everything in its regions, with all their uses of values. Ids of removed
  /// nodes are not used again.
  void erase_node(NodeId);
  /// Removes the nodes of a region for which `dead` is true; true if there are any. `dead` is
  /// called in reverse order, readers before the nodes that they read, so that it sees only the
  /// remaining uses.
  bool erase_nodes(RegionId, const std::function<bool(NodeId)>& dead);
  bool is_erased(NodeId n) const { return node(n).region == RegionId::none; }
  /// The next node in the region; none for the last node.
  NodeId next(NodeId) const;
  /// Moves all nodes of the region `from`, in order, to the position before the node `before`.
  void move_nodes(RegionId from, NodeId before);

  // ---- changing inputs, outputs, parameters and results (for loops, use `LoopEditor`)

  void insert_input(NodeId, std::size_t at, ValueId);
  void erase_input(NodeId, std::size_t at);
  ValueId insert_output(NodeId, std::size_t at, Type, std::string name);
  /// Requires that the output has no readers.
  void erase_output(NodeId, std::size_t at);
  /// Replaces the output by `none`. Requires that the output has no readers.
  void leave_out_output(NodeId, std::size_t at);
  ValueId insert_param(RegionId, std::size_t at, Type, std::string name);
  /// Requires that the parameter has no readers.
  void erase_param(RegionId, std::size_t at);
  void insert_result(RegionId, std::size_t at, ValueId);
  void erase_result(RegionId, std::size_t at);
  /// Output (or parameter) number `order[k]` becomes number k.
  void reorder_outputs(NodeId, std::span<const std::size_t> order);
  void reorder_params(RegionId, std::span<const std::size_t> order);
  /// Replaces the `LoopParts` only; empty lists are filled with zeros. The body stays.
  void set_loop(NodeId, LoopParts);

  // ---- queries

  /// The tensor of a value that a `constant` node defines; else null.
  const Tensor* constant(ValueId) const;
  /// Whether trips of the loop read a condition that does not end it: the one that the trip before
  /// has computed; true in the first trip.
  bool hands_on_condition(NodeId loop) const;
  /// Whether `inner` is `outer` or nested in it.
  bool encloses(RegionId outer, RegionId inner) const;
  /// Values defined outside `r` that are read in `r` or in nested regions, in order of first use.
  std::vector<ValueId> captures(RegionId r) const;
  /// `r` and all regions nested in it, outer regions before inner ones. Not recursive, so that deep
  /// nesting cannot overflow the stack.
  std::vector<RegionId> regions_below(RegionId r) const;

 private:
  friend struct Tampering;
  NodeId place_node(RegionId, NodeId before, Node&&, std::span<const Type> outputs);
  Operands& operands_of(const Use&);
  void link(Operands&, Use);
  void unlink(Operands&, std::size_t k);
  void set(Operands&, Use first, std::vector<ValueId>);
  void number(const ReadOnly<ValueId>&);

  std::vector<ValueInfo> values_;
  std::deque<Node> nodes_;
  std::deque<Region> regions_;
};

/// All loops of the graph, inner loops before the loops around them.
std::vector<NodeId> loops_inside_out(const Graph&);

}  // namespace rondel::ir
