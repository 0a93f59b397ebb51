#pragma once
#include "frontends/mdf/model.h"
#include "frontends/mdf/rule.h"

#include <cstddef>
#include <vector>

/// The rules of MDF's scheduler, for a whole graph.
namespace rondel::mdf {

/// When each node runs and when an evaluation ends.
struct Rules {
  std::vector<Rule> nodes;
  Rule end;                 ///< when an evaluation ends
  Rule sequence;            ///< when the whole sequence ends
  std::size_t n_whens = 0;  ///< number of `n_when` rules
};

/// Reads the conditions of a graph. Default for a node: it runs after each of its dependencies has
/// run. Default for the end of an evaluation: all nodes have run. Throws Error: `caller` for an
/// unknown type, name or argument, and for an evaluation that can never end; `unsupported` for a
/// condition that is not implemented.
Rules read_rules(const Graph&);

/// Whether a graph has any conditions or termination rules.
bool has_conditions(const Graph&);

}  // namespace rondel::mdf
