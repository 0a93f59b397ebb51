// Loops are split into segments of trips.
#include "gradients/checkpoint_loops.h"

#include "base/error.h"
#include "passes/pass_case.h"
#include "passes/remove_dead.h"

namespace rondel::gradients {
namespace {

/// The graph with all loops split that depend on its first parameter.
std::string cut(const std::string& text, std::optional<std::int64_t> trips) {
  ir::Graph g = ir::parse(text);
  const std::string given = ir::to_text(g);
  const ir::ValueId variable = g.root().params[0];
  const bool changed = checkpoint_loops(g, trips, std::span(&variable, 1));
  EXPECT_EQ(changed, ir::to_text(g) != given);
  passes::remove_dead(g);
  ir::verify(g);
  return ir::to_text(g);
}

void expect_cut(const std::string& before, std::optional<std::int64_t> trips,
                const std::string& after) {
  EXPECT_EQ(cut(before, trips), ir::to_text(ir::parse(after)));
}
void expect_whole(const std::string& graph, std::optional<std::int64_t> trips) {
  expect_cut(graph, trips, graph);
}

const std::string six_trips = R"g(graph "g" (%x: f32[3], %w: f32[6, 3]) {
    %y, %z, _ = loop states=(%x) scans=(%w) {
      body(%i, %go, %s, %e) {
        %t = mul(%s, %e)
        %o = exp(%t)
        yield go=%go states=(%t) items=(%o) } }
    yield %y, %z })g";

TEST(CheckpointLoops, ScansAndStacksGetAnAxisOfSegments) {
  expect_cut(six_trips, 3, R"g(graph "g" (%x: f32[3], %w: f32[6, 3]) {
    %#0: i64[] = constant value=i64[] {3}
    %#1: i64[] = constant value=i64[] {2}
    %#2: i64[1] = constant value=i64[1] {2}
    %#3: i64[1] = constant value=i64[1] {3}
    %#4: i64[1] = shape(%w) start=1
    %#5: i64[3] = concat(%#2, %#3, %#4) axis=0
    %#6: f32[?, ?, ?] = reshape(%w, %#5) allowzero=1
    %y: f32[3], %#7: f32[2, 3, 3], %#8: i64[] = loop trips=%#1 states=(%x) scans=(%#6) {
      body(%i: i64[], %go: bool[], %#9: f32[3], %#10: f32[?, ?]) {
        %#11: f32[3], %#12: f32[3, 3], %#13: i64[] = loop trips=%#0 states=(%#9) scans=(%#10) {
          body(%i#1: i64[], %go#1: bool[], %#14: f32[3], %#15: f32[?]) {
            %t: f32[3] = mul(%#14, %#15)
            %o: f32[3] = exp(%t)
            yield go=%go#1 states=(%t) items=(%o)
          }
        }
        yield go=%go states=(%#11) items=(%#12)
      }
    }
    %#16: i64[1] = constant value=i64[1] {6}
    %#17: i64[1] = shape(%#7) start=2
    %#18: i64[2] = concat(%#16, %#17) axis=0
    %z: f32[6, 3] = reshape(%#7, %#18) allowzero=1
    yield %y, %z
  })g");
}

TEST(CheckpointLoops, TheLastSegmentIsFilledUp) {
  expect_cut(six_trips, 4, R"g(graph "g" (%x: f32[3], %w: f32[6, 3]) {
    %#0: i64[] = constant value=i64[] {6}
    %#1: i64[] = constant value=i64[] {4}
    %#2: i64[] = constant value=i64[] {2}
    %#3: i64[] = constant value=i64[] {8}
    %#4: i64[1] = constant value=i64[1] {0}
    %#5: i64[] = sub(%#3, %#0)
    %#6: i64[1] = constant value=i64[1] {0}
    %#7: i64[1] = unsqueeze(%#5, %#6)
    %#8: i64[2] = concat(%#4, %#7) axis=0
    %#9: i64[1] = constant value=i64[1] {0}
    %#10: f32[?, 3] = pad(%w, %#8, _, %#9)
    %#11: i64[1] = constant value=i64[1] {2}
    %#12: i64[1] = constant value=i64[1] {4}
    %#13: i64[1] = shape(%#10) start=1
    %#14: i64[3] = concat(%#11, %#12, %#13) axis=0
    %#15: f32[?, ?, ?] = reshape(%#10, %#14) allowzero=1
    %y: f32[3], %#16: f32[2, 4, 3], %#17: i64[] = loop trips=%#2 states=(%x) scans=(%#15) {
      body(%i: i64[], %go: bool[], %#18: f32[3], %#19: f32[?, ?]) {
        %#20: i64[] = mul(%i, %#1)
        %#21: i64[] = sub(%#0, %#20)
        %#22: i64[] = min(%#1, %#21)
        %#23: f32[3], %#24: f32[4, 3], %#25: i64[] = loop trips=%#22 states=(%#18) scans=(%#19) extents=(%#1) {
          body(%i#1: i64[], %go#1: bool[], %#26: f32[3], %#27: f32[?]) {
            %t: f32[3] = mul(%#26, %#27)
            %o: f32[3] = exp(%t)
            yield go=%go#1 states=(%t) items=(%o)
          }
        }
        yield go=%go states=(%#23) items=(%#24)
      }
    }
    %#28: i64[1] = constant value=i64[1] {0}
    %#29: i64[1] = constant value=i64[1] {0}
    %#30: i64[1] = constant value=i64[1] {8}
    %#31: i64[1] = shape(%#16) start=2
    %#32: i64[2] = concat(%#30, %#31) axis=0
    %#33: f32[?, ?] = reshape(%#16, %#32) allowzero=1
    %#34: i64[1] = constant value=i64[1] {6}
    %z: f32[6, 3] = slice(%#33, %#29, %#34, %#28)
    yield %y, %z
  })g");
}

