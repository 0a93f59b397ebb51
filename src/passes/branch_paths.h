#pragma once
#include "ir/clone.h"
#include "ir/infer.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

/// What nodes compute if each `if` among them that gives unlike ranks has taken one of its
/// branches.
namespace rondel::passes {

/// Whether the node is an `if` that gives an output of no rank, because the branches have unlike
/// ranks, or because an `if` in one of them gives such an output. Its condition certainly is one
/// element.
bool gives_unlike_ranks(const ir::Graph&, const ir::TypeEnvironment&, ir::NodeId);

/// Nodes in order, up to an `if` that decides.
struct Path {
  struct Step {
    ir::NodeId node;
    /// Of an `if` that is decided: its outputs are the results of this branch.
    ir::RegionId taken = ir::RegionId::none;
  };
  std::vector<Step> steps;
  ir::NodeId decides = ir::NodeId::none;  ///< none: the path ends
  std::vector<Path> next;                 ///< by branch of `decides`
};

/// Follows all paths through nodes of one region.
class PathFinder {
 public:
  using Infer = std::function<void(ir::NodeId)>;
  /// `k`: types of all that the nodes read. `infer`: infers the types of a node's outputs in `k`.
  /// `most_nodes`: on all paths together.
  PathFinder(const ir::Graph& g, ir::TypeEnvironment& k, Infer infer, std::size_t most_nodes)
      : g_(g), k_(k), infer_(std::move(infer)), room_(most_nodes) {}

  /// Sets `path` and `types`; the types of the nodes' outputs in `k` are then those of the last
  /// path. False if the paths are too long, or a rule does not hold on one.
  bool find(std::span<const ir::NodeId> nodes, std::span<const ir::ValueId> results);
  Path path;
  std::vector<ir::Type> types;  ///< of the results: what all paths have in common
  std::string why_not;          ///< of `find`

 private:
  class Known;
  using Steps = std::vector<Path::Step>;  // the next step last
  bool follow(Path&, Steps ahead);
  bool decide(Path&, const Steps& ahead);
  bool end();
  bool refuse(const char* why);
  void take(const Path::Step&);
  std::size_t size_of(ir::NodeId) const;

  const ir::Graph& g_;
  ir::TypeEnvironment& k_;
  const Infer infer_;
  std::size_t room_;
  std::span<const ir::ValueId> results_;
};

/// Copies the nodes of the path into a region, before a node (none: at the end), with an `if` for
/// each that decides. Returns the copies of the results. `types`: of the results.
std::vector<ir::ValueId> copy_path(ir::Graph&, const Path&, std::span<const ir::ValueId> results,
                                   std::span<const ir::Type> types, ir::RegionId,
                                   ir::NodeId before);

}  // namespace rondel::passes
