#pragma once
#include "ir/graph.h"

#include <string>
#include <string_view>

namespace rondel::ir {

/// The graph as text, every attribute, type, name and source kept; constants of more than
/// `most_elements` elements are elided as `...` (then the text does not parse back).
struct TextOptions {
  std::int64_t most_elements = -1;  ///< -1: all
  bool sources = true;              ///< the trailing `// from ...`
};
std::string to_text(const Graph&, const TextOptions& = {});

/// Reads what `to_text` writes. Throws Error(caller) with line and column.
Graph parse(std::string_view text);

/// Throws Error(internal) naming node and value unless the graph is well formed: ids in range,
/// definitions before uses and in scope, counts and kinds of inputs, attributes and regions as the
/// op says, types as its rule gives them (or less exact), loops and ifs with the arities of their
/// form.
void verify(const Graph&);

}  // namespace rondel::ir
