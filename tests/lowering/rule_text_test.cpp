#include "lowering/rule_text.h"

#include "ir/text.h"

#include <gtest/gtest.h>

namespace rondel::lowering {
namespace {

const ir::Integer a(ir::Symbol::named("a")), b(ir::Symbol::named("b"));

/// The text for the node that makes the result of a graph, and the extents that it shows.
std::string told(std::string_view text, const ir::Integers& conditions) {
  const ir::Graph g = ir::parse(text);
  const ir::NodeId maker = g.value(g.root().results[0]).producer;
  const RuleText t = rule_text(g, maker, ir::type_environment(g), conditions);
  std::string shown = t.text + " |";
  for (const ir::Extent& e : t.shown) shown += " " + to_text(ir::Integer(e));
  return shown;
}

TEST(RuleText, OneExtentDecides) {
  EXPECT_EQ(
      told(R"(graph "g" (%x: f32[a, b]) { %i: i64[1] = constant value=i64[1] {0}
                    %y = squeeze(%x, %i) yield %y })",
           {a - 1, 1 - a}),
      "axis 0 has extent {}; only axes of extent 1 can go; x=f32[{}, {}] axes=i64[1] | a a b");
}

TEST(RuleText, SeveralExtentsDecide) {
  EXPECT_EQ(told(R"(graph "g" (%x: f32[a], %y: f32[b]) { %z = add(%x, %y) yield %z })",
                 {(a - 1) * (a - b)}),
            "extents that do not fit: a=f32[{}] b=f32[{}] | a b");
}

TEST(RuleText, NumbersThatAreComputedAreNotShown) {
  EXPECT_EQ(told(R"(graph "g" (%x: f32[a, 3]) { %s: i64[1] = constant value=i64[1] {6}
                    %y = reshape(%x, %s) yield %y })",
                 {a * 3 - 6, 6 - a * 3}),
            "extents that do not fit: x=f32[{},3] shape=i64[1] | a");
}

}  // namespace
}  // namespace rondel::lowering
