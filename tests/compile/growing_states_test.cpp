// States that a loop grows by concat lie in a block with room; older values never change.
#include "compile/plan_builder.h"
#include "compile/tiered_compiler.h"
#include "ir/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace rondel::compile {
namespace {

using ::testing::ElementsAre;

/// The results of a graph with the parameters x: f32[?] and n: i64[].
std::vector<Tensor> run(const std::string& text, const Tensor& x, std::int64_t n,
                        Execution execution = Execution::interpreter) {
  BuildContext context;
  context.graph = std::make_shared<const ir::Graph>(ir::parse(text));
  context.compiler = std::make_shared<TieredCompiler>(execution);
  context.lowering.verify = true;
  const runtime::Plan plan = build_plan(context, ir::RegionId::root);
  runtime::Memory memory(std::numeric_limits<std::size_t>::max());
  runtime::Run run{memory, std::numeric_limits<std::int64_t>::max()};
  const runtime::FrameLease frame(plan, run);
  frame->set(plan.params[0], x);
  frame->set(plan.params[1], Tensor::scalar(n));
  frame->execute();
  std::vector<Tensor> results;
  for (const runtime::Slot s : plan.results) results.push_back((*frame)[s].tensor());
  return results;
}

std::vector<float> elements(const Tensor& t) {
  return {t.data_as<float>(), t.data_as<float>() + t.size()};
}

/// The blocks that the state had in the trips, as the addresses of its first element.
TEST(GrowingStates, MostTripsAppendInPlace) {
  const std::vector<Tensor> made = run(R"g(graph "g" (%x: f32[1], %n: i64[]) {
    %all, %kept, %#0 = loop trips=%n states=(%x, %x) {
      body(%i: i64[], %go: bool[], %s: f32[?], %before: f32[?]) {
        %t: f32[?] = concat(%s, %x) axis=0
        yield go=%go states=(%t, %s)
      }
    }
    yield %all, %kept
  })g",
                                       Tensor::from<float>({1}, {2}), 5);
  EXPECT_THAT(elements(made[0]), ElementsAre(2, 2, 2, 2, 2, 2));
  EXPECT_THAT(elements(made[1]), ElementsAre(2, 2, 2, 2, 2));
  EXPECT_EQ(made[0].data(), made[1].data()) << "the older value is a prefix of the newer";
}

TEST(GrowingStates, TwoContinuationsOfAValueLieInTwoBlocks) {
  const std::vector<Tensor> made = run(R"g(graph "g" (%x: f32[1], %n: i64[]) {
    %one, %two, %#0 = loop trips=%n states=(%x, %x) {
      body(%i: i64[], %go: bool[], %s: f32[?], %u: f32[?]) {
        %y: f32[1] = neg(%x)
        %t: f32[?] = concat(%s, %x) axis=0
        %v: f32[?] = concat(%s, %y) axis=0
        yield go=%go states=(%t, %v)
      }
    }
    yield %one, %two
  })g",
                                       Tensor::from<float>({1}, {2}), 4);
  EXPECT_THAT(elements(made[0]), ElementsAre(2, 2, 2, 2, 2));
  EXPECT_THAT(elements(made[1]), ElementsAre(2, 2, 2, 2, -2));
  EXPECT_NE(made[0].data(), made[1].data());
}

// A value that ends before the newest is no end to append to, and neither is a part of it.
TEST(GrowingStates, OnlyTheEndOfTheNewestValueIsContinued) {
  const std::vector<Tensor> made = run(R"g(graph "g" (%x: f32[2], %n: i64[]) {
    %zero: i64[1] = constant value=i64[1] {0}
    %minus: i64[1] = constant value=i64[1] {-1}
    %all, %older, %#0 = loop trips=%n states=(%x, %x) {
      body(%i: i64[], %go: bool[], %s: f32[?], %before: f32[?]) {
        %part: f32[?] = slice(%s, %zero, %minus, %zero)
        %t: f32[?] = concat(%part, %x) axis=0
        yield go=%go states=(%t, %s)
      }
    }
    yield %all, %older
  })g",
                                       Tensor::from<float>({2}, {1, 2}), 3);
  EXPECT_THAT(elements(made[0]), ElementsAre(1, 1, 1, 1, 2));
  EXPECT_THAT(elements(made[1]), ElementsAre(1, 1, 1, 2));
}

