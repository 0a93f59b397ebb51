// Adjoints are added to a graph, backwards from the targets to the variables.
#include "gradients/gradient.h"

#include "base/error.h"
#include "passes/pass_case.h"
#include "passes/remove_dead.h"

namespace rondel::gradients {
namespace {

/// The graph with the adjoint of its first parameter as another result; the second parameter is the
/// seed.
std::string gradient_of(const std::string& text) {
  ir::Graph g = ir::parse(text);
  const GradientRequest request{
      .targets = {g.root().results[0]}, .seed = {g.root().params[1]}, .wrt = {g.root().params[0]}};
  g.add_result({}, add_gradient(g, request)[0]);
  passes::remove_dead(g);
  ir::verify(g);
  return ir::to_text(g);
}

void expect_gradient(const std::string& before, const std::string& after) {
  EXPECT_EQ(gradient_of(before), ir::to_text(ir::parse(after)));
}

TEST(Gradient, AdjointsThatMeetAreAddedAndValuesOfTheModelAreRead) {
  expect_gradient(R"g(graph "g" (%x: f32[3], %seed: f32[3]) {
    %e = exp(%x)
    %y = mul(%e, %x)
    yield %y })g",
                  R"g(graph "g" (%x: f32[3], %seed: f32[3]) {
    %e = exp(%x)
    %y = mul(%e, %x)
    %#0 = mul(%seed, %x)
    %#1 = mul(%seed, %e)
    %#2 = mul(%#0, %e)
    %#3 = add(%#1, %#2)
    yield %y, %#3 })g");
}

TEST(Gradient, AnInputThatIsBroadcastGetsASum) {
  expect_gradient(R"g(graph "g" (%x: f32[3, 1], %seed: f32[2, 3, 4], %a: f32[2, 3, 4]) {
    %y = add(%x, %a)
    yield %y })g",
                  R"g(graph "g" (%x: f32[3, 1], %seed: f32[2, 3, 4], %a: f32[2, 3, 4]) {
    %y = add(%x, %a)
    %#0 = constant value=i64[2] {0, 2}
    %#1 = reduce_sum(%seed, %#0) keepdims=1
    %#2 = constant value=i64[1] {0}
    %#3 = squeeze(%#1, %#2)
    yield %y, %#3 })g");
}

TEST(Gradient, NothingFlowsThroughIntegersAndWhatDoesNotReadTheInput) {
  expect_gradient(R"g(graph "g" (%x: f32[3], %seed: f32[3], %a: f32[3]) {
    %i = convert(%x) to=type i64[]
    %f = convert(%i) to=type f32[]
    %b = exp(%a)
    %c = mul(%f, %b)
    %y = add(%c, %x)
    yield %y })g",
                  R"g(graph "g" (%x: f32[3], %seed: f32[3], %a: f32[3]) {
    %i = convert(%x) to=type i64[]
    %f = convert(%i) to=type f32[]
    %b = exp(%a)
    %c = mul(%f, %b)
    %y = add(%c, %x)
    yield %y, %seed })g");
}

TEST(Gradient, OfALoopIsALoopThatMakesTheTripsInReverse) {
  expect_gradient(R"g(graph "g" (%x: f32[3], %seed: f32[3], %n: i64[]) {
    %y, _ = loop trips=%n states=(%x) {
      body(%i, %go, %a) {
        %t = sin(%a)
        yield go=%go states=(%t) } }
    yield %y })g",
                  R"g(graph "g" (%x: f32[3], %seed: f32[3], %n: i64[]) {
    %y: f32[3], %#0: f32[?, 3], _ = loop trips=%n states=(%x) {
      body(%i: i64[], %go: bool[], %a: f32[3]) {
        %t: f32[3] = sin(%a)
        yield go=%go states=(%t) items=(%a)
      }
    }
    %#1: i64[0] = constant value=i64[0] {}
    %#2: i64[] = constant value=i64[] {0}
    %#3: i64[] = max(%n, %#2)
    %#4: i64[] = reshape(%#3, %#1)
    %#5: f32[3], %#6: i64[] = loop trips=%#4 states=(%seed) scans=(%#0) reverse_in=[1] {
      body(%i#1: i64[], %go#1: bool[], %#7: f32[3], %#8: f32[3]) {
        %#9: f32[3] = cos(%#8)
        %#10: f32[3] = mul(%#7, %#9)
        yield go=%go#1 states=(%#10)
      }
    }
    yield %y, %#5
  })g");
}

