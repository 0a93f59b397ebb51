#include "passes/pack_lists.h"

#include "passes/pass_case.h"

namespace rondel::passes {
namespace {

const AnyPass pass = pack_lists;

TEST(PackLists, ReadWhileItGrows) {
  expect_rewrite(pass,
                 R"g(graph "g" (%x: f32[3], %n: i64[], %k: i64[]) {
    %none = sequence_empty()
    %all, %sums, %#0 = loop trips=%n states=(%none) {
      body(%i, %go, %list) {
        %more = sequence_insert(%list, %x)
        %row = sequence_at(%more, %k)
        %sum = reduce_sum(%row) keepdims=0
        yield go=%go states=(%more) items=(%sum)
      }
    }
    yield %all, %sums
  })g",
                 R"g(graph "g" (%x: f32[3], %n: i64[], %k: i64[]) {
    %#0 = constant value=i64[1] {0}
    %#1 = constant value=i64[1] {3}
    %#2 = constant value=f32[] {0}
    %none = constant value=f32[0, 3] {}
    %#3, %sums, %#4 = loop trips=%n states=(%none) {
      body(%i, %go, %list) {
        %#5 = constant value=i64[1] {0}
        %#6 = unsqueeze(%x, %#5)
        %more = concat(%list, %#6) axis=0
        %row = gather(%more, %k)
        %sum = reduce_sum(%row) keepdims=0
        yield go=%go states=(%more) items=(%sum)
      }
    }
    %all = split_to_sequence(%#3) keepdims=0
    yield %all, %sums
  })g");
}

TEST(PackLists, NumberOfTensorsAndAllStacked) {
  expect_rewrite(pass,
                 R"g(graph "g" (%x: f32[N,3], %n: i64[]) {
    %some = sequence_construct(%x, %x)
    %all, %counts, %sums, %#0 = loop trips=%n states=(%some) {
      body(%i, %go, %list) {
        %count = sequence_length(%list)
        %more = sequence_insert(%list, %x)
        %stacked = concat_from_sequence(%more) axis=1 new_axis=1
        %sum = reduce_sum(%stacked) keepdims=0
        yield go=%go states=(%more) items=(%count, %sum)
      }
    }
    yield %counts, %sums
  })g",
                 R"g(graph "g" (%x: f32[N, 3], %n: i64[]) {
    %#0 = constant value=i64[1] {0}
    %#1 = constant value=i64[1] {1}
    %#2 = unsqueeze(%x, %#1)
    %#3 = constant value=i64[1] {1}
    %#4 = unsqueeze(%x, %#3)
    %some = concat(%#2, %#4) axis=1
    %#5, %counts, %sums, %#6 = loop trips=%n states=(%some) {
      body(%i, %go, %list) {
        %#7 = shape(%list)
        %#8 = constant value=i64[] {1}
        %count = gather(%#7, %#8)
        %#9 = constant value=i64[1] {1}
        %#10 = unsqueeze(%x, %#9)
        %more = concat(%list, %#10) axis=1
        %#11 = shape(%more)
        %#12 = constant value=i64[] {1}
        %#13 = gather(%#11, %#12)
        %#14 = constant value=i64[] {0}
        %#15 = greater(%#13, %#14)
        assertion(%#15) message="the sequence is empty; there is nothing to join"
        %sum = reduce_sum(%more) keepdims=0
        yield go=%go states=(%more) items=(%count, %sum)
      }
    }
    yield %counts, %sums
  })g");
}

