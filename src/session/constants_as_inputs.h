#pragma once
#include "ir/graph.h"

#include <string>
#include <vector>

namespace rondel::session {

/// Adds an input. Requires that the name is not that of another one.
ir::ValueId add_input(ir::Graph&, ir::Type, const std::string& name);
/// Requires that nothing reads the input.
void erase_input(ir::Graph&, ir::ValueId);

/// Constants that stand as inputs while a graph is changed, so that nothing is computed from their
/// values beforehand.
class ConstantsAsInputs {
 public:
  explicit ConstantsAsInputs(ir::Graph& g) : g_(g) {}
  /// An input with the name of the constant, which stands in the root region; its readers read the
  /// input from now on.
  ir::ValueId stand_in(ir::ValueId constant);
  /// All of them are constants again.
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