TEST(Gradient, ACaptureGetsTheSumOverAllTripsThroughAStateThatItChanges) {
  expect_gradient(R"g(graph "g" (%x: f32[3], %seed: f32[3], %n: i64[], %h: f32[3]) {
    %y, _ = loop trips=%n states=(%h) {
      body(%i, %go, %a) {
        %t = add(%a, %x)
        yield go=%go states=(%t) } }
    yield %y })g",
                  R"g(graph "g" (%x: f32[3], %seed: f32[3], %n: i64[], %h: f32[3]) {
    %y: f32[3], _ = loop trips=%n states=(%h) {
      body(%i: i64[], %go: bool[], %a: f32[3]) {
        %t: f32[3] = add(%a, %x)
        yield go=%go states=(%t)
      }
    }
    %#0: i64[0] = constant value=i64[0] {}
    %#1: i64[] = constant value=i64[] {0}
    %#2: i64[] = max(%n, %#1)
    %#3: i64[] = reshape(%#2, %#0)
    %#4: f32[] = constant value=f32[] {0}
    %#5: i64[1] = shape(%x)
    %#6: f32[3] = expand(%#4, %#5)
    %#7: f32[3], %#8: f32[3], %#9: i64[] = loop trips=%#3 states=(%seed, %#6) {
      body(%i#1: i64[], %go#1: bool[], %#10: f32[3], %#11: f32[3]) {
        %#12: f32[3] = add(%#11, %#10)
        yield go=%go#1 states=(%#10, %#12)
      }
    }
    yield %y, %#8
  })g");
}

TEST(Gradient, WeightsGetOneProductBehindTheLoop) {
  expect_gradient(R"g(graph "g" (%w: f32[3, 3], %seed: f32[2, 3], %n: i64[], %h: f32[2, 3]) {
    %y, _ = loop trips=%n states=(%h) {
      body(%i, %go, %a) {
        %p = mat_mul(%a, %w)
        %t = tanh(%p)
        yield go=%go states=(%t) } }
    yield %y })g",
                  R"g(graph "g" (%w: f32[3, 3], %seed: f32[2, 3], %n: i64[], %h: f32[2, 3]) {
    %y: f32[2, 3], %#0: f32[?, 2, 3], %#1: f32[?, 2, 3], _ = loop trips=%n states=(%h) {
      body(%i: i64[], %go: bool[], %a: f32[2, 3]) {
        %p: f32[2, 3] = mat_mul(%a, %w)
        %t: f32[2, 3] = tanh(%p)
        yield go=%go states=(%t) items=(%a, %t)
      }
    }
    %#2: i64[0] = constant value=i64[0] {}
    %#3: i64[] = constant value=i64[] {0}
    %#4: i64[] = max(%n, %#3)
    %#5: i64[] = reshape(%#4, %#2)
    %#6: f32[2, 3], %#7: f32[?, 2, 3], %#8: i64[] = loop trips=%#5 states=(%seed) scans=(%#1) reverse_in=[1] reverse_out=[1] {
      body(%i#1: i64[], %go#1: bool[], %#9: f32[2, 3], %#10: f32[2, 3]) {
        %#11: f32[] = constant value=f32[] {1}
        %#12: f32[2, 3] = add(%#11, %#10)
        %#13: f32[] = constant value=f32[] {1}
        %#14: f32[2, 3] = sub(%#13, %#10)
        %#15: f32[2, 3] = mul(%#14, %#12)
        %#16: f32[2, 3] = mul(%#9, %#15)
        %#17: f32[2, 3] = mat_mul(%#16, %w) transpose_b=1
        yield go=%go#1 states=(%#17) items=(%#16)
      }
    }
    %#18: f32[?, 3] = flatten(%#0) axis=2
    %#19: f32[?, 3] = flatten(%#7) axis=2
    %#20: f32[3, 3] = mat_mul(%#18, %#19) transpose_a=1
    yield %y, %#20
  })g");
}

