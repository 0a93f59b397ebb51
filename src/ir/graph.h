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
  ReadOnly<Use> uses = {};           ///< everywhere it is read, in no order
};

struct Node {
  const OpDef* op = nullptr;
  Attributes attributes;
  Operands inputs;            ///< `none` where an optional one is left out
  ReadOnly<ValueId> outputs;  ///< `none` where it has no name in the source
  ReadOnly<RegionId> regions;
  RegionId region = RegionId::none;  ///< where it stands; none: it was erased
  std::string source;  ///< where it came from: file's node name (or a made-up one) and ONNX op

  bool is_loop() const { return loop_ != nullptr; }
  /// What kind of loop this is; only of a `loop`.
  const LoopParts& loop() const;

 private:
  friend class Graph;
  friend struct Tampering;
  std::shared_ptr<const LoopParts> loop_;
  std::int32_t link_ = -1;  ///< in its region's list
};

/// A list of nodes in order, with parameters and results: a graph, a loop's body, a branch.
/// It may read values of enclosing regions (captures).
struct Region {
  ReadOnly<ValueId> params;
  NodeList nodes;
  Operands results;
  NodeId parent = NodeId::none;
};

/// The role of an input that the graph's user does not feed by name.
enum class InputRole { seed };  ///< seed: of a run's random draws, u64[]
const char* name(InputRole);

/// A program of tensor ops. Owns all nodes, values and regions, of every depth, by id.
/// References to nodes and regions stay valid while the graph grows; those to values do not.
class Graph {
 public:
  Graph();
  std::string name = "graph";
  /// Inputs that may be left out, and their defaults.
  std::map<ValueId, Tensor> defaults;
  /// Inputs that have a role; all others are fed by name.
  std::map<ValueId, InputRole> roles;
  std::vector<std::string> input_names, output_names;  ///< as the model's user knows them
  std::vector<Type> declared_outputs;                  ///< as the file says them

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

  /// The input of a role; none where the graph has none.
  ValueId input(InputRole) const;

  // ---- building

  RegionId add_region();
  ValueId add_param(RegionId, Type, std::string name);
  /// Adds a node before `before`, or last where that is none. Its outputs have the given types.
  /// Attributes that are left out get the op's defaults.
  NodeId insert_node(RegionId, NodeId before, const OpDef&, Attributes, std::vector<ValueId> inputs,
                     std::span<const Type> outputs, std::vector<RegionId> regions = {});
  /// Adds it last.
  NodeId add_node(RegionId r, const OpDef& op, Attributes attributes, std::vector<ValueId> inputs,
                  std::span<const Type> outputs, std::vector<RegionId> regions = {}) {
    return insert_node(r, NodeId::none, op, std::move(attributes), std::move(inputs), outputs,
                       std::move(regions));
  }
  /// The same for a loop. A malformed one may have another number of regions than one.
  NodeId insert_loop(RegionId, NodeId before, LoopParts, std::vector<ValueId> inputs,
                     std::span<const Type> outputs, std::vector<RegionId> bodies);
  void set_results(RegionId, std::vector<ValueId>);
  void add_result(RegionId r, ValueId v) { insert_result(r, region(r).results.size(), v); }

  // ---- changing what is read

  void set_input(NodeId, std::size_t k, ValueId);
  void set_inputs(NodeId, std::vector<ValueId>);
  void set_result(RegionId, std::size_t k, ValueId);
  /// Every reader of `from`, results included, reads `to` instead. The cost is the number of
  /// readers.
  void replace_uses(ValueId from, ValueId to);
  bool is_read(ValueId v) const { return v != ValueId::none && !value(v).uses.empty(); }

  // ---- changing the order and number of nodes

  /// Removes a node and everything in its regions; none of them reads anything any more. Their ids
  /// stay unused.
  void erase_node(NodeId);
  /// Removes the nodes of a region for which `dead` is true, readers before the nodes that they
  /// read, so that `dead` sees the remaining uses.
  bool erase_nodes(RegionId, const std::function<bool(NodeId)>& dead);
  bool is_erased(NodeId n) const { return node(n).region == RegionId::none; }
  /// The next node in the region; none after the last.
  NodeId next(NodeId) const;
  /// Moves the nodes of `from`, in order, in front of `before`.
  void move_nodes(RegionId from, NodeId before);

  // ---- changing inputs, outputs, parameters and results; those of a loop are changed by
  // `LoopEditor`

  void insert_input(NodeId, std::size_t at, ValueId);
  void erase_input(NodeId, std::size_t at);
  ValueId insert_output(NodeId, std::size_t at, Type, std::string name);
  /// Requires that it has no readers.
  void erase_output(NodeId, std::size_t at);
  /// The output must have no readers; `none` replaces it.
  void leave_out_output(NodeId, std::size_t at);
  ValueId insert_param(RegionId, std::size_t at, Type, std::string name);
  /// Requires that it has no readers.
  void erase_param(RegionId, std::size_t at);
  void insert_result(RegionId, std::size_t at, ValueId);
  void erase_result(RegionId, std::size_t at);
  /// Output, parameter k becomes what number `order[k]` is.
  void reorder_outputs(NodeId, std::span<const std::size_t> order);
  void reorder_params(RegionId, std::span<const std::size_t> order);
  /// Sets the facts only; lists that are left out are zeros. The body stays.
  void set_loop(NodeId, LoopParts);

  // ---- asking

  /// The constant a value is, if a `constant` node makes it; else null.
  const Tensor* constant(ValueId) const;
  /// Whether `inner` is `outer` or nested in it.
  bool encloses(RegionId outer, RegionId inner) const;
  /// Values defined outside `r` that are read in it or below it, in order of first use.
  std::vector<ValueId> captures(RegionId r) const;
  /// `r` and the regions below it, each before those inside it. Not recursive, so depth is no
  /// limit.
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

}  // namespace rondel::ir