TEST(CheckpointLoops, TheSquareRootOfTripsThatTheRunTells) {
  expect_cut(R"g(graph "g" (%x: f32[3], %n: i64[]) {
    %y, %m = loop trips=%n states=(%x) {
      body(%i, %go, %s) {
        %j = convert(%i) to=type f32[]
        %t = mul(%s, %j)
        yield go=%go states=(%t) } }
    yield %y, %m })g",
             std::nullopt, R"g(graph "g" (%x: f32[3], %n: i64[]) {
    %#0: i64[] = constant value=i64[] {0}
    %#1: i64[] = max(%n, %#0)
    %#2: i64[0] = constant value=i64[0] {}
    %m: i64[] = reshape(%#1, %#2)
    %#3: f64[] = convert(%m) to=type f64[]
    %#4: f64[] = sqrt(%#3)
    %#5: f64[] = ceil(%#4)
    %#6: i64[] = convert(%#5) to=type i64[]
    %#7: i64[] = constant value=i64[] {1}
    %#8: i64[] = max(%#6, %#7)
    %#9: i64[] = div(%m, %#8)
    %#10: i64[] = mul(%#9, %#8)
    %#11: i64[] = sub(%m, %#10)
    %#12: i64[] = constant value=i64[] {1}
    %#13: i64[] = min(%#11, %#12)
    %#14: i64[] = add(%#9, %#13)
    %y: f32[3], %#15: i64[] = loop trips=%#14 states=(%x) {
      body(%i: i64[], %go: bool[], %#16: f32[3]) {
        %#17: i64[] = mul(%i, %#8)
        %#18: i64[] = sub(%m, %#17)
        %#19: i64[] = min(%#8, %#18)
        %#20: f32[3], %#21: i64[] = loop trips=%#19 states=(%#16) {
          body(%i#1: i64[], %go#1: bool[], %#22: f32[3]) {
            %#23: i64[] = add(%#17, %i#1)
            %j: f32[] = convert(%#23) to=type f32[]
            %t: f32[3] = mul(%#22, %j)
            yield go=%go#1 states=(%t)
          }
        }
        yield go=%go states=(%#20)
      }
    }
    yield %y, %m
  })g");
}

TEST(CheckpointLoops, ALoopWithAConditionRunsBeforeForItsTrips) {
  expect_cut(R"g(graph "g" (%x: f32[], %go: bool[], %most: f32[]) {
    %y, _ = loop go=%go states=(%x) {
      body(%i, %on, %s) {
        %t = exp(%s)
        %less = less(%t, %most)
        yield go=%less states=(%t) } }
    yield %y })g",
             4, R"g(graph "g" (%x: f32[], %go: bool[], %most: f32[]) {
    %#0: f32[], %#1: i64[] = loop go=%go states=(%x) {
      body(%i: i64[], %on: bool[], %s: f32[]) {
        %t: f32[] = exp(%s)
        %less: bool[] = less(%t, %most)
        yield go=%less states=(%t)
      }
    }
    %#2: i64[] = constant value=i64[] {4}
    %#3: i64[] = min(%#2, %#1)
    %#4: i64[] = constant value=i64[] {1}
    %#5: i64[] = max(%#3, %#4)
    %#6: i64[] = div(%#1, %#5)
    %#7: i64[] = mul(%#6, %#5)
    %#8: i64[] = sub(%#1, %#7)
    %#9: i64[] = constant value=i64[] {1}
    %#10: i64[] = min(%#8, %#9)
    %#11: i64[] = add(%#6, %#10)
    %y: f32[], %#12: i64[] = loop trips=%#11 states=(%x) {
      body(%i#1: i64[], %go#1: bool[], %#13: f32[]) {
        %#14: i64[] = mul(%i#1, %#5)
        %#15: i64[] = sub(%#1, %#14)
        %#16: i64[] = min(%#5, %#15)
        %#17: f32[], %#18: i64[] = loop trips=%#16 states=(%#13) {
          body(%i#2: i64[], %go#2: bool[], %#19: f32[]) {
            %t#1: f32[] = exp(%#19)
            yield go=%go#2 states=(%t#1)
          }
        }
        yield go=%go#1 states=(%#17)
      }
    }
    yield %y
  })g");
}

TEST(CheckpointLoops, WhatIsNotInfluencedAndWhatFitsOneSegmentStays) {
  expect_whole(six_trips, 6);
  expect_whole(R"g(graph "g" (%v: f32[3], %x: f32[3], %w: f32[6, 3]) {
    %y, _ = loop states=(%x) scans=(%w) {
      body(%i, %go, %s, %e) {
        %t = mul(%s, %e)
        yield go=%go states=(%t) } }
    %z = mul(%y, %v)
    yield %z })g",
               3);
}

}  // namespace
}  // namespace rondel::gradients
