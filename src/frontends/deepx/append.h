#pragma once
#include "frontends/deepx/program.h"
#include "frontends/deepx/statement.h"

#include <optional>

namespace rondel::deepx {

struct LineGraph;
class LineGraphs;

/// Checks a statement and appends its computation to the pending graph. Returns the effect that the
/// caller must perform, if any. `known`: a cache of line graphs, which programs may share. Throws
/// Error(caller), with a position, and Error(limit); the program is unchanged then.
std::optional<Effect> append(Program&, LineGraphs& known, const Statement&);

/// A line that is computed alone.
struct SingleLine {
  std::shared_ptr<const LineGraph> graph;
  std::vector<Tensor> inputs;        ///< of the graph's parameters
  std::vector<std::string> outputs;  ///< the names of the tensors that the results belong to
};

/// Checks a line that is computed alone, without appending it. The graph comes from `known` if a
/// line with the same key was seen before. Precondition: nothing is pending. Returns nothing if the
/// line must be appended instead: a block, an unknown instruction, an instruction that changes
/// names, or an input tensor that has not been written yet. Throws as `append` does. The line's
/// random draws are counted; `Program::undo` takes the count back.
std::optional<SingleLine> look_up(Program&, LineGraphs& known, const Statement&);

}  // namespace rondel::deepx