TEST(GrowingStates, RowsOfAMatrixAreJoinedInABlockOfTheirSize) {
  for (const std::int64_t n : {1, 2, 3}) {
    const std::vector<Tensor> made = run(R"g(graph "g" (%x: f32[2, 1], %n: i64[]) {
      %all, %#0 = loop trips=%n states=(%x) {
        body(%i: i64[], %go: bool[], %s: f32[2, ?]) {
          %t: f32[2, ?] = concat(%s, %x) axis=1
          yield go=%go states=(%t)
        }
      }
      yield %all
    })g",
                                         Tensor::from<float>({2, 1}, {1, 2}), n);
    std::vector<float> want(static_cast<std::size_t>(n + 1), 1);
    want.insert(want.end(), static_cast<std::size_t>(n + 1), 2);
    EXPECT_TRUE(made[0].contiguous());
    EXPECT_EQ(elements(made[0]), want) << n << " trips";
  }
}

// A loop that data end has room for a few trips at first. Its state moves to larger blocks.
TEST(GrowingStates, NativeLoopsGrowAcrossChunks) {
  const std::vector<Tensor> made = run(R"g(graph "g" (%x: f32[2, 1], %n: i64[]) {
    %yes = constant value=bool[] {true}
    %one = constant value=i64[] {1}
    %all, %last, %#0 = loop go=%yes states=(%x, %x) {
      body(%i: i64[], %go: bool[], %s: f32[2, ?], %y: f32[2, 1]) {
        %t: f32[2, ?] = concat(%s, %y) axis=1
        %z: f32[2, 1] = add(%y, %x)
        %k: i64[] = add(%i, %one)
        %on: bool[] = less(%k, %n)
        yield go=%on states=(%t, %z)
      }
    }
    yield %all, %last
  })g",
                                       Tensor::from<float>({2, 1}, {1, 2}), 100,
                                       Execution::compiled);
  ASSERT_EQ(made[0].shape(), Shape({2, 101}));
  const std::vector<float> all = elements(made[0].packed());
  for (std::size_t row = 0; row < 2; ++row)
    for (std::size_t t = 0; t < 101; ++t)
      ASSERT_EQ(all[101 * row + t], static_cast<float>((row + 1) * std::max<std::size_t>(t, 1)))
          << row << ", " << t;
}

// The value that was extended is read after the longer one has been changed.
TEST(GrowingStates, NativeLoopsKeepWhatIsStillRead) {
  const std::vector<Tensor> made = run(R"g(graph "g" (%x: f32[2], %n: i64[]) {
    %all, %sums, %#0 = loop trips=%n states=(%x) {
      body(%i: i64[], %go: bool[], %s: f32[?]) {
        %longer: f32[?] = concat(%s, %x) axis=0
        %t: f32[?] = neg(%longer)
        %sum: f32[] = reduce_sum(%s) keepdims=0
        yield go=%go states=(%t) items=(%sum)
      }
    }
    yield %all, %sums
  })g",
                                       Tensor::from<float>({2}, {1, 2}), 3, Execution::compiled);
  EXPECT_THAT(elements(made[0]), ElementsAre(-1, -2, -1, -2, 1, 2, -1, -2));
  EXPECT_THAT(elements(made[1]), ElementsAre(3, -6, 3));
}

// Both states begin alike, and one grows faster.
TEST(GrowingStates, NativeLoopsTellUnlikeExtentsApart) {
  const std::vector<Tensor> made = run(R"g(graph "g" (%x: f32[2], %n: i64[]) {
    %one, %two, %#0 = loop trips=%n states=(%x, %x) {
      body(%i: i64[], %go: bool[], %s: f32[?], %u: f32[?]) {
        %t: f32[?] = concat(%s, %x) axis=0
        %a: f32[?] = concat(%u, %x) axis=0
        %v: f32[?] = concat(%a, %x) axis=0
        yield go=%go states=(%t, %v)
      }
    }
    %both = concat(%one, %two) axis=0
    yield %both, %two
  })g",
                                       Tensor::from<float>({2}, {1, 2}), 2, Execution::compiled);
  EXPECT_EQ(made[0].size(), 16);
  EXPECT_THAT(elements(made[1]), ElementsAre(1, 2, 1, 2, 1, 2, 1, 2, 1, 2));
}

}  // namespace
}  // namespace rondel::compile
