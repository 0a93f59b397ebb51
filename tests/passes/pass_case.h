#pragma once
#include "ir/text.h"
#include "passes/remarks.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace rondel::passes {

/// A pass; its remarks, if it makes any, are made and dropped.
class AnyPass {
 public:
  template <class Pass> AnyPass(Pass pass) {  // NOLINT: implicit
    if constexpr (std::is_invocable_v<Pass, ir::Graph&>) run_ = std::move(pass);
    else run_ = [pass](ir::Graph& g) { return pass(g, std::make_unique<Remarks>().get()); };
  }
  bool operator()(ir::Graph& g) const { return run_(g); }

 private:
  std::function<bool(ir::Graph&)> run_;
};

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
