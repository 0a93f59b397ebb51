// Extents that trips and data choose: parts of tensors whose bounds the program finds when it runs.
#include "compile/plan_builder.h"
#include "compile/tiered_compiler.h"
#include "ir/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace rondel::compile {
namespace {

using testing::ElementsAre;

/// Five trips; trip i reads `d[i]`.
ir::Graph loop_of(const std::string& body) {
  return ir::parse(R"g(graph "g" (%x: f32[N], %d: i64[M]) {
    %five: i64[] = constant value=i64[] {5}
    %zero: i64[1] = constant value=i64[1] {0}
    %all: i64[1] = constant value=i64[1] {9223372036854775807}
    %out, %#0 = loop trips=%five {  // from "node 'loop'"
      body(%i: i64[], %go: bool[]) {
        %k = gather(%d, %i)
        %end = unsqueeze(%k, %zero)
        %trip = unsqueeze(%i, %zero)
        )g" + body +
                   R"g(
        yield go=%go items=(%y)
      }
    }
    yield %out
  })g");
}

struct Outcome {
  std::vector<float> elements;
  std::string how;  ///< how the loop ran
};

/// Each part of x = 1, 10, 100, ... tells by its sum which elements it has.
Outcome run(const ir::Graph& g, std::int64_t extent, Execution execution = Execution::quick) {
  BuildContext context;
  context.graph = std::make_shared<const ir::Graph>(ir::parse(ir::to_text(g)));
  context.compiler = std::make_shared<TieredCompiler>(execution, true);
  context.log = std::make_shared<ExecutionLog>();
  const runtime::Plan plan = build_plan(context, ir::RegionId::root);
  runtime::Memory memory(std::numeric_limits<std::size_t>::max(), true);
  runtime::Run run{memory, std::numeric_limits<std::int64_t>::max()};
  const runtime::FrameLease frame(plan, run);
  std::vector<float> x;
  for (float digit = 1; std::ssize(x) < extent; digit *= 10) x.push_back(digit);
  frame->set(plan.params[0], Tensor::from<float>({extent}, std::span<const float>(x)));
  frame->set(plan.params[1], Tensor::from<std::int64_t>({5}, {2, -1, -9, 7, 0}));
  frame->execute();
  const Tensor out = (*frame)[plan.results[0]].tensor().copy();
  Outcome made{{out.data_as<float>(), out.data_as<float>() + out.size()}, ""};
  if (const auto how = context.log->all(); how.contains("node 'loop'"))
    made.how = how.at("node 'loop'");
  return made;
}

TEST(ExtentsFromData, EndsAreCountedAsInNumPy) {
  const ir::Graph g = loop_of("%p = slice(%x, %zero, %end, %zero) %y = reduce_sum(%p) keepdims=0");
  for (const Execution how : {Execution::interpreter, Execution::compiled, Execution::quick})
    EXPECT_THAT(run(g, 4, how).elements, ElementsAre(11, 111, 0, 1111, 0));
  EXPECT_THAT(run(g, 0).elements, ElementsAre(0, 0, 0, 0, 0));
  EXPECT_EQ(run(g, 4).how, "natively, as a whole");
}

TEST(ExtentsFromData, SoAreStarts) {
  const ir::Graph g = loop_of("%p = slice(%x, %end, %all, %zero) %y = reduce_sum(%p) keepdims=0");
  EXPECT_THAT(run(g, 4).elements, ElementsAre(1100, 1000, 1111, 0, 1111));
  EXPECT_EQ(run(g, 4).how, "natively, as a whole");
}

TEST(ExtentsFromData, OneValueMayBeBothBounds) {
  const ir::Graph g = loop_of("%p = slice(%x, %end, %end, %zero) %y = reduce_sum(%p) keepdims=0");
  for (const Execution how : {Execution::interpreter, Execution::quick})
    EXPECT_THAT(run(g, 4, how).elements, ElementsAre(0, 0, 0, 0, 0));
}

TEST(ExtentsFromData, PartsWithTheSameBoundsHaveTheSameExtent) {
  const ir::Graph g = loop_of(R"g(%p = slice(%x, %zero, %end, %zero)
      %n = neg(%x) %q = slice(%n, %zero, %end, %zero)
      %r = sub(%p, %q) %y = reduce_sum(%r) keepdims=0)g");
  EXPECT_THAT(run(g, 4).elements, ElementsAre(22, 222, 0, 2222, 0));
  EXPECT_EQ(run(g, 4).how, "natively, as a whole");
}

TEST(ExtentsFromData, TheTripIndexIsABound) {
  const ir::Graph g = loop_of("%p = slice(%x, %zero, %trip, %zero) %y = reduce_sum(%p) keepdims=0");
  EXPECT_THAT(run(g, 3).elements, ElementsAre(0, 1, 11, 111, 111));
  EXPECT_EQ(run(g, 3).how, "natively, as a whole");
}

