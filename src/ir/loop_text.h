#pragma once
#include "ir/graph.h"

#include <optional>
#include <string_view>

/// The syntax of loops, shared by printer and parser: inputs are written by role (`trips=`,
/// `states=`, ...), and counts follow from them.
namespace rondel::ir {

struct LoopText {
  LoopParts parts;
  bool names_extents = false;  ///< `extents=(%e, _)` is printed
};

/// The parts of a loop that the loop syntax can express: counts and lists agree with inputs and
/// body. Nothing for any other node and for a malformed loop: they are printed like other ops, with
/// inputs in parentheses and attributes.
std::optional<LoopText> loop_text(const Graph&, const Node&);

/// Whether the attribute follows from the inputs and the yield in the loop syntax.
bool is_loop_count(std::string_view attribute);

/// The default of a list attribute of a loop: zeros. Nothing for other attributes.
std::optional<Ints> default_loop_list(const LoopParts&, std::string_view attribute);

}  // namespace rondel::ir