TEST(PackLists, TensorsOfUnlikeLengths) {
  expect_rewrite(pass,
                 R"g(graph "g" (%x: f32[N], %n: i64[]) {
    %none = sequence_empty()
    %all, %sums, %#0 = loop trips=%n states=(%none) {
      body(%i, %go, %list) {
        %zero = constant value=i64[1] {0}
        %end = unsqueeze(%i, %zero)
        %y = slice(%x, %zero, %end)
        %more = sequence_insert(%list, %y)
        %joined = concat_from_sequence(%more) axis=0
        %sum = reduce_sum(%joined) keepdims=0
        %less = sequence_erase(%more)
        %both = sequence_insert(%less, %y)
        yield go=%go states=(%both) items=(%sum)
      }
    }
    %last = constant value=i64[] {-1}
    %r = sequence_at(%all, %last)
    yield %r, %sums
  })g",
                 R"g(graph "g" (%x: f32[N], %n: i64[]) {
    %#0 = constant value=i64[1] {0}
    %#1 = constant value=f32[] {0}
    %none = constant value=f32[0] {}
    %#2 = constant value=i64[1] {0}
    %#3, %#4, %sums, %#5 = loop trips=%n states=(%none, %#2) {
      body(%i, %go, %list, %#6) {
        %zero = constant value=i64[1] {0}
        %end = unsqueeze(%i, %zero)
        %y = slice(%x, %zero, %end)
        %more = concat(%list, %y) axis=0
        %#7 = shape(%more) end=1
        %#8 = concat(%#6, %#7) axis=0
        %#9 = shape(%#8)
        %#10 = constant value=i64[] {0}
        %#11 = gather(%#9, %#10)
        %#12 = constant value=i64[] {1}
        %#13 = sub(%#11, %#12)
        %#14 = constant value=i64[] {0}
        %#15 = greater(%#13, %#14)
        assertion(%#15) message="the sequence is empty; there is nothing to join"
        %sum = reduce_sum(%more) keepdims=0
        %#16 = shape(%#8)
        %#17 = constant value=i64[] {0}
        %#18 = gather(%#16, %#17)
        %#19 = constant value=i64[] {1}
        %#20 = sub(%#18, %#19)
        %#21 = constant value=i64[] {0}
        %#22 = greater(%#20, %#21)
        assertion(%#22) message="the position is out of range for the sequence"
        %#23 = constant value=i64[] {1}
        %#24 = sub(%#20, %#23)
        %#25 = max(%#24, %#21)
        %#26 = gather(%#8, %#25)
        %#27 = constant value=i64[1] {0}
        %#28 = unsqueeze(%#26, %#27)
        %#29 = constant value=i64[1] {0}
        %#30 = constant value=i64[1] {0}
        %less = slice(%more, %#29, %#28, %#30)
        %#31 = constant value=i64[1] {-1}
        %#32 = constant value=i64[1] {0}
        %#33 = constant value=i64[1] {0}
        %#34 = slice(%#8, %#32, %#31, %#33)
        %both = concat(%less, %y) axis=0
        %#35 = shape(%both) end=1
        %#36 = concat(%#34, %#35) axis=0
        yield go=%go states=(%both, %#36) items=(%sum)
      }
    }
    %last = constant value=i64[] {-1}
    %#37 = constant value=i64[1] {9223372036854775807}
    %#38 = constant value=i64[1] {1}
    %#39 = constant value=i64[1] {0}
    %#40 = slice(%#4, %#38, %#37, %#39)
    %#41 = gather(%#40, %last)
    %#42 = constant value=i64[1] {0}
    %#43 = unsqueeze(%#41, %#42)
    %#44 = constant value=i64[1] {-1}
    %#45 = constant value=i64[1] {0}
    %#46 = constant value=i64[1] {0}
    %#47 = slice(%#4, %#45, %#44, %#46)
    %#48 = gather(%#47, %last)
    %#49 = constant value=i64[1] {0}
    %#50 = unsqueeze(%#48, %#49)
    %#51 = constant value=i64[1] {0}
    %r = slice(%#3, %#50, %#43, %#51)
    yield %r, %sums
  })g");
}

TEST(PackLists, InBranches) {
  expect_rewrite(pass,
                 R"g(graph "g" (%x: f32[3], %p: bool[], %n: i64[]) {
    %none = sequence_empty()
    %all, %#0 = loop trips=%n states=(%none) {
      body(%i, %go, %list) {
        %next = if(%p) {
          then { %more = sequence_insert(%list, %x) yield %more }
          else { yield %list }
        }
        yield go=%go states=(%next)
      }
    }
    %count = sequence_length(%all)
    yield %count
  })g",
                 R"g(graph "g" (%x: f32[3], %p: bool[], %n: i64[]) {
    %#0 = constant value=i64[1] {0}
    %#1 = constant value=i64[1] {3}
    %#2 = constant value=f32[] {0}
    %none = constant value=f32[0, 3] {}
    %#3, %#4 = loop trips=%n states=(%none) {
      body(%i, %go, %list) {
        %next = if(%p) {
          then {
            %#5 = constant value=i64[1] {0}
            %#6 = unsqueeze(%x, %#5)
            %more = concat(%list, %#6) axis=0
            yield %more
          }
          else {
            yield %list
          }
        }
        yield go=%go states=(%next)
      }
    }
    %#7 = shape(%#3)
    %#8 = constant value=i64[] {0}
    %count = gather(%#7, %#8)
    yield %count
  })g");
}

