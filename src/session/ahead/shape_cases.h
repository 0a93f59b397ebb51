#pragma once
#include "ir/graph.h"

#include <rondel/ahead_of_time.h>

#include <span>
#include <string>
#include <vector>

namespace rondel::ahead {

/// Values of the inputs that are fed by name, in order, of any contents, for which code is made.
struct ShapeCase {
  std::vector<Value> inputs;
  bool open = false;     ///< whether some extents are examples of a class
  bool as_named = true;  ///< whether extents of the same name in the model are equal
};

/// All combinations of shapes that code is made for (CompileOptions::shapes). Throws Error(caller)
/// for shapes that the model does not take, and for inputs whose rank neither the model nor a case
/// says.
std::vector<ShapeCase> shape_cases(const ir::Graph&, std::span<const InputShapes> stated);

}  // namespace rondel::ahead
