#pragma once
#include "frontends/mdf/model.h"
#include "frontends/mdf/rule.h"

#include <cstddef>
#include <vector>

/// The conditions of MDF's scheduler, typed.
namespace rondel::mdf {

/// When each node runs and when an evaluation ends.
struct Rules {
  std::vector<Rule> nodes;
  Rule end;       ///< of an evaluation
  Rule sequence;  ///< of the whole sequence
  std::size_t n_whens = 0;
};

/// Reads the conditions of a graph. Nodes without one run once each of the nodes they wait for has;
/// evaluations without one end when all nodes have run. Throws Error: `caller` for an unknown type,
/// name or argument and for an evaluation that could never end, `unsupported` for a condition that
/// is not run here.
Rules read_rules(const Graph&);

/// Whether a graph says anything of when nodes run.
bool has_conditions(const Graph&);

}  // namespace rondel::mdf