// What follows a state that grows is a part of the final value, too: nothing is joined again.
TEST(Gradient, StatesThatGrowArePartsOfTheFinalValue) {
  const std::string text = gradient_of(
      R"g(graph "g" (%w: f32[3], %seed: f32[3], %n: i64[], %rows: f32[2, 3]) {
    %zero = constant value=i64[1] {0}
    %all, %y, _ = loop trips=%n states=(%rows, %w) {
      body(%i, %go, %a: f32[?, 3], %b: f32[3]) {
        %row = unsqueeze(%b, %zero)
        %next = concat(%a, %row) axis=0
        %e = exp(%next)
        %c = reduce_sum(%e, %zero) keepdims=0
        yield go=%go states=(%next, %c) } }
    yield %y })g");
  const std::size_t first = text.find("concat");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find("concat", first + 1), std::string::npos) << text;
}

TEST(Gradient, OneProductForAllTripsOfAnInnerLoopStaysInTheOuterLoop) {
  expect_gradient(R"g(graph "g" (%w: f32[3, 3], %seed: f32[2, 3], %n: i64[], %h: f32[2, 3]) {
    %four = constant value=i64[] {4}
    %y, _ = loop trips=%n states=(%h) {
      body(%i, %go, %a) {
        %b, _ = loop trips=%four states=(%a) {
          body(%j, %on, %s) {
            %p = mat_mul(%s, %w)
            yield go=%on states=(%p) } }
        yield go=%go states=(%b) } }
    yield %y })g",
                  R"g(graph "g" (%w: f32[3, 3], %seed: f32[2, 3], %n: i64[], %h: f32[2, 3]) {
    %four: i64[] = constant value=i64[] {4}
    %y: f32[2, 3], %#0: f32[?, 2, 3], _ = loop trips=%n states=(%h) {
      body(%i: i64[], %go: bool[], %a: f32[2, 3]) {
        %b: f32[2, 3], _ = loop trips=%four states=(%a) {
          body(%j: i64[], %on: bool[], %s: f32[2, 3]) {
            %p: f32[2, 3] = mat_mul(%s, %w)
            yield go=%on states=(%p)
          }
        }
        yield go=%go states=(%b) items=(%a)
      }
    }
    %#1: i64[0] = constant value=i64[0] {}
    %#2: i64[] = constant value=i64[] {0}
    %#3: i64[] = max(%n, %#2)
    %#4: i64[] = reshape(%#3, %#1)
    %#5: f32[] = constant value=f32[] {0}
    %#6: i64[2] = shape(%w)
    %#7: f32[3, 3] = expand(%#5, %#6)
    %#8: f32[2, 3], %#9: f32[3, 3], %#10: i64[] = loop trips=%#4 states=(%seed, %#7) scans=(%#0) reverse_in=[1] {
      body(%i#1: i64[], %go#1: bool[], %#11: f32[2, 3], %#12: f32[3, 3], %#13: f32[2, 3]) {
        %b#1: f32[2, 3], %#14: f32[4, 2, 3], _ = loop trips=%four states=(%#13) {
          body(%j#1: i64[], %on#1: bool[], %s#1: f32[2, 3]) {
            %p#1: f32[2, 3] = mat_mul(%s#1, %w)
            yield go=%on#1 states=(%p#1) items=(%s#1)
          }
        }
        %#15: i64[0] = constant value=i64[0] {}
        %#16: i64[] = constant value=i64[] {0}
        %#17: i64[] = max(%four, %#16)
        %#18: i64[] = reshape(%#17, %#15)
        %#19: f32[2, 3], %#20: f32[4, 2, 3], %#21: i64[] = loop trips=%#18 states=(%#11) reverse_out=[1] {
          body(%i#2: i64[], %go#2: bool[], %#22: f32[2, 3]) {
            %#23: f32[2, 3] = mat_mul(%#22, %w) transpose_b=1
            yield go=%go#2 states=(%#23) items=(%#22)
          }
        }
        %#24: f32[8, 3] = flatten(%#14) axis=2
        %#25: f32[8, 3] = flatten(%#20) axis=2
        %#26: f32[3, 3] = mat_mul(%#24, %#25) transpose_a=1
        %#27: f32[3, 3] = add(%#12, %#26)
        yield go=%go#1 states=(%#19, %#27)
      }
    }
    yield %y, %#9
  })g");
}

