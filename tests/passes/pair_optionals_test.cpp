#include "passes/pair_optionals.h"

#include "passes/pass_case.h"

namespace rondel::passes {
namespace {

const AnyPass pass = pair_optionals;

TEST(PairOptionals, StateThatBeginsEmpty) {
  expect_rewrite(pass,
                 R"g(graph "g" (%x: f32[N,3], %n: i64[]) {
    %none = optional() type=f32[?, 3]
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
                 R"g(AFTER1)g");
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
                 R"g(AFTER2)g");
}

TEST(PairOptionals, Lists) {
  expect_rewrite(pass,
                 R"g(graph "g" (%x: f32[3], %p: bool[]) {
    %o = if(%p) {
      then { %some = sequence_construct(%x) %a = optional(%some) yield %a }
      else { %b = optional() type=seq<f32[3]> yield %b }
    }
    yield %o
  })g",
                 R"g(AFTER3)g");
}

TEST(PairOptionals, ValueThatStandsForOne) {
  expect_rewrite(pass,
                 R"g(graph "g" (%x: f32[3], %n: i64[]) {
    %o = optional() type=f32[3]
    %last, %#0 = loop trips=%n states=(%o) {
      body(%i, %go, %now) {
        yield go=%go states=(%x)
      }
    }
    %has = optional_has_element(%last)
    yield %has
  })g",
                 R"g(AFTER4)g");
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
