#pragma once
#include "exporters/onnx/liveness.h"
#include "ir/graph.h"

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace rondel::exporters {

/// Unique names: the wanted name, or that name with a number appended.
class Names {
 public:
  std::string unique(const std::string& wanted);
  void reserve(const std::string& name) { used_.insert(name); }

 private:
  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, std::int64_t> next_;  ///< last number tried for a taken name
};

/// Names for unknown extents, which differ from the names of all other extents of the graph.
class Dimensions {
 public:
  explicit Dimensions(const ir::Graph&);
  /// The type with a new name for each extent that has neither a name nor a number. The new names
  /// begin with `of`, the value's name.
  ir::Type named(const ir::Type&, const std::string& of);

 private:
  Names names_;
};

/// The node's name in the file or network that it came from; empty if it has none.
std::string name_in_file(const ir::Node&);

/// Whether result `k` of the model has the name of an input. Such an output is that input, so that
/// no node can write it.
bool is_input_by_name(const ir::Graph&, std::size_t k);

/// Gives each loop a unique name.
void name_loops(ir::Graph&);

/// Names for nodes. If one node or layer of the source became several nodes, one of them keeps the
/// name: the loop or conditional, else the node with the source's op, else the node that makes the
/// result. The others get the name with a number appended. A node without a source has no name.
class NodeNames {
 public:
  NodeNames(const ir::Graph&, const LiveValues&);
  std::string of(ir::NodeId);

 private:
  struct NameOwner {
    int rank = -1;
    ir::NodeId node = ir::NodeId::none;
  };
  void find_owners(const LiveValues&, ir::RegionId);

  const ir::Graph& g_;
  std::map<std::string, NameOwner> owners_;  ///< by name
  Names names_;
};

}  // namespace rondel::exporters
