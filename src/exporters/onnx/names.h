#pragma once
#include "exporters/onnx/live.h"
#include "ir/graph.h"

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace rondel::exporters {

/// Names, each given once: the one wanted, or that with a number behind it.
class Names {
 public:
  std::string unique(const std::string& wanted);
  void reserve(const std::string& name) { used_.insert(name); }

 private:
  std::unordered_set<std::string> used_;
  std::unordered_map<std::string, std::int64_t> next_;  ///< number to try for a name that is taken
};

/// Names for extents that are not known, none of which the graph has for another.
class Dimensions {
 public:
  explicit Dimensions(const ir::Graph&);
  /// The type with a name for each of its extents that has neither that nor a number; `of` is what
  /// the value is called.
  ir::Type named(const ir::Type&, const std::string& of);

 private:
  Names names_;
};

/// The node's name in the file it came from; empty where it came from none.
std::string name_in_file(const ir::Node&);

/// Loops that nobody named get a name, and those of one name a name each.
void name_loops(ir::Graph&);

/// Names for nodes. Where one node or layer became several, its name is that of what it is: the
/// loop or conditional, else the node of its own op, else the one that makes its result. The
/// others have numbers behind it, and what came from nowhere has no name.
class NodeNames {
 public:
  NodeNames(const ir::Graph&, const Live&);
  std::string of(ir::NodeId);

 private:
  struct Bearer {
    int rank = -1;
    ir::NodeId node = ir::NodeId::none;
  };
  void find_bearers(const Live&, ir::RegionId);

  const ir::Graph& g_;
  std::map<std::string, Bearer> bearers_;  ///< by name
  Names names_;
};

}  // namespace rondel::exporters
