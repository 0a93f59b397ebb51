#pragma once
#include "ir/graph.h"

#include <optional>
#include <string_view>

/// What printer and parser share of a loop's own form, in which its inputs stand under their
/// names and its counts follow from them.
namespace rondel::ir {

struct LoopText {
  LoopParts parts;
  bool names_extents = false;  ///< `extents=(%e, _)` is written
};

/// The loop's parts when its own form says all of it: counts and lists agree with inputs and body.
/// Any other node, a malformed loop too, is written as an op with inputs and attributes.
std::optional<LoopText> loop_text(const Graph&, const Node&);

/// Attributes that follow from the named parts.
bool is_loop_count(std::string_view attribute);

/// What a list attribute of a loop is when it is not written: zeros. Nothing for other attributes.
std::optional<Ints> usual_loop_list(const LoopParts&, std::string_view attribute);

}  // namespace rondel::ir
