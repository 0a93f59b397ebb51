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
                 R"g(graph "g" (%q: seq<f32[N, 2]>, %n: i64[]) {
  %q#1: f32[?, 2], %#0: i64[?] = pack_sequence(%q) item=type f32[?, 2]
  %#1: i64[1] = constant value=i64[1] {0}
  %#2: i64[1] = constant value=i64[1] {2}
  %#3: f32[] = constant value=f32[] {0}
  %none: f32[0, 2] = constant value=f32[0, 2] {}
  %#4: i64[1] = constant value=i64[1] {0}
  %#5: f32[?, 2], %#6: i64[?], %#7: i64[] = loop trips=%n states=(%none, %#4) {
    body(%i: i64[], %go: bool[], %list: f32[?, 2], %#8: i64[?]) {
      %#9: i64[1] = constant value=i64[1] {9223372036854775807}
      %#10: i64[1] = constant value=i64[1] {1}
      %#11: i64[1] = constant value=i64[1] {0}
      %#12: i64[?] = slice(%#0, %#10, %#9, %#11)
      %#13: i64[] = gather(%#12, %i)
      %#14: i64[1] = constant value=i64[1] {0}
      %#15: i64[1] = unsqueeze(%#13, %#14)
      %#16: i64[1] = constant value=i64[1] {-1}
      %#17: i64[1] = constant value=i64[1] {0}
      %#18: i64[1] = constant value=i64[1] {0}
      %#19: i64[?] = slice(%#0, %#17, %#16, %#18)
      %#20: i64[] = gather(%#19, %i)
      %#21: i64[1] = constant value=i64[1] {0}
      %#22: i64[1] = unsqueeze(%#20, %#21)
      %#23: i64[1] = constant value=i64[1] {0}
      %row: f32[?, 2] = slice(%q#1, %#22, %#15, %#23)
      %y: f32[N, 2] = neg(%row)
      %more: f32[?, 2] = concat(%list, %y) axis=0
      %#24: i64[1] = shape(%more) end=1
      %#25: i64[?] = concat(%#8, %#24) axis=0
      yield go=%go states=(%more, %#25)
    }
  }
  %#26: i64[1] = constant value=i64[1] {9223372036854775807}
  %#27: i64[1] = constant value=i64[1] {1}
  %#28: i64[1] = constant value=i64[1] {0}
  %#29: i64[?] = slice(%#6, %#27, %#26, %#28)
  %#30: i64[1] = constant value=i64[1] {-1}
  %#31: i64[1] = constant value=i64[1] {0}
  %#32: i64[1] = constant value=i64[1] {0}
  %#33: i64[?] = slice(%#6, %#31, %#30, %#32)
  %#34: i64[?] = sub(%#29, %#33)
  %all: seq<f32[?, 2]> = split_to_sequence(%#5, %#34)
  yield %all
})g");
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
                 R"g(graph "g" (%x: f32[N, 2], %l: i32[K], %k: i64[], %n: i64[]) {
  %#0: i64[K] = convert(%l) to=type i64[]
  %#1: i64[] = constant value=i64[] {0}
  %#2: i64[1] = shape(%x) end=1
  %#3: i64[1] = constant value=i64[1] {0}
  %#4: i64[] = squeeze(%#2, %#3)
  %#5: bool[K] = greater_or_equal(%#0, %#1)
  %#6: bool[K] = less_or_equal(%#0, %#4)
  %#7: bool[K] = and(%#5, %#6)
  assertion(%#7) message="a length of a part of a sequence is negative, or longer than the tensor"
  %#8: i64[] = reduce_sum(%#0) keepdims=0
  %#9: bool[] = equal(%#8, %#4)
  assertion(%#9) message="the lengths of the parts of a sequence do not add up to the extent of the tensor"
  %#10: i64[1] = constant value=i64[1] {0}
  %#11: i64[K] = cum_sum(%#0, %#1)
  %#12: i64[K + 1] = concat(%#10, %#11) axis=0
  %#13: i64[] = constant value=i64[] {0}
  %#14: i64[1] = shape(%x) end=1
  %#15: i64[1] = constant value=i64[1] {0}
  %#16: i64[] = squeeze(%#14, %#15)
  %#17: bool[] = greater(%k, %#13)
  assertion(%#17) message="a part of a sequence must have length 1 or more"
  %#18: i64[] = min(%k, %#16)
  %#19: i64[] = constant value=i64[] {1}
  %#20: i64[] = max(%#18, %#19)
  %#21: i64[] = add(%#16, %#20)
  %#22: i64[] = constant value=i64[] {1}
  %#23: i64[] = sub(%#21, %#22)
  %#24: i64[] = div(%#23, %#20)
  %#25: i64[] = constant value=i64[] {1}
  %#26: i64[] = add(%#24, %#25)
  %#27: i64[] = constant value=i64[] {0}
  %#28: i64[] = constant value=i64[] {1}
  %#29: i64[?] = range(%#27, %#26, %#28)
  %#30: i64[?] = mul(%#29, %#20)
  %#31: i64[?] = min(%#30, %#16)
  %sums: f32[?], %#32: i64[] = loop trips=%n {
    body(%i: i64[], %go: bool[]) {
      %#33: i64[1] = constant value=i64[1] {9223372036854775807}
      %#34: i64[1] = constant value=i64[1] {1}
      %#35: i64[1] = constant value=i64[1] {0}
      %#36: i64[K] = slice(%#12, %#34, %#33, %#35)
      %#37: i64[] = gather(%#36, %i)
      %#38: i64[1] = constant value=i64[1] {0}
      %#39: i64[1] = unsqueeze(%#37, %#38)
      %#40: i64[1] = constant value=i64[1] {-1}
      %#41: i64[1] = constant value=i64[1] {0}
      %#42: i64[1] = constant value=i64[1] {0}
      %#43: i64[K] = slice(%#12, %#41, %#40, %#42)
      %#44: i64[] = gather(%#43, %i)
      %#45: i64[1] = constant value=i64[1] {0}
      %#46: i64[1] = unsqueeze(%#44, %#45)
      %#47: i64[1] = constant value=i64[1] {0}
      %a: f32[?, 2] = slice(%x, %#46, %#39, %#47)
      %#48: i64[1] = constant value=i64[1] {9223372036854775807}
      %#49: i64[1] = constant value=i64[1] {1}
      %#50: i64[1] = constant value=i64[1] {0}
      %#51: i64[?] = slice(%#31, %#49, %#48, %#50)
      %#52: i64[] = gather(%#51, %i)
      %#53: i64[1] = constant value=i64[1] {0}
      %#54: i64[1] = unsqueeze(%#52, %#53)
      %#55: i64[1] = constant value=i64[1] {-1}
      %#56: i64[1] = constant value=i64[1] {0}
      %#57: i64[1] = constant value=i64[1] {0}
      %#58: i64[?] = slice(%#31, %#56, %#55, %#57)
      %#59: i64[] = gather(%#58, %i)
      %#60: i64[1] = constant value=i64[1] {0}
      %#61: i64[1] = unsqueeze(%#59, %#60)
      %#62: i64[1] = constant value=i64[1] {0}
      %b: f32[?, 2] = slice(%x, %#61, %#54, %#62)
      %sa: f32[] = reduce_sum(%a) keepdims=0
      %sb: f32[] = reduce_sum(%b) keepdims=0
      %sum: f32[] = add(%sa, %sb)
      yield go=%go items=(%sum)
    }
  }
  yield %sums
})g");
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
