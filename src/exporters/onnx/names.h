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
  std::unordered_map<std::string, std::int64_t> next_;  ///< number to try for a name that is taken
};

/// Names for unknown extents. None is the name of another extent of the graph.
class Dimensions {
 public:
  explicit Dimensions(const ir::Graph&);
  /// The type with a name for each extent that has neither a name nor a number; `of` is the
  /// value's name.
  ir::Type named(const ir::Type&, const std::string& of);

 private:
  Names names_;
};

/// The node's name in the file that it came from; empty where there is none.
std::string name_in_file(const ir::Node&);

/// Gives each loop a unique name.
void name_loops(ir::Graph&);

/// Names for nodes. Where one node or layer of the source became several nodes, one of them keeps
/// the name: the loop or conditional, else the node with the source's op, else the node that makes
/// the result. The others get the name with a number. A node without a source has no name.
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
