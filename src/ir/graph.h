#pragma once
#include "ir/op_def.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace rondel::ir {

/// Ids into a graph's arenas. -1: none (an input left out, the root's parent).
enum class ValueId : std::int32_t { none = -1 };
enum class NodeId : std::int32_t { none = -1 };
enum class RegionId : std::int32_t { none = -1, root = 0 };
inline std::size_t index(ValueId v) { return static_cast<std::size_t>(v); }
inline std::size_t index(NodeId n) { return static_cast<std::size_t>(n); }
inline std::size_t index(RegionId r) { return static_cast<std::size_t>(r); }

struct ValueInfo {
  Type type;
  std::string name;                  ///< unique in the graph after `uniquify_names`
  NodeId producer = NodeId::none;    ///< none: a parameter of `region`
  RegionId region = RegionId::none;  ///< where it is defined
  std::int32_t position = 0;         ///< output number or parameter number
};

struct Node {
  const OpDef* op = nullptr;
  Attributes attributes;
  std::vector<ValueId> inputs;   ///< `none` where an optional one is left out
  std::vector<ValueId> outputs;  ///< `none` where nobody named it
  std::vector<RegionId> regions;
  RegionId region = RegionId::none;  ///< where it stands
  std::string source;  ///< where it came from: file's node name (or a made-up one) and ONNX op
};

/// A list of nodes in order, with parameters and results: a graph, a loop's body, a branch.
/// It may read values of enclosing regions (captures).
struct Region {
  std::vector<ValueId> params;
  std::vector<NodeId> nodes;
  std::vector<ValueId> results;
  NodeId parent = NodeId::none;
};

/// What an input of a graph is for that its user does not feed by name.
enum class InputRole { seed };  ///< seed: of a run's random draws, u64[]
const char* name(InputRole);

/// A program of tensor ops. Owns all nodes, values and regions, of every depth, by id.
class Graph {
 public:
  Graph();
  std::string name = "graph";
  /// Inputs that may be left out, and what they are then.
  std::map<ValueId, Tensor> defaults;
  /// Inputs that are found by what they are for; all others are fed, by name.
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
  Region& root() { return regions_[0]; }
  std::size_t value_count() const { return values_.size(); }
  std::size_t node_count() const { return nodes_.size(); }
  std::size_t region_count() const { return regions_.size(); }

  ValueId add_param(RegionId, Type, std::string name);
  /// The input of a role; none where the graph has none.
  ValueId input(InputRole) const;
  RegionId add_region();
  /// Appends a node whose outputs have the given types (an output of kind `none` is left out).
  /// Attributes that are left out get the op's defaults.
  NodeId add_node(RegionId, const OpDef&, Attributes, std::vector<ValueId> inputs,
                  std::span<const Type> outputs, std::vector<RegionId> regions = {});
  /// The same before position `at` of the region's list.
  NodeId insert_node(RegionId, std::size_t at, const OpDef&, Attributes,
                     std::vector<ValueId> inputs, std::span<const Type> outputs,
                     std::vector<RegionId> regions = {});
  struct AddedState {
    ValueId param;  ///< of the body
    ValueId final;  ///< what a trip left last
  };
  /// Gives a loop one more state, of a type that holds for all its values, after those it has. Its
  /// next value is the parameter itself where `next` is none.
  AddedState add_state(NodeId loop, ValueId initial, ValueId next, const Type&, std::string name);
  /// Its place in its region's list.
  std::size_t position_of(NodeId) const;
  /// Takes the node out of its region (its ids stay, unused).
  void erase_node(NodeId);
  /// Every reader of `from`, results included, reads `to` instead.
  void replace_uses(ValueId from, ValueId to);

  /// The constant a value is, if a `constant` node makes it; else null.
  const Tensor* constant(ValueId) const;
  /// Whether `inner` is `outer` or nested in it.
  bool encloses(RegionId outer, RegionId inner) const;
  /// Values defined outside `r` that are read in it or below it, in order of first use.
  std::vector<ValueId> captures(RegionId r) const;

 private:
  std::vector<ValueInfo> values_;
  std::vector<Node> nodes_;
  std::vector<Region> regions_;
};

/// The parts of a `loop` node, whose inputs are [trips?, go?, states..., scans..., extents...] and
/// whose outputs are [finals..., stacks..., n]. See docs/loops: the loop's contract.
/// Attributes: `trips`, `go` (flags: the input is there), `states`, `scans`, `stacks` (counts),
/// `fixed`, `keeps`, `axis_in`, `reverse_in`, `axis_out`, `reverse_out`, `extents` (flags, one a
/// stack; empty: none has one), `declared` (types, one a stack; empty: none is declared). Body:
/// params [i, go, states..., elements...], results [go, states..., items...].
struct LoopParts {
  bool has_trips = false, has_go = false;
  std::size_t states = 0, scans = 0, stacks = 0;
  /// `keeps`: what the model came from says that this state keeps its shape, and nothing holds it
  /// to that; it is believed where no trip is made, which could show otherwise.
  Ints fixed, keeps, axis_in, reverse_in, axis_out, reverse_out, extents;
  /// What the model says of an item beyond what can be inferred; of kind `none` where it says
  /// nothing. It may be wrong: it counts where no trip is made.
  TypeList declared;
  RegionId body = RegionId::none;

  explicit LoopParts(const Node&);
  std::size_t trips_at() const { return 0; }
  std::size_t go_at() const { return has_trips ? 1U : 0U; }
  std::size_t states_at() const { return std::size_t{has_trips} + std::size_t{has_go}; }
  std::size_t scans_at() const { return states_at() + states; }
  /// Input number of stack k's extent; only where `has_extent(k)`.
  std::size_t extent_at(std::size_t k) const;
  bool has_extent(std::size_t k) const { return k < extents.size() && extents[k] != 0; }
  /// The same of item k.
  Type declared_item(std::size_t k) const { return k < declared.size() ? declared[k] : Type(); }
  std::size_t input_count() const;
  std::size_t output_count() const { return states + stacks + 1; }
  Attributes attributes() const;
  LoopParts() = default;
};

}  // namespace rondel::ir
