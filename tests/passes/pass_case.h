#pragma once
#include "ir/text.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace rondel::passes {

using AnyPass = std::function<bool(ir::Graph&)>;

/// Tests a pass on whole graphs, written as text in which types may be left out: the pass turns
/// `before` into `after`, reports whether it changed anything, leaves a valid graph, and changes
/// nothing if it runs again.
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
