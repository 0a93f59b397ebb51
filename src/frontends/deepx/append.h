#pragma once
#include "frontends/deepx/program.h"
#include "frontends/deepx/statement.h"

#include <optional>

namespace rondel::deepx {

struct LineGraph;
class LineGraphs;

/// Checks a statement and appends what it computes. `known`: graphs of lines so far, of any
/// program. Throws Error(caller) at a place in the text, and Error(limit); nothing has changed
/// then. What the line asks for beside values is given back.
std::optional<Effect> append(Program&, LineGraphs& known, const Statement&);

/// A line that computes, apart from all others.
struct SingleLine {
  std::shared_ptr<const LineGraph> graph;
  std::vector<Tensor> inputs;        ///< of its parameters
  std::vector<std::string> outputs;  ///< tensors that have its results as their values
};

/// Checks a line that no other one is computed with, and does not append it: where such a line has
/// come before, its graph is not written again. Nothing may be pending. Nothing is given back where
/// it is to be appended all the same. Throws as `append` does. The draws that the line takes have
/// been taken; `undo` takes them back.
std::optional<SingleLine> look_up(Program&, LineGraphs& known, const Statement&);

}  // namespace rondel::deepx
