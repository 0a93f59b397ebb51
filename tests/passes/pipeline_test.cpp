// Passes run in rounds until nothing changes.
#include "passes/pipeline.h"

#include "base/error.h"
#include "ir/text.h"

#include <gmock/gmock.h>

namespace rondel::passes {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A pass that returns true the first `times` times.
Pass changing(const char* name, int& times) {
  return {name, "", [&times](ir::Graph&, const PassOptions&) { return times-- > 0; }};
}

std::vector<std::string> ran(std::span<const Pass> passes) {
  ir::Graph g = ir::parse("graph \"g\" () { yield }");
  std::vector<std::string> runs;
  const auto note = [&](const PassRun& r, const ir::Graph&) {
    EXPECT_GE(r.seconds, 0);
    runs.push_back(fmt::format("{}{}{}", r.pass->name, r.round, r.changed ? "!" : ""));
  };
  run({"p", "", passes}, g, {}, {.verify = true, .after = note});
  return runs;
}

TEST(Pipeline, APassRunsAgainOnlyWhereAnotherHasChangedSomething) {
  int never = 0, once = 1, twice = 2, late = 1;
  const std::vector<Pass> quiet{changing("a", never), changing("b", never)};
  EXPECT_THAT(ran(quiet), ElementsAre("a1", "b1"));
  never = 0;
  const std::vector<Pass> first{changing("a", once), changing("b", never)};
  EXPECT_THAT(ran(first), ElementsAre("a1!", "b1"));
  never = 0;
  const std::vector<Pass> last{changing("a", never), changing("b", late)};
  EXPECT_THAT(ran(last), ElementsAre("a1", "b1!", "a2"));
  never = 0, late = 1;
  const std::vector<Pass> both{changing("a", twice), changing("b", late), changing("c", never)};
  EXPECT_THAT(ran(both), ElementsAre("a1!", "b1!", "c1", "a2!", "b2", "c2"));
}

TEST(Pipeline, PassesThatTossToAndFroAreFound) {
  int always = 1000, ever = 1000;
  const std::vector<Pass> passes{changing("a", always), changing("b", ever)};
  try {
    ran(passes);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_EQ(e.blame(), Blame::internal);
    EXPECT_THAT(e.what(), HasSubstr("still changes the graph after 16 rounds"));
  }
}

TEST(Pipeline, WhatAPassLeavesIsVerified) {
  const Pass broken{"broken", "", [](ir::Graph& g, const PassOptions&) {
                      g.output_names = {"a", "b", "c"};
                      return true;
                    }};
  ir::Graph g = ir::parse("graph \"g\" () { yield }");
  EXPECT_THROW(run({"p", "", {&broken, 1}}, g, {}, {.verify = true}), Error);
  EXPECT_TRUE(run({"p", "", {&broken, 1}}, g, {}));
}

TEST(Pipeline, CanonicalGraphsAreContractedOnlyWhenTheyAreOptimised) {
  const char* text = R"g(graph "g" (%x: f32[2], %z: i64[]) {
    %a = identity(%x)
    %p = mul(%a, %x)
    %y = add(%p, %a)
    %dead = neg(%y)
    %w = cast_like(%z, %y)
    yield %y, %w })g";
  ir::Graph g = ir::parse(text);
  EXPECT_TRUE(run(canonicalize(), g, {}, {.verify = true}));
  EXPECT_EQ(ir::to_text(g), ir::to_text(ir::parse(R"g(graph "g" (%x: f32[2], %z: i64[]) {
    %p = mul(%x, %x)
    %y = add(%p, %x)
    %w = convert(%z) to=type f32[]
    yield %y, %w })g")));
  EXPECT_FALSE(run(canonicalize(), g, {}, {.verify = true}));
  ir::Graph strict = g;
  EXPECT_FALSE(run(optimize(), strict, {.fuse_multiply_add = false}, {.verify = true}));
  EXPECT_TRUE(run(optimize(), g, {}, {.verify = true}));
  EXPECT_EQ(ir::to_text(g), ir::to_text(ir::parse(R"g(graph "g" (%x: f32[2], %z: i64[]) {
    %y = fma(%x, %x, %x)
    %w = convert(%z) to=type f32[]
    yield %y, %w })g")));
}

}  // namespace
}  // namespace rondel::passes
