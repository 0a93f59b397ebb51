#pragma once
#include "passes/named_extents.h"
#include "passes/packed_list.h"

#include <set>
#include <string>
#include <vector>

namespace rondel::passes {

/// Lists that may be one another in a run (passes/webs.h), and what nodes do with them.
struct ListWeb {
  std::vector<ir::ValueId> lists;
  std::vector<ir::ValueId> items;  ///< tensors that get into the lists
  std::vector<ir::ValueId> given;  ///< lists that are inputs, or that a node makes in its own way
  std::vector<ir::NodeId> nodes;   ///< that make or read them, but for loops and `if`s
  std::set<ir::NodeId> loops;      ///< that carry, make or read them
  bool is_carried = false;         ///< by a loop or an `if`, or made or read in a loop
  std::string why_not = {};        ///< the first reason why they stay
  ListForm form = {};
};

/// All webs of lists in a graph.
std::vector<ListWeb> list_webs(const ir::Graph&);

/// Decides on the form of a web: `form`, or else `why_not`. `k`: the types of all values.
void find_form(const ir::Graph&, const ir::TypeEnvironment& k, const NamedExtents&, ListWeb&);

}  // namespace rondel::passes
