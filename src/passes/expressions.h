#pragma once
#include "ir/graph.h"

#include <string>
#include <vector>

/// When two nodes compute the same values.
namespace rondel::passes {

/// Whether the node is a pure function of its operands: equal operands give equal results.
bool is_expression(const ir::Node&);

/// A text that is equal for equal values: small constants are compared by value, because each
/// region may have its own copy, all others by id.
std::string operand_key(const ir::Graph&, ir::ValueId);

/// A text that is equal for expressions with the same op, attributes and operands. `inputs` stand
/// in for the node's own.
std::string expression_key(const ir::Graph&, const ir::Node&,
                           const std::vector<ir::ValueId>& inputs);

/// Whether two values are certainly equal: they are one value, equal constants, or the same
/// expressions of such values.
bool are_equal(const ir::Graph&, ir::ValueId, ir::ValueId);

}  // namespace rondel::passes
