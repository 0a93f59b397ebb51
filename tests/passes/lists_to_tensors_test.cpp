#include "passes/lists_to_tensors.h"

#include "passes/pass_case.h"

namespace rondel::passes {
namespace {

const AnyPass pass = lists_to_tensors;

TEST(ListsToTensors, AListThatALoopFillsIsAStack) {
  expect_rewrite(pass,
                 R"g(graph "g" (%n: i64[], %x: f32[3]) {
    %none = sequence_empty() dtype=type f32[]
    %all, %s, %#0 = loop trips=%n states=(%none, %x) {
      body(%i, %go, %list, %v) {
        %y = add(%v, %x)
        %more = sequence_insert(%list, %y)
        yield go=%go states=(%more, %y)
      }
    }
    %joined = concat_from_sequence(%all) axis=1 new_axis=1
    %count = sequence_length(%all)
    yield %joined, %s, %count
  })g",
                 R"g(graph "g" (%n: i64[], %x: f32[3]) {
    %none = sequence_empty() dtype=type f32[]
    %s, %all, %#0 = loop trips=%n states=(%x) axis_out=[1] {
      body(%i, %go, %v) {
        %y = add(%v, %x)
        yield go=%go states=(%y) items=(%y)
      }
    }
    %#1 = shape(%all)
    %#2 = constant value=i64[] {1}
    %#3 = gather(%#1, %#2) axis=0
    %#4 = constant value=i64[] {0}
    %#5 = greater(%#3, %#4)
    assertion(%#5) message="the sequence is empty; there is nothing to join"
    %#6 = shape(%all)
    %#7 = constant value=i64[] {1}
    %count = gather(%#6, %#7) axis=0
    yield %all, %s, %count
  })g");
}

TEST(ListsToTensors, ItemsOneAfterTheOtherAreAStackWithMergedAxes) {
  expect_rewrite(pass,
                 R"g(graph "g" (%x: f32[4,3]) {
    %none = sequence_empty() dtype=type f32[]
    %all, %#0 = loop states=(%none) scans=(%x) {
      body(%i, %go, %list, %row) {
        %one = constant value=i64[1] {0}
        %y = unsqueeze(%row, %one)
        %more = sequence_insert(%list, %y)
        yield go=%go states=(%more)
      }
    }
    %joined = concat_from_sequence(%all) axis=0
    yield %joined
  })g",
                 R"g(graph "g" (%x: f32[4,3]) {
    %none = sequence_empty() dtype=type f32[]
    %all, %#0 = loop scans=(%x) {
      body(%i, %go, %row) {
        %one = constant value=i64[1] {0}
        %y = unsqueeze(%row, %one)
        yield go=%go items=(%y)
      }
    }
    %#1 = constant value=i64[1] {1}
    %joined = squeeze(%all, %#1)
    yield %joined
  })g");
}

TEST(ListsToTensors, TheTensorThatWasSplitIsRead) {
  expect_rewrite(pass,
                 R"g(graph "g" (%x: f32[n,3], %n: i64[], %v: f32[3]) {
    %list = split_to_sequence(%x) keepdims=0
    %s, %#0 = loop trips=%n states=(%v) {
      body(%i, %go, %sum) {
        %row = sequence_at(%list, %i)
        %t = add(%sum, %row)
        yield go=%go states=(%t)
      }
    }
    yield %s
  })g",
                 R"g(graph "g" (%x: f32[n,3], %n: i64[], %v: f32[3]) {
    %list = split_to_sequence(%x) keepdims=0
    %s, %#0 = loop trips=%n states=(%v) {
      body(%i, %go, %sum) {
        %row = gather(%x, %i) axis=0
        %t = add(%sum, %row)
        yield go=%go states=(%t)
      }
    }
    yield %s
  })g");
}

TEST(ListsToTensors, NamedTensorsAreReadThemselves) {
  expect_rewrite(pass,
                 R"g(graph "g" (%x: f32[3], %y: f32[2]) {
    %first = sequence_construct(%x)
    %list = sequence_insert(%first, %y)
    %last = constant value=i64[] {-1}
    %item = sequence_at(%list, %last)
    %count = sequence_length(%list)
    %joined = concat_from_sequence(%list) axis=0
    yield %item, %count, %joined
  })g",
                 R"g(graph "g" (%x: f32[3], %y: f32[2]) {
    %first = sequence_construct(%x)
    %list = sequence_insert(%first, %y)
    %last = constant value=i64[] {-1}
    %count = constant value=i64[] {2}
    %joined = concat(%x, %y) axis=0
    yield %y, %count, %joined
  })g");
}

/// Lists that may hold tensors of unlike shapes, that are read in the loop, or that get a tensor at
/// a position.
TEST(ListsToTensors, OtherListsStay) {
  const auto filled = [](const std::string& state, const std::string& body,
                         const std::string& after) {
    return R"g(graph "g" (%n: i64[], %x: f32[?], %w: f32[3]) {
      %none = sequence_empty() dtype=type f32[]
      %all, %s, %#0 = loop trips=%n states=(%none, )g" +
           state + R"g() {
        body(%i, %go, %list, %v) {
          %y = concat(%v, %v) axis=0
          )g" +
           body + R"g(
        }
      }
      )g" + after +
           R"g(
      yield %r
    })g";
  };
  const std::string at = "%k = constant value=i64[] {0}\n %r = sequence_at(%all, %k)";
  const std::string all = "%r = concat_from_sequence(%all) axis=0 new_axis=1";
  expect_untouched(
      pass,
      filled("%x", "%more = sequence_insert(%list, %y)\n yield go=%go states=(%more, %y)", at));
  expect_untouched(pass, filled("%w",
                                "%more = sequence_insert(%list, %w)\n %l = "
                                "sequence_length(%more)\n yield go=%go states=(%more, %w)",
                                at));
  expect_untouched(
      pass, filled("%w", "%more = sequence_insert(%list, %w, %i)\n yield go=%go states=(%more, %w)",
                   all));
}

/// Joining them fails, but only where it runs.
TEST(ListsToTensors, TensorsThatCannotBeJoinedStayAList) {
  expect_untouched(lists_to_tensors, R"g(graph "g" (%x: f32[2, 3], %z: f32[3, 2], %p: bool[]) {
    %r = if(%p) {
      then {
        %l = sequence_construct(%x, %z)
        %a = concat_from_sequence(%l) axis=0
        yield %a
      }
      else { yield %x }
    }
    yield %r
  })g");
}

}  // namespace
}  // namespace rondel::passes
