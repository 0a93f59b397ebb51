// Which nodes share a step.
#include "lowering/group.h"

#include "base/text.h"
#include "ir/text.h"

#include <gtest/gtest.h>

namespace rondel::lowering {
namespace {

/// Groups as text, "[a b](x)->(b)": the nodes, by the names of their first outputs, the inputs and
/// the outputs of the group. A group that is no program begins with "!".
std::string groups(const std::string& text, bool fuse = true) {
  const ir::Graph g = ir::parse(text);
  const ir::TypeEnvironment k = ir::type_environment(g);
  const auto name = [&](ir::ValueId v) { return g.value(v).name; };
  std::vector<std::string> all;
  for (const Group& group : group_nodes(g, ir::RegionId::root, k.types, fuse)) {
    const auto node = [&](ir::NodeId n) { return name(g.node(n).outputs[0]); };
    all.push_back(fmt::format("{}[{}]({})->({})", group.program ? "" : "!",
                              join(group.nodes, " ", node), join(group.inputs, " ", name),
                              join(group.outputs, " ", name)));
  }
  return join(all, " ");
}

TEST(Group, ElementsOfOneIndexSpaceComeTogether) {
  const char* text = R"g(graph "g" (%x: f32[N], %y: f32[N], %z: f32[M]) {
    %a = neg(%x)
    %b = mul(%a, %y)
    %c = abs(%z)
    %d = exp(%b)
    yield %c, %d })g";
  EXPECT_EQ(groups(text), "[a b d](x y)->(d) [c](z)->(c)");
  EXPECT_EQ(groups(text, false), "[a](x)->(a) [b](a y)->(b) [c](z)->(c) [d](b)->(d)");
}

TEST(Group, WhatIsReadElsewhereLeavesTheGroup) {
  EXPECT_EQ(groups(R"g(graph "g" (%x: f32[4]) {
    %a = neg(%x)
    %b = abs(%a)
    %s = reduce_sum(%a)
    yield %b, %s })g"),
            "[a b](x)->(a b) [s](a)->(s)");
}

TEST(Group, WhatReadsOtherElementsThanItsOwnIsNoPartOfTheirGroup) {
  EXPECT_EQ(groups(R"g(graph "g" (%x: f32[4, 4]) {
    %a = neg(%x)
    %t = trilu(%a)
    %b = abs(%t)
    yield %b })g"),
            "[a](x)->(a) [t b](a)->(b)");
}

TEST(Group, AReductionBeginsAGroupAndABroadcastEndsOne) {
  EXPECT_EQ(groups(R"g(graph "g" (%x: f32[4], %w: f32[4, 4]) {
    %a = neg(%x)
    %s = reduce_sum(%a) keepdims=0
    %t = exp(%s)
    %b = add(%a, %w)
    yield %t, %b })g"),
            "[a](x)->(a) [s t](a)->(t) [b](a w)->(b)");
}

TEST(Group, ConstantsAreHeldAndKernelsStandAlone) {
  EXPECT_EQ(groups(R"g(graph "g" (%x: f32[4]) {
    %two = constant value=f32[] {2}
    %a = mul(%x, %two)
    %n = non_zero(%a)
    %m = neg(%n)
    yield %m })g"),
            "[a](x)->(a) ![n](a)->(n) [m](n)->(m)");
}

}  // namespace
}  // namespace rondel::lowering
