#pragma once
#include <rondel/export.h>
#include <rondel/session.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// The graph of a model, to be drawn.
namespace rondel {

struct GraphValue {
  std::string name, type;  ///< "x", "f32[n, 3]"
  std::string constant;    ///< of a constant: its value, large ones elided; else empty
};

/// A value where a node or a region reads or gives it.
struct GraphPort {
  int value = -1;    ///< index of GraphInfo::values; -1: left out
  std::string role;  ///< in loops "trips", "go", "state", "scan", "stack", "extent", "trip"; of the
                     ///< model: the name of the input or output; else empty
};

struct GraphRegion;

struct GraphNode {
  std::string op;      ///< of Rondel's: "reduce_max"
  std::string source;  ///< the node of the file that it comes from: "node 'worst' (ReduceMax)"
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<GraphPort> inputs, outputs;
  std::vector<GraphRegion> regions;  ///< of a loop: its body; of an `if`: then, else
};

/// A model, a loop's body or a branch. Its nodes may read values of the regions around it.
/// Constants are no nodes.
struct GraphRegion {
  std::string role;  ///< "model", "body", "then", "else"
  std::vector<GraphPort> params, results;
  std::vector<GraphNode> nodes;  ///< each after those that it reads
};

struct GraphInfo {
  std::string name;
  std::vector<GraphValue> values;
  GraphRegion root;
};

/// Reads a model as it was imported, with inferred types, without running it. Throws as Session's
/// constructor does.
RONDEL_API GraphInfo describe_graph(const std::filesystem::path& model, const SessionOptions& = {});
RONDEL_API GraphInfo describe_graph(std::span<const std::byte> model, const SessionOptions& = {});

}  // namespace rondel
