#include "passes/pair_optionals.h"

#include "passes/pass_case.h"

namespace rondel::passes {
namespace {

const AnyPass pass = pair_optionals;

TEST(PairOptionals, StateThatBeginsEmpty) {
  expect_rewrite(pass,
                 R"g(graph "g" (%x: f32[N,3], %n: i64[]) {
    %none = optional() type=type f32[?, 3]
    %last, %had, %#0 = loop trips=%n states=(%none) {
      body(%i, %go, %o) {
        %has = optional_has_element(%o)
        %y = if(%has) {
          then { %held = optional_get_element(%o) %more = add(%held, %x) yield %more }
          else { yield %x }
        }
        %next = optional(%y)
        yield go=%go states=(%next) items=(%has)
      }
    }
    %r = optional_get_element(%last)
    yield %r, %had
  })g",
                 R"g(graph "g" (%x: f32[N, 3], %n: i64[]) {
  %none: bool[] = constant value=bool[] {false}
  %#0: i64[1] = constant value=i64[1] {0}
  %#1: i64[1] = constant value=i64[1] {3}
  %#2: f32[] = constant value=f32[] {0}
  %#3: i64[2] = concat(%#0, %#1) axis=0
  %#4: f32[?, 3] = expand(%#2, %#3)
  %#5: bool[], %r: f32[?, 3], %had: bool[?], %#6: i64[] = loop trips=%n states=(%none, %#4) {
    body(%i: i64[], %go: bool[], %o: bool[], %held: f32[?, 3]) {
      %y: f32[?, 3] = if(%o) {
        then {
          assertion(%o) message="the optional is empty"
          %more: f32[?, 3] = add(%held, %x)
          yield %more
        }
        else {
          yield %x
        }
      }
      %next: bool[] = constant value=bool[] {true}
      yield go=%go states=(%next, %y) items=(%o)
    }
  }
  assertion(%#5) message="the optional is empty"
  yield %r, %had
})g");
}

TEST(PairOptionals, InputAndOutputOfTheGraph) {
  expect_rewrite(pass,
                 R"g(graph "g" (%x: f32[2], %o: optional<f32[?, 2]>, %p: bool[], %n: i64[]) {
    %last, %#0 = loop trips=%n states=(%o) {
      body(%i, %go, %now) {
        %next = if(%p) {
          then { %zero = constant value=i64[1] {0} %row = unsqueeze(%x, %zero) %more = optional(%row) yield %more }
          else { yield %now }
        }
        yield go=%go states=(%next)
      }
    }
    yield %last
  })g",
                 R"g(graph "g" (%x: f32[2], %o: optional<f32[?, 2]>, %p: bool[], %n: i64[]) {
  %#0: i64[1] = constant value=i64[1] {0}
  %#1: i64[1] = constant value=i64[1] {2}
  %#2: f32[] = constant value=f32[] {0}
  %#3: i64[2] = concat(%#0, %#1) axis=0
  %#4: f32[?, ?] = expand(%#2, %#3)
  %o#1: bool[] = optional_has_element(%o)
  %#5: f32[?, 2] = optional_or(%o, %#4)
  %#6: bool[], %#7: f32[?, 2], %#8: i64[] = loop trips=%n states=(%o#1, %#5) {
    body(%i: i64[], %go: bool[], %now: bool[], %#9: f32[?, 2]) {
      %next: bool[], %#10: f32[?, 2] = if(%p) {
        then {
          %zero: i64[1] = constant value=i64[1] {0}
          %row: f32[1, 2] = unsqueeze(%x, %zero)
          %more: bool[] = constant value=bool[] {true}
          yield %more, %row
        }
        else {
          yield %now, %#9
        }
      }
      yield go=%go states=(%next, %#10)
    }
  }
  %last: optional<f32[?, 2]> = optional_if(%#6, %#7)
  yield %last
})g");
}

TEST(PairOptionals, Lists) {
  expect_rewrite(pass,
                 R"g(graph "g" (%x: f32[3], %p: bool[]) {
    %o = if(%p) {
      then { %some = sequence_construct(%x) %a = optional(%some) yield %a }
      else { %b = optional() type=type seq<f32[3]> yield %b }
    }
    yield %o
  })g",
                 R"g(graph "g" (%x: f32[3], %p: bool[]) {
  %o: bool[], %#0: seq<f32[3]> = if(%p) {
    then {
      %some: seq<f32[3]> = sequence_construct(%x)
      %a: bool[] = constant value=bool[] {true}
      yield %a, %some
    }
    else {
      %b: bool[] = constant value=bool[] {false}
      %#1: seq<f32[...]> = sequence_empty
      yield %b, %#1
    }
  }
  %o#1: optional<seq<f32[3]>> = optional_if(%o, %#0)
  yield %o#1
})g");
}

TEST(PairOptionals, ValueThatStandsForOne) {
  expect_rewrite(pass,
                 R"g(graph "g" (%x: f32[3], %n: i64[]) {
    %o = optional() type=type f32[3]
    %last, %#0 = loop trips=%n states=(%o) {
      body(%i, %go, %now) {
        yield go=%go states=(%x)
      }
    }
    %has = optional_has_element(%last)
    yield %has
  })g",
                 R"g(graph "g" (%x: f32[3], %n: i64[]) {
  %o: bool[] = constant value=bool[] {false}
  %#0: i64[1] = constant value=i64[1] {3}
  %#1: f32[] = constant value=f32[] {0}
  %#2: f32[3] = expand(%#1, %#0)
  %has: bool[], %#3: f32[3], %#4: i64[] = loop trips=%n states=(%o, %#2) {
    body(%i: i64[], %go: bool[], %now: bool[], %#5: f32[3]) {
      %#6: bool[] = constant value=bool[] {true}
      yield go=%go states=(%#6, %x)
    }
  }
  yield %has
})g");
}

TEST(PairOptionals, NeitherOutsideOfLoopsNorWithoutARank) {
  expect_untouched(pass, R"g(graph "g" (%x: f32[3]) {
    %o = optional(%x)
    %has = optional_has_element(%o)
    yield %has, %o
  })g");
  expect_untouched(pass, R"g(graph "g" (%x: f32[...], %n: i64[]) {
    %o = optional(%x)
    %last, %#0 = loop trips=%n states=(%o) {
      body(%i, %go, %now) {
        %held = optional_get_element(%now)
        %y = abs(%held)
        %next = optional(%y)
        yield go=%go states=(%next)
      }
    }
    yield %last
  })g");
  expect_untouched(pass, R"g(graph "g" (%x: f32[3], %y: f32[2, 2], %p: bool[]) {
    %o = if(%p) {
      then { %a = optional(%x) yield %a }
      else { %b = optional(%y) yield %b }
    }
    yield %o
  })g");
}

}  // namespace
}  // namespace rondel::passes