/// Lists outside of loops and `if`s, of tensors that differ in two extents or in rank, that get no
/// tensor, and that differ in length and are changed at a position.
TEST(PackLists, OtherListsStay) {
  const auto grown = [](const std::string& items, const std::string& insert) {
    return R"g(graph "g" (%n: i64[], %x: f32[3], %v: f32[k], %u: f32[l,m], %w: f32[o,p]) {
      %none = sequence_empty()
      %all, %#0 = loop trips=%n states=()g" +
           items + R"g() {
        body(%i, %go, %list) {
          )g" +
           insert + R"g(
          yield go=%go states=(%more)
        }
      }
      %r = sequence_length(%all)
      yield %r
    })g";
  };
  expect_untouched(pass, R"g(graph "g" (%x: f32[3], %k: i64[]) {
    %some = sequence_construct(%x, %x)
    %r = sequence_at(%some, %k)
    yield %r
  })g");
  expect_untouched(pass, grown("%none",
                               "%a = sequence_insert(%list, %u)\n"
                               "%more = sequence_insert(%a, %w)"));
  expect_untouched(pass, grown("%none",
                               "%a = sequence_insert(%list, %u)\n"
                               "%more = sequence_insert(%a, %x)"));
  expect_untouched(pass, grown("%none", "%more = sequence_erase(%list)"));
  expect_untouched(pass, grown("%none",
                               "%a = sequence_insert(%list, %x)\n"
                               "%more = sequence_insert(%a, %v, %i)"));
}

TEST(PackLists, InputOfTheGraph) {
  expect_rewrite(pass,
                 R"g(graph "g" (%q: seq<f32[N, 2]>, %n: i64[]) {
    %none = sequence_empty()
    %all, %#0 = loop trips=%n states=(%none) {
      body(%i, %go, %list) {
        %row = sequence_at(%q, %i)
        %y = neg(%row)
        %more = sequence_insert(%list, %y)
        yield go=%go states=(%more)
      }
    }
    yield %all
  })g",
                 R"g(AFTER1)g");
}

TEST(PackLists, PartsOfGivenLengths) {
  expect_rewrite(pass,
                 R"g(graph "g" (%x: f32[N, 2], %l: i32[K], %k: i64[], %n: i64[]) {
    %each = split_to_sequence(%x, %l)
    %alike = split_to_sequence(%x, %k)
    %sums, %#0 = loop trips=%n {
      body(%i, %go) {
        %a = sequence_at(%each, %i)
        %b = sequence_at(%alike, %i)
        %sa = reduce_sum(%a) keepdims=0
        %sb = reduce_sum(%b) keepdims=0
        %sum = add(%sa, %sb)
        yield go=%go items=(%sum)
      }
    }
    yield %sums
  })g",
                 R"g(AFTER2)g");
}

TEST(PackLists, NotWhatNoLoopReads) {
  expect_untouched(pass, R"g(graph "g" (%q: seq<f32[2]>, %x: f32[2], %p: bool[]) {
    %r = if(%p) {
      then { yield %q }
      else { %more = sequence_insert(%q, %x) yield %more }
    }
    yield %r
  })g");
  expect_untouched(pass, R"g(graph "g" (%q: seq<f32[...]>, %n: i64[]) {
    %sums, %#0 = loop trips=%n {
      body(%i, %go) {
        %a = sequence_at(%q, %i)
        %s = reduce_sum(%a) keepdims=0
        yield go=%go items=(%s)
      }
    }
    yield %sums
  })g");
}

}  // namespace
}  // namespace rondel::passes
