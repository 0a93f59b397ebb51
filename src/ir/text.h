#pragma once
#include "ir/graph.h"

#include <string>
#include <string_view>

namespace rondel::ir {

/// Options of `to_text`, which keeps every attribute, type, name and source. Constants of more than
/// `most_elements` elements are elided as `...`; the text then does not parse back.
struct TextOptions {
  std::int64_t most_elements = -1;  ///< -1: nothing is elided
  bool sources = true;              ///< the trailing `// from ...`
};
std::string to_text(const Graph&, const TextOptions& = {});

/// Parses the output of `to_text`. Throws Error(caller) with line and column.
Graph parse(std::string_view text);

/// Throws Error(internal) naming node and value unless the graph is well formed: ids in range,
/// definitions before uses and in scope, counts and kinds of inputs, attributes and regions as the
/// op defines them, types as its rule gives them (or less exact), and consistent arities of loops
/// and ifs.
void verify(const Graph&);

}  // namespace rondel::ir
