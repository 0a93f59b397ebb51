#pragma once
#include "ir/graph.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rondel::lowering {

/// What keeps a loop or an `if` from having a program, in the model's own names.
struct Refusal {
  std::string why;            ///< one node or value, and what about it
  std::string help = {};      ///< what would let the node run natively; empty if nothing would
  std::size_t followers = 0;  ///< nodes and states that are refused because of this one only
};

/// One line: the first refusal, what would help, and how many more there are.
std::string to_text(std::span<const Refusal>);
/// One line for this refusal alone.
std::string to_text(const Refusal&);

/// Whether native code has elements of this type: of tensors, but for text and c128.
bool has_native_elements(const ir::Type&);
/// Whether native code has values of this type: the rank is known as well.
bool is_native(const ir::Type&);
/// Why there is no native code for a value of this type. `what`: "state 's' is".
Refusal refusal_of(std::string_view what, const ir::Type&);

}  // namespace rondel::lowering
