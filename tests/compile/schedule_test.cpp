// `rondel inspect --schedule`: the nests that lowering makes, and why, as text.
#include "compile/schedule_text.h"

#include "compile/plan_builder.h"
#include "ir/text.h"

#include <gmock/gmock.h>

namespace rondel::compile {
namespace {

/// A processor with 16 lanes of f32.
constexpr codegen::Host host{.vector_bytes = 64, .vector_registers = 32, .scales = true};

/// The schedule of a graph as it stands: no pass changes it.
std::string schedule(const std::string& text) {
  return '\n' + schedule_text(std::make_shared<const ir::Graph>(ir::parse(text)),
                              {.evaluate = make_evaluator()}, host);
}

std::string loop(const std::string& inputs, const std::string& head, const std::string& body,
                 const std::string& results) {
  return "graph \"g\" (" + inputs + ") {\n" + head + " {\n" + body + "\n} }\nyield " + results +
         " }";
}

TEST(Schedule, ElementsOfOneIndexSpaceAreFused) {
  EXPECT_EQ(schedule(R"g(graph "g" (%x: f32[N], %y: f32[N], %z: f32[M]) {
    %a = neg(%x)
    %b = mul(%a, %y)
    %c = abs(%z)
    %d = exp(%b)
    yield %c, %d })g"),
            R"(
program 'd' (exp)
  for elements [N]: fused 'a' (neg), 'b' (mul), 'd' (exp)
    stored at registers (read nowhere else): 'a', 'b'
    stored at the result, over 'x', which nothing reads later: 'd'
    vectorised over 16 lanes, the last ones masked, because its arithmetic is long
    parallel: threads may share it
program 'c' (abs)
  for elements [M]: 'c' (abs)
    stored at the result, over 'z', which nothing reads later: 'c'
    vectorised by LLVM, the last trips over 16 masked lanes
    parallel: threads may share it
)");
}

TEST(Schedule, ASoftmaxRunsByRows) {
  EXPECT_EQ(schedule(R"g(graph "g" (%x: f32[M, N]) {
    %last: i64[1] = constant value=i64[1] {1}
    %m = reduce_max(%x, %last)
    %d = sub(%x, %m)
    %e = exp(%d)
    %s = reduce_sum(%e, %last)
    %y = div(%e, %s)
    yield %y })g"),
            R"(
program 'y' (div)
  by rows: for rows [M] of elements [N]
    because a row is still in the cache when the next nodes read it
    its trips are no lanes of vectors: neighbouring trips access elements that are not adjacent
    parallel: threads may share it
    reduce [M, N] to [M, 1]: 'm' (reduce_max)
      stored at a register for each row
      unrolled: the partial results of a fold are in registers
    for elements [M, N]: fused 'd' (sub), 'e' (exp)
      stored at registers: 'd'
      stored at the memory of 'y', which comes later: 'e'
      vectorised over 16 lanes, the last ones masked, because its arithmetic is long
      parallel: threads may share it, if the loop around has few trips
    reduce [M, N] to [M, 1]: 's' (reduce_sum)
      stored at a register for each row
      unrolled: the partial results of a fold are in registers
    for elements [M, N]: 'y' (div)
      stored at the result: 'y'
      vectorised by LLVM, the last trips over 16 masked lanes
      parallel: threads may share it, if the loop around has few trips
)");
}

TEST(Schedule, FewShortRowsAreLeftApart) {
  EXPECT_EQ(schedule(R"g(graph "g" (%x: f32[4, 8]) {
    %last: i64[1] = constant value=i64[1] {1}
    %s = reduce_sum(%x, %last)
    %y = div(%x, %s)
    yield %y })g"),
            R"(
program 's' (reduce_sum)
  reduce [4, 8] to [4, 1]: 's' (reduce_sum)
    stored at the result: 's'
    unrolled: a fold of few elements
    vectorised over 4 lanes, because its arithmetic is long
    not shared by threads: too little work
program 'y' (div)
  for elements [4, 8]: 'y' (div)
    stored at the result, over 'x', which nothing reads later: 'y'
    not fused with 's' (reduce_sum): another index space
    not fused with 's' (reduce_sum): rows are shorter than 16, and not computed several at once
    vectorised by LLVM
    not shared by threads: too little work
)");
}

TEST(Schedule, ShortRowsAreInRegisters) {
  EXPECT_EQ(schedule(R"g(graph "g" (%x: f32[M, 8]) {
    %last: i64[1] = constant value=i64[1] {1}
    %s = reduce_sum(%x, %last)
    %y = div(%x, %s)
    yield %y })g"),
            R"(
program 'y' (div)
  by rows: for rows [M] of elements [8]
    because rows are short: several are computed at once, in registers
    vectorised over 16 lanes, the last ones masked, because its arithmetic is long
    parallel: threads may share it
    reduce [M, 8] to [M, 1]: 's' (reduce_sum)
      stored at a register for each row
      unrolled: a fold of few elements
    for elements [M, 8]: 'y' (div)
      stored at the result: 'y'
)");
}

