#pragma once
#include "ir/infer.h"

#include <string>
#include <vector>

namespace rondel::lowering {

/// The message of a check that a node's rule accepts its operands, with {} for each extent in
/// `shown`.
struct RuleText {
  std::string text;
  ir::Extents shown;
};

/// `conditions`: what the program checks for the node, none of which may be negative. The text is
/// that of the rule's own error if the conditions depend on one extent of the operands; else it
/// shows the types of all operands.
RuleText rule_text(const ir::Graph&, ir::NodeId, const ir::TypeEnvironment&,
                   const ir::Integers& conditions);

}  // namespace rondel::lowering
