#pragma once
#include "ir/graph.h"

#include <string>
#include <vector>

namespace rondel::session {

/// Adds an input. Requires that no other input has the name.
ir::ValueId add_input(ir::Graph&, ir::Type, const std::string& name);
/// Requires that nothing reads the input.
void erase_input(ir::Graph&, ir::ValueId);

/// Replaces constants by inputs while a graph is changed, so that their values are not folded.
class ConstantsAsInputs {
 public:
  explicit ConstantsAsInputs(ir::Graph& g) : g_(g) {}
  /// Adds an input with the name of a constant of the root region; the readers of the constant read
  /// the input from now on.
  ir::ValueId stand_in(ir::ValueId constant);
  /// Replaces all these inputs by their constants again.
  void restore();

 private:
  struct StandIn {
    ir::ValueId input;
    std::string name, source;
    Tensor tensor;
  };

  ir::Graph& g_;
  std::vector<StandIn> stand_ins_;
};

}  // namespace rondel::session
