#include "passes/grow_lists.h"

#include "passes/pass_case.h"

namespace rondel::passes {
namespace {

const AnyPass pass = grow_lists;

TEST(GrowLists, ItemsOfUnlikeLengths) {
  expect_rewrite(pass,
                 R"g(graph "g" (%x: f32[n], %n: i64[]) {
    %none = sequence_empty()
    %all, %#0 = loop trips=%n states=(%none) {
      body(%i, %go, %list) {
        %zero = constant value=i64[1] {0}
        %end = unsqueeze(%i, %zero)
        %y = slice(%x, %zero, %end)
        %more = sequence_insert(%list, %y)
        yield go=%go states=(%more)
      }
    }
    %joined = concat_from_sequence(%all) axis=-1
    yield %joined
  })g",
                 R"g(graph "g" (%x: f32[n], %n: i64[]) {
    %none = sequence_empty()
    %#0 = constant value=f32[0] {}
    %#1 = constant value=bool[] {false}
    %joined, %#2, %#3 = loop trips=%n states=(%#0, %#1) {
      body(%i, %go, %list, %#4) {
        %zero = constant value=i64[1] {0}
        %end = unsqueeze(%i, %zero)
        %y = slice(%x, %zero, %end)
        %#5 = concat(%list, %y) axis=0
        %#6 = constant value=bool[] {true}
        yield go=%go states=(%#5, %#6)
      }
    }
    assertion(%#2) message="the sequence is empty; there is nothing to join"
    yield %joined
  })g");
}

TEST(GrowLists, ItemsOfSomeTrips) {
  expect_rewrite(pass,
                 R"g(graph "g" (%x: f32[n,3], %p: bool[], %q: bool[]) {
    %none = sequence_empty()
    %all, %#0 = loop states=(%none) scans=(%x) {
      body(%i, %go, %list, %row) {
        %one = if(%p) {
          then { %more = sequence_insert(%list, %row) yield %more }
          else { yield %list }
        }
        %two = if(%q) {
          then { %again = sequence_insert(%one, %row) yield %again }
          else { yield %one }
        }
        yield go=%go states=(%two)
      }
    }
    %joined = concat_from_sequence(%all) axis=1 new_axis=1
    yield %joined
  })g",
                 R"g(graph "g" (%x: f32[n,3], %p: bool[], %q: bool[]) {
    %none = sequence_empty()
    %#0 = constant value=f32[3, 0] {}
    %#1 = constant value=bool[] {false}
    %joined, %#2, %#3 = loop states=(%#0, %#1) scans=(%x) {
      body(%i, %go, %list, %#4, %row) {
        %#5, %#6 = if(%p) {
          then {
            %#7 = constant value=i64[1] {1}
            %#8 = unsqueeze(%row, %#7)
            %#9 = concat(%list, %#8) axis=1
            %#10 = constant value=bool[] {true}
            yield %#9, %#10
          }
          else { yield %list, %#4 }
        }
        %#11, %#12 = if(%q) {
          then {
            %#13 = constant value=i64[1] {1}
            %#14 = unsqueeze(%row, %#13)
            %#15 = concat(%#5, %#14) axis=1
            %#16 = constant value=bool[] {true}
            yield %#15, %#16
          }
          else { yield %#5, %#6 }
        }
        yield go=%go states=(%#11, %#12)
      }
    }
    assertion(%#2) message="the sequence is empty; there is nothing to join"
    yield %joined
  })g");
}

TEST(GrowLists, ItemsBeforeAndAfter) {
  expect_rewrite(pass,
                 R"g(graph "g" (%x: f32[n,3], %a: f32[2], %b: f32[m]) {
    %some = sequence_construct(%a, %b)
    %all, %#0 = loop states=(%some) scans=(%x) {
      body(%i, %go, %list, %row) {
        %more = sequence_insert(%list, %row)
        yield go=%go states=(%more)
      }
    }
    %last = sequence_insert(%all, %a)
    %joined = concat_from_sequence(%last) axis=0
    yield %joined
  })g",
                 R"g(graph "g" (%x: f32[n,3], %a: f32[2], %b: f32[m]) {
    %some = sequence_construct(%a, %b)
    %#0 = concat(%a, %b) axis=0
    %#1 = constant value=bool[] {true}
    %#2, %#3, %#4 = loop states=(%#0, %#1) scans=(%x) {
      body(%i, %go, %list, %#5, %row) {
        %#6 = concat(%list, %row) axis=0
        %#7 = constant value=bool[] {true}
        yield go=%go states=(%#6, %#7)
      }
    }
    %joined = concat(%#2, %a) axis=0
    yield %joined
  })g");
}

/// Lists that are read in the loop or more than once after it, that begin with a shape that nothing
/// tells, or that get tensors of unlike ranks.
TEST(GrowLists, OtherListsStay) {
  const auto filled = [](const std::string& body, const std::string& after) {
    return R"g(graph "g" (%n: i64[], %x: f32[n,m], %v: f32[k], %u: f32[3]) {
      %none = sequence_empty()
      %all, %#0 = loop trips=%n states=(%none) {
        body(%i, %go, %list) {
          )g" +
           body + R"g(
        }
      }
      )g" + after +
           R"g(
      yield %r
    })g";
  };
  const auto append = [](const std::string& item) {
    return "%more = sequence_insert(%list, " + item + ")\n yield go=%go states=(%more)";
  };
  const std::string join = "%r = concat_from_sequence(%all) axis=0";
  expect_untouched(pass, filled("%l = sequence_length(%list)\n" + append("%u"), join));
  expect_untouched(pass, filled(append("%u"), join + "\n %l = sequence_length(%all)"));
  expect_untouched(pass, filled(append("%x"), join));
  expect_untouched(pass, filled(append("%v"), join + " new_axis=1"));
  expect_untouched(pass, filled(append("%u"),
                                "%b = sequence_insert(%all, %x)\n"
                                "%r = concat_from_sequence(%b) axis=0"));
  expect_untouched(pass, filled("%l = constant value=i64[] {0}\n"
                                "%more = sequence_insert(%list, %u, %l)\n"
                                "yield go=%go states=(%more)",
                                join));
}

}  // namespace
}  // namespace rondel::passes