TEST(Gradient, ResultsAreKeptInPlaceOfWhatTheyAreComputedFrom) {
  expect_gradient(R"g(graph "g" (%x: f32[5, 2, 3], %seed: f32[5, 2, 3], %w: f32[3, 3], %b: f32[3]) {
    %y, _ = loop scans=(%x) stacks=1 {
      body(%i, %go, %a) {
        %p = mat_mul(%a, %w)
        %q = mat_mul(%a, %w) transpose_b=1
        %r = add(%p, %q)
        %s = add(%r, %b)
        %t = sin(%s)
        yield go=%go items=(%t) } }
    yield %y })g",
                  R"g(graph "g" (%x: f32[5, 2, 3], %seed: f32[5, 2, 3], %w: f32[3, 3], %b: f32[3]) {
    %y: f32[5, 2, 3], %#0: f32[?, 2, 3], _ = loop scans=(%x) {
      body(%i: i64[], %go: bool[], %a: f32[2, 3]) {
        %p: f32[2, 3] = mat_mul(%a, %w)
        %q: f32[2, 3] = mat_mul(%a, %w) transpose_b=1
        %r: f32[2, 3] = add(%p, %q)
        %s: f32[2, 3] = add(%r, %b)
        %t: f32[2, 3] = sin(%s)
        yield go=%go items=(%t, %s)
      }
    }
    %#1: i64[0] = constant value=i64[0] {}
    %#2: i64[3] = shape(%x)
    %#3: i64[1] = constant value=i64[1] {0}
    %#4: i64[1] = gather(%#2, %#3)
    %#5: i64[] = reshape(%#4, %#1)
    %#6: f32[5, 2, 3], %#7: i64[] = loop trips=%#5 scans=(%seed, %#0) declared=[f32[2, 3]] reverse_in=[1, 1] reverse_out=[1] {
      body(%i#1: i64[], %go#1: bool[], %#8: f32[2, 3], %#9: f32[2, 3]) {
        %#10: f32[2, 3] = cos(%#9)
        %#11: f32[2, 3] = mul(%#8, %#10)
        %#12: f32[2, 3] = mat_mul(%#11, %w)
        %#13: f32[2, 3] = mat_mul(%#11, %w) transpose_b=1
        %#14: f32[2, 3] = add(%#12, %#13)
        yield go=%go#1 items=(%#14)
      }
    }
    yield %y, %#6
  })g");
}

