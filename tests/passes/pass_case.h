#pragma once
#include "ir/text.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace rondel::passes {

using AnyPass = std::function<bool(ir::Graph&)>;

/// Holds a pass to whole graphs, written as text in which types may be left out: `before` becomes
/// `after`, the pass says whether it changed anything, what it leaves is well formed, and running
/// it once more changes nothing.
inline void expect_rewrite(const AnyPass& pass, const std::string& before,
                           const std::string& after) {
  ir::Graph g = ir::parse(before);
  const std::string given = ir::to_text(g), wanted = ir::to_text(ir::parse(after));
  const bool changed = pass(g);
  const std::string got = ir::to_text(g);
  EXPECT_EQ(got, wanted);
  EXPECT_EQ(changed, got != given) << "what the pass says of\n" << got;
  ir::verify(g);
  EXPECT_FALSE(pass(g)) << "the second time, of\n" << got;
  EXPECT_EQ(ir::to_text(g), got) << "the second time";
}

inline void expect_untouched(const AnyPass& pass, const std::string& graph) {
  expect_rewrite(pass, graph, graph);
}

}  // namespace rondel::passes