// What is found in one branch is found again where it is read after the `if`.
TEST(ExtentsFromData, WhatABranchFindsIsKnownThereOnly) {
  const ir::Graph g = loop_of(R"g(%zeroth: i64[] = constant value=i64[] {0}
      %is = less(%zeroth, %k)
      %a = if(%is) { then {
          %p = slice(%x, %zero, %end, %zero) %s = reduce_sum(%p) keepdims=0 yield %s
        } else { %f = convert(%k) to=type f32[] yield %f } }
      %q = slice(%x, %zero, %end, %zero) %b = reduce_sum(%q) keepdims=0
      %y = add(%a, %b))g");
  EXPECT_THAT(run(g, 4).elements, ElementsAre(22, 110, -9, 2222, 0));
  EXPECT_EQ(run(g, 4).how, "natively, as a whole");
}

// Nothing bounds what follows before it is made. Its trips run again with more room.

constexpr const char* numbers = R"g(%none: i64[] = constant value=i64[] {0}
      %one: i64[] = constant value=i64[] {1} )g";

TEST(GivenSizes, RangesAreAsLongAsDataSay) {
  const ir::Graph g = loop_of(numbers + std::string(R"g(%p = range(%none, %k, %one)
      %r = cum_sum(%p, %none) %s = reduce_sum(%r) keepdims=0
      %y = convert(%s) to=type f32[])g"));
  for (const Execution how : {Execution::interpreter, Execution::compiled, Execution::quick})
    EXPECT_THAT(run(g, 1, how).elements, ElementsAre(1, 0, 0, 56, 0));
  EXPECT_EQ(run(g, 1).how, "natively, as a whole");
}

TEST(GivenSizes, InnerLoopsThatDataEndStackTheirItems) {
  const ir::Graph g = loop_of(numbers + std::string(R"g(%yes = less(%none, %one)
      %s, %#1 = loop go=%yes { body(%j: i64[], %c: bool[]) {
          %more = less(%j, %k) %f = convert(%j) to=type f32[]
          yield go=%more items=(%f) } }
      %t = neg(%s) %a = reduce_max(%s) keepdims=0 %b = reduce_sum(%t) keepdims=0 %y = add(%a, %b))g"));
  for (const Execution how : {Execution::interpreter, Execution::compiled, Execution::quick})
    EXPECT_THAT(run(g, 1, how).elements, ElementsAre(-1, 0, 0, -21, 0));
  EXPECT_EQ(run(g, 1).how, "natively, as a whole");
}

// A trip writes the state in place before it meets a size that does not suffice.
TEST(GivenSizes, StatesAreRestoredBeforeTripsRunAgain) {
  const ir::Graph g = ir::parse(R"g(graph "g" (%x: f32[N], %d: i64[M]) {
    %five: i64[] = constant value=i64[] {5}
    %none: i64[] = constant value=i64[] {0}
    %one: i64[] = constant value=i64[] {1}
    %last, %#0 = loop trips=%five states=(%x) {  // from "node 'loop'"
      body(%i: i64[], %go: bool[], %v: f32[N]) {
        %k = gather(%d, %i)
        %w = add(%v, %v)
        %p = range(%none, %k, %one)
        %r = cum_sum(%p, %none)
        %s = reduce_sum(%r) keepdims=0
        %f = convert(%s) to=type f32[]
        %u = add(%w, %f)
        yield go=%go states=(%u)
      }
    }
    yield %last
  })g");
  for (const Execution how : {Execution::interpreter, Execution::compiled, Execution::quick})
    EXPECT_THAT(run(g, 2, how).elements, ElementsAre(32 + 16 + 112, 320 + 16 + 112));
  EXPECT_EQ(run(g, 2).how, "natively, as a whole");
}

// The inner state's room is a part of the outer state's size, or a size of its own, which is asked
// for.
TEST(GivenSizes, OfSeveralTheOneThatHelpsIsAskedFor) {
  const ir::Graph g = ir::parse(R"g(graph "g" (%x: f32[N], %d: i64[M]) {
    %three: i64[] = constant value=i64[] {3}
    %zero: i64[1] = constant value=i64[1] {0}
    %first: i64[1] = constant value=i64[1] {1}
    %count = size(%d)
    %last, %#0 = loop trips=%three states=(%x) {  // from "node 'loop'"
      body(%i: i64[], %go: bool[], %v: f32[?]) {
        %p = slice(%v, %zero, %first)
        %w, %#1 = loop trips=%count states=(%p) {
          body(%j: i64[], %c: bool[], %b: f32[?]) {
            %e = reduce_max(%b) keepdims=1
            %h = reduce_min(%v) keepdims=1
            %s = sub(%e, %h)
            %longer = concat(%b, %s) axis=0
            yield go=%c states=(%longer) } }
        yield go=%go states=(%w)
      }
    }
    yield %last
  })g");
  const auto interpreted = run(g, 2, Execution::interpreter).elements;
  EXPECT_EQ(interpreted.size(), 6U);
  for (const Execution how : {Execution::compiled, Execution::quick})
    EXPECT_EQ(run(g, 2, how).elements, interpreted);
  EXPECT_EQ(run(g, 2).how, "natively, as a whole");
}

}  // namespace
}  // namespace rondel::compile