TEST(Gradient, ResultsOfProductsWithWeightsLeaveTheLoop) {
  expect_gradient(R"g(graph "g" (%x: f32[5, 2, 3], %seed: f32[5, 2, 3], %w: f32[3, 3]) {
    %y, _ = loop scans=(%x) stacks=1 {
      body(%i, %go, %a) {
        %p = mat_mul(%a, %w)
        %t = tanh(%p)
        yield go=%go items=(%t) } }
    yield %y })g",
                  R"g(graph "g" (%x: f32[5, 2, 3], %seed: f32[5, 2, 3], %w: f32[3, 3]) {
    %y: f32[5, 2, 3], _ = loop scans=(%x) {
      body(%i: i64[], %go: bool[], %a: f32[2, 3]) {
        %p: f32[2, 3] = mat_mul(%a, %w)
        %t: f32[2, 3] = tanh(%p)
        yield go=%go items=(%t)
      }
    }
    %#0: i64[0] = constant value=i64[0] {}
    %#1: i64[3] = shape(%x)
    %#2: i64[1] = constant value=i64[1] {0}
    %#3: i64[1] = gather(%#1, %#2)
    %#4: i64[] = reshape(%#3, %#0)
    %#5: f32[?, 2, 3], %#6: i64[] = loop trips=%#4 scans=(%seed, %y) reverse_in=[1, 1] reverse_out=[1] {
      body(%i#1: i64[], %go#1: bool[], %#7: f32[2, 3], %#8: f32[2, 3]) {
        %#9: f32[] = constant value=f32[] {1}
        %#10: f32[2, 3] = add(%#9, %#8)
        %#11: f32[] = constant value=f32[] {1}
        %#12: f32[2, 3] = sub(%#11, %#8)
        %#13: f32[2, 3] = mul(%#12, %#10)
        %#14: f32[2, 3] = mul(%#7, %#13)
        yield go=%go#1 items=(%#14)
      }
    }
    %#15: f32[?, 3] = flatten(%#5) axis=-1
    %#16: f32[?, 3] = mat_mul(%#15, %w) transpose_b=1
    %#17: i64[2] = shape(%#5) end=-1
    %#18: i64[1] = shape(%#16) start=-1
    %#19: i64[3] = concat(%#17, %#18) axis=0
    %#20: f32[5, 2, 3] = reshape(%#16, %#19) allowzero=1
    yield %y, %#20
  })g");
}

TEST(Gradient, OfAnIfIsAnIfOnTheSameCondition) {
  expect_gradient(R"g(graph "g" (%x: f32[3], %seed: f32[3], %c: bool[]) {
    %y = if(%c) {
      then {
        %e = exp(%x)
        yield %e }
      else {
        yield %seed } }
    yield %y })g",
                  R"g(graph "g" (%x: f32[3], %seed: f32[3], %c: bool[]) {
    %y: f32[3] = if(%c) {
      then {
        %e: f32[3] = exp(%x)
        yield %e
      }
      else {
        yield %seed
      }
    }
    %#0: f32[3] = if(%c) {
      then {
        %e#1: f32[3] = exp(%x)
        %#1: f32[3] = mul(%seed, %e#1)
        yield %#1
      }
      else {
        %#2: f32[] = constant value=f32[] {0}
        %#3: i64[1] = shape(%x)
        %#4: f32[3] = expand(%#2, %#3)
        yield %#4
      }
    }
    yield %y, %#0
  })g");
}

TEST(Gradient, ALoopThatDoesNotReadTheInputStaysAsItIs) {
  expect_gradient(R"g(graph "g" (%x: f32[3], %seed: f32[3], %n: i64[], %h: f32[3]) {
    %z, _ = loop trips=%n states=(%h) {
      body(%i, %go, %a) {
        %t = sin(%a)
        yield go=%go states=(%t) } }
    %y = add(%x, %z)
    yield %y })g",
                  R"g(graph "g" (%x: f32[3], %seed: f32[3], %n: i64[], %h: f32[3]) {
    %z, _ = loop trips=%n states=(%h) {
      body(%i, %go, %a) {
        %t = sin(%a)
        yield go=%go states=(%t) } }
    %y = add(%x, %z)
    yield %y, %seed })g");
}

/// All ops with float inputs and outputs have a gradient.
const ir::OpEntry without_gradient{
    {.name = "without_gradient", .doc = "y = x", .inputs = {{"x"}}, .type = [](ir::TypeContext& c) {
       c.output(0, c.input(0));
     }}};

TEST(Gradient, AnOpWithoutOneIsNamedWithThePathToIt) {
  try {
    gradient_of(R"g(graph "g" (%x: f32[3], %seed: f32[3]) {
      %l = without_gradient(%x)
      %y = exp(%l)
      yield %y })g");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.blame(), Blame::unsupported);
    EXPECT_NE(std::string(e.what()).find("has no gradient; on the way to it: 'y' <- 'l'"),
              std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace rondel::gradients