TEST(Schedule, AllTripsForOneElementBeforeTheNext) {
  EXPECT_EQ(schedule(loop("%c: f32[512, 512], %z0: f32[512, 512]",
                          "%n: i64[] = constant value=i64[] {1000}\n"
                          "%z, _ = loop trips=%n states=(%z0) { body(%i, %go, %s)",
                          "%q = mul(%s, %s)\n%t = add(%q, %c)\nyield go=%go states=(%t)", "%z")),
            R"(
'z' (loop): natively, as a whole
  for elements [512, 512]
    all trips for one element before the next, because each element of the states is computed from elements at its own index
    vectorised over 128 lanes, because LLVM vectorises innermost loops only
    parallel: threads may share it
    for trips of 'z' (loop): 1,000
      stored at registers: 's'
      fused 'q' (mul), 't' (add)
)");
}

TEST(Schedule, AProductAStateThatGrowsAndAStack) {
  EXPECT_EQ(schedule(loop("%x0: f32[1, 8], %log0: f32[L, 8], %w: f32[8, 8], %n: i64[]",
                          "%x, %log, %ys, _ = loop trips=%n states=(%x0, %log0) "
                          "{ body(%i, %go, %s, %l)",
                          "%p = mat_mul(%s, %w)\n%t = tanh(%p)\n%k = concat(%l, %t) axis=0\n"
                          "yield go=%go states=(%t, %k) items=(%p)",
                          "%x, %log, %ys")),
            R"(
'x' (loop): natively, as a whole
  for trips of 'x' (loop): as many as 'n' says
    its trips depend on each other: they hand on 's', 'l'
    not element by element: extents of its states change
    product [1, 8]: 'p' (mat_mul)
      stored at a local array (for 't' (tanh)): 'p'
      tiled: tiles of 1 x 16 in registers, 16 lanes in a vector
      not shared by threads: too little work
    for elements [1, 8]: 't' (tanh)
      stored at state 's', in place: 't'
      vectorised over 8 lanes, because its arithmetic is long
      not shared by threads: too little work
    for elements [?, 8]: 'k' (concat)
      stored at state 'l', in place: 'k'
      vectorised by LLVM
      not shared by threads: too little work
    copy 'p' to stack 'ys'
      vectorised by LLVM
      not shared by threads: too little work
)");
}

TEST(Schedule, AStateThatIsReadAfterItsNextValueIsMadeIsCopied) {
  EXPECT_EQ(schedule(loop("%x0: f32[N], %y0: f32[N], %w: f32[N, N], %n: i64[]",
                          "%x, %y, _ = loop trips=%n states=(%x0, %y0) { body(%i, %go, %s, %t)",
                          "%u = exp(%s)\n%v = mat_mul(%w, %u)\n%p = mat_mul(%v, %s)\n"
                          "%q = add(%t, %p)\nyield go=%go states=(%u, %q)",
                          "%x, %y")),
            R"(
'x' (loop): natively, as a whole
  for trips of 'x' (loop): as many as 'n' says
    its trips depend on each other: they hand on 's', 't'
    not element by element: 'v' (mat_mul) is not computed element by element
    for elements [N]: 'u' (exp)
      stored at the arena (for 'v' (mat_mul)): 'u'
      vectorised over 16 lanes, the last ones masked, because its arithmetic is long
      parallel: threads may share it
    product [N]: 'v' (mat_mul)
      stored at the arena (for 'p' (mat_mul)): 'v'
      tiled: dot products, several at once
      parallel: threads may share it
    product []: 'p' (mat_mul)
      stored at a local array (for 'q' (add)): 'p'
      tiled: dot products, several at once
      parallel: threads may share it
    for elements [N]: 'q' (add)
      stored at state 't', in place: 'q'
      vectorised by LLVM, the last trips over 16 masked lanes
      parallel: threads may share it
    copy 'u' to state 's'
      because 's' is still read when it is made
      vectorised by LLVM, the last trips over 16 masked lanes
      parallel: threads may share it
)");
}

TEST(Schedule, TheNextValueOfAStateIsMadeAfterWhatReadsTheState) {
  EXPECT_THAT(
      schedule(loop("%x0: f32[N], %y0: f32[N], %w: f32[N, N], %n: i64[]",
                    "%x, %y, _ = loop trips=%n states=(%x0, %y0) { body(%i, %go, %s, %t)",
                    "%u = exp(%s)\n%p = mat_mul(%w, %s)\nyield go=%go states=(%u, %p)", "%x, %y")),
      testing::AllOf(testing::HasSubstr("stored at state 's', in place: 'u'"),
                     testing::HasSubstr("stored at state 't', in place: 'p'"),
                     testing::Not(testing::HasSubstr("copy"))));
}

TEST(Schedule, ALoopInALoopAndAReductionThatComputesWhatItReads) {
  EXPECT_EQ(schedule(loop("%x0: f32[N], %n: i64[], %m: i64[]",
                          "%x, _ = loop trips=%n states=(%x0) { body(%i, %go, %s)",
                          "%t, _ = loop trips=%m states=(%s) { body(%j, %g, %u) {\n"
                          "%v = sin(%u)\nyield go=%g states=(%v) } }\n"
                          "%a = abs(%t)\n%sum = reduce_sum(%a) keepdims=0\n%d = div(%t, %sum)\n"
                          "yield go=%go states=(%d)",
                          "%x")),
            R"(
'x' (loop): natively, as a whole
  for trips of 'x' (loop): as many as 'n' says
    its trips depend on each other: they hand on 's'
    not element by element: 't' (loop) is not computed element by element
    for elements [N]
      all trips for one element before the next, because each element of the states is computed from elements at its own index
      vectorised over 64 lanes, the last ones masked, because LLVM vectorises innermost loops only
      parallel: threads may share it
      for trips of 't' (loop): as many as 'm' says
        stored at registers: 'u'
        'v' (sin)
    reduce [N] to []: 'sum' (reduce_sum)
      stored at registers: 'sum'
      computed at 'sum' (reduce_sum): 'a' (abs), because nothing else reads it
      unrolled: the partial results of a fold are in registers
      not shared by threads: its trips write to memory that they share
    for elements [N]: 'd' (div)
      stored at state 's', in place: 'd'
      not fused with 'sum' (reduce_sum): another index space
      vectorised by LLVM, the last trips over 16 masked lanes
      parallel: threads may share it
)");
}

TEST(Schedule, TripsThatHandNothingOnAreParallel) {
  EXPECT_EQ(schedule(loop("%x: f32[T, 4]", "%ys, _ = loop scans=(%x) { body(%i, %go, %e)",
                          "%m = reduce_max(%e) keepdims=0\n%d = sub(%e, %m)\n"
                          "yield go=%go items=(%d)",
                          "%ys")),
            R"(
'ys' (loop): natively, as a whole
  for trips of 'ys' (loop): T
    its trips are independent: they hand nothing on
    parallel: threads may share it
    reduce [4] to []: 'm' (reduce_max)
      stored at registers: 'm'
      unrolled: a fold of few elements
    for elements [4]: 'd' (sub)
      stored at stack 'ys': 'd'
      not fused with 'm' (reduce_max): another index space
      vectorised by LLVM
)");
}

TEST(Schedule, AnIfInALoop) {
  EXPECT_EQ(schedule(loop("%x0: f32[N], %c: bool[], %n: i64[]",
                          "%x, _ = loop trips=%n states=(%x0) { body(%i, %go, %s)",
                          "%y = if(%c) { then { %a = neg(%s)\nyield %a } "
                          "else { %b = exp(%s)\nyield %b } }\nyield go=%go states=(%y)",
                          "%x")),
            R"(
'x' (loop): natively, as a whole
  for trips of 'x' (loop): as many as 'n' says
    its trips depend on each other: they hand on 's'
    not element by element: 'y' (if) is not computed element by element
    'y' (if)
      then
        for elements [N]: 'a' (neg)
          stored at state 's', in place: 'a'
          vectorised by LLVM, the last trips over 16 masked lanes
          parallel: threads may share it
      else
        for elements [N]: 'b' (exp)
          stored at state 's', in place: 'b'
          vectorised over 16 lanes, the last ones masked, because its arithmetic is long
          parallel: threads may share it
)");
}

TEST(Schedule, ALoopThatRunsStepByStepSaysWhyAndShowsItsSteps) {
  EXPECT_EQ(schedule(loop("%x0: f32[N], %n: i64[]",
                          "%x, _ = loop trips=%n states=(%x0) { body(%i, %go, %s)",
                          "%u = cast(%s) to=type str[]\n%v = cast(%u) to=type f32[]\n%t = sin(%v)\n"
                          "yield go=%go states=(%t)",
                          "%x")),
            R"(
'x' (loop): step by step, for shapes as declared: node (cast) makes text; strings run step by step (1 more follows from it)
  'u' (cast): expanded when ranks are known
  'v' (cast): expanded when ranks are known
  program 't' (sin)
    for elements [N]: 't' (sin)
      stored at the result: 't'
      vectorised over 16 lanes, the last ones masked, because its arithmetic is long
      parallel: threads may share it
)");
}

}  // namespace
}  // namespace rondel::compile
