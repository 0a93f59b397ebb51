// What reads results of unlike ranks in a loop is computed in each branch of the `if` that gives
// them.
#include "passes/move_into_branches.h"

#include "passes/pass_case.h"

#include <fmt/format.h>

namespace rondel::passes {
namespace {

/// A loop with these inputs, nodes of the body, and results of the body; `%c` differs from trip to
/// trip.
std::string loop_with(const std::string& inputs, const std::string& nodes,
                      const std::string& states, const std::string& results) {
  return fmt::format(R"g(graph "g" ({}) {{
    %k = constant value=i64[] {{7}}
    %r, _ = loop trips=%k states=({}) {{
      body(%i, %go, %s) {{
        %c = less(%i, %k)
        {}
        yield go=%go {} }} }}
    yield %r }})g",
                     inputs, states, nodes, results);
}

TEST(MoveIntoBranches, RanksAgreeWithTheState) {
  expect_rewrite(move_into_branches,
                 loop_with("%x: f32[1], %y: f32[]", R"g(
        %q = if(%c) { then { yield %x } else { yield %y } }
        %n = neg(%q)
        %t = add(%s, %n))g",
                           "%x", "states=(%t)"),
                 loop_with("%x: f32[1], %y: f32[]", R"g(
        %t = if(%c) {
          then { %n = neg(%x) %t = add(%s, %n) yield %t }
          else { %n = neg(%y) %t = add(%s, %n) yield %t } })g",
                           "%x", "states=(%t)"));
}

// What others read is a result of the new `if`, what the copies need stays before it, and what
// stands between and reads such a result comes after it.
TEST(MoveIntoBranches, UpToWhereRanksAgree) {
  expect_rewrite(move_into_branches,
                 loop_with("%x: f32[n], %y: f32[2, n], %z: f32[]", R"g(
        %q = if(%c) { then { yield %x } else { %e = exp(%y) yield %e } }
        %m = reduce_max(%q) keepdims=0
        %d = neg(%m)
        %h = abs(%s)
        %p = mul(%q, %h)
        %l = reduce_sum(%p) keepdims=0
        %t = add(%l, %d))g",
                           "%z", "states=(%t)"),
                 loop_with("%x: f32[n], %y: f32[2, n], %z: f32[]", R"g(
        %h = abs(%s)
        %m, %l = if(%c) {
          then { %m = reduce_max(%x) keepdims=0 %p = mul(%x, %h)
                 %l = reduce_sum(%p) keepdims=0 yield %m, %l }
          else { %e = exp(%y) %m = reduce_max(%e) keepdims=0 %p = mul(%e, %h)
                 %l = reduce_sum(%p) keepdims=0 yield %m, %l } }
        %d = neg(%m)
        %t = add(%l, %d))g",
                           "%z", "states=(%t)"));
}

// What comes after the new `if` may have an `if` of its own that gives unlike ranks.
TEST(MoveIntoBranches, WhatIsBehindMovesInItsTurn) {
  const std::string inputs = "%x: f32[n], %y: f32[2, n], %z: f32[]";
  const std::string around = R"g(
        %d = neg(%m)
        %e, _ = loop trips=%k states=(%d) {
          body(%j, %on, %v) {
            %g = equal(%i, %j)
            INNER
            yield go=%on states=(%w) } })g";
  const auto with_inner = [&](std::string inner) {
    std::string text = around;
    return text.replace(text.find("INNER"), 5, inner);
  };
  const std::string copies = R"g(
        %h = abs(%s)
        %m, %l = if(%c) {
          then { %m = reduce_max(%x) keepdims=0 %p = mul(%x, %h)
                 %l = reduce_sum(%p) keepdims=0 yield %m, %l }
          else { %m = reduce_max(%y) keepdims=0 %p = mul(%y, %h)
                 %l = reduce_sum(%p) keepdims=0 yield %m, %l } })g";
  const std::string end = "\n        %t = add(%l, %e)";
  expect_rewrite(move_into_branches,
                 loop_with(inputs,
                           R"g(
        %q = if(%c) { then { yield %x } else { yield %y } }
        %m = reduce_max(%q) keepdims=0)g" +
                               with_inner(R"g(
            %f = if(%g) { then { yield %x } else { yield %y } }
            %a = reduce_sum(%f) keepdims=0
            %w = add(%v, %a))g") +
                               R"g(
        %h = abs(%s)
        %p = mul(%q, %h)
        %l = reduce_sum(%p) keepdims=0)g" +
                               end,
                           "%z", "states=(%t)"),
                 loop_with(inputs, copies + with_inner(R"g(
            %a = if(%g) {
              then { %a = reduce_sum(%x) keepdims=0 yield %a }
              else { %a = reduce_sum(%y) keepdims=0 yield %a } }
            %w = add(%v, %a))g") + end,
                           "%z", "states=(%t)"));
}

// One of two that stand in each other.
TEST(MoveIntoBranches, OneAfterTheOther) {
  const std::string inputs = "%x: f32[n], %y: f32[2, n], %z: f32[]";
  expect_rewrite(move_into_branches,
                 loop_with(inputs, R"g(
        %q = if(%c) { then { yield %x } else { yield %y } }
        %m = reduce_max(%q) keepdims=0
        %d = less(%m, %z)
        %f = if(%d) { then { yield %x } else { yield %y } }
        %a = reduce_sum(%f) keepdims=0
        %p = mul(%q, %s)
        %l = reduce_sum(%p) keepdims=0
        %t = add(%l, %a))g",
                           "%z", "states=(%t)"),
                 loop_with(inputs, R"g(
        %m, %l = if(%c) {
          then { %m = reduce_max(%x) keepdims=0 %p = mul(%x, %s)
                 %l = reduce_sum(%p) keepdims=0 yield %m, %l }
          else { %m = reduce_max(%y) keepdims=0 %p = mul(%y, %s)
                 %l = reduce_sum(%p) keepdims=0 yield %m, %l } }
        %d = less(%m, %z)
        %a = if(%d) {
          then { %a = reduce_sum(%x) keepdims=0 yield %a }
          else { %a = reduce_sum(%y) keepdims=0 yield %a } }
        %t = add(%l, %a))g",
                           "%z", "states=(%t)"));
}

// What a copy reads and others make of a result of the copies moves with them.
TEST(MoveIntoBranches, WhatStandsBetweenMoves) {
  expect_rewrite(move_into_branches,
                 loop_with("%x: f32[n], %y: f32[2, n], %z: f32[]", R"g(
        %q = if(%c) { then { yield %x } else { yield %y } }
        %m = reduce_max(%q) keepdims=0
        %d = neg(%m)
        %p = mul(%q, %d)
        %t = reduce_sum(%p) keepdims=0)g",
                           "%z", "states=(%t)"),
                 loop_with("%x: f32[n], %y: f32[2, n], %z: f32[]", R"g(
        %t = if(%c) {
          then { %m = reduce_max(%x) keepdims=0 %d = neg(%m) %p = mul(%x, %d)
                 %t = reduce_sum(%p) keepdims=0 yield %t }
          else { %m = reduce_max(%y) keepdims=0 %d = neg(%m) %p = mul(%y, %d)
                 %t = reduce_sum(%p) keepdims=0 yield %t } })g",
                           "%z", "states=(%t)"));
}

TEST(MoveIntoBranches, OneConditionDecidesOnce) {
  expect_rewrite(move_into_branches,
                 loop_with("%x: f32[n], %y: f32[]", R"g(
        %q = if(%c) { then { yield %x } else { yield %y } }
        %p = if(%c) { then { %e = exp(%q) yield %e } else { yield %x } }
        %t = add(%p, %s))g",
                           "%x", "states=(%t)"),
                 loop_with("%x: f32[n], %y: f32[]", R"g(
        %p = if(%c) {
          then { %e = exp(%x) yield %e }
          else { yield %x } }
        %t = add(%p, %s))g",
                           "%x", "states=(%t)"));
}

TEST(MoveIntoBranches, TwoConditionsGiveFourBranches) {
  expect_rewrite(move_into_branches,
                 loop_with("%x: f32[n], %y: f32[]", R"g(
        %d = equal(%i, %k)
        %q = if(%c) { then { yield %x } else { yield %y } }
        %p = if(%d) { then { yield %x } else { yield %y } }
        %t = where(%c, %p, %q)
        %u = add(%t, %s))g",
                           "%x", "states=(%u)"),
                 loop_with("%x: f32[n], %y: f32[]", R"g(
        %d = equal(%i, %k)
        %u = if(%c) {
          then {
            %u = if(%d) {
              then { %t = where(%c, %x, %x) %u = add(%t, %s) yield %u }
              else { %t = where(%c, %y, %x) %u = add(%t, %s) yield %u } }
            yield %u }
          else {
            %u = if(%d) {
              then { %t = where(%c, %x, %y) %u = add(%t, %s) yield %u }
              else { %t = where(%c, %y, %y) %u = add(%t, %s) yield %u } }
            yield %u } })g",
                           "%x", "states=(%u)"));
}

TEST(MoveIntoBranches, AnIfInABranchDecidesThere) {
  expect_rewrite(move_into_branches,
                 loop_with("%x: f32[n], %y: f32[]", R"g(
        %d = equal(%i, %k)
        %q = if(%c) {
          then { %p = if(%d) { then { yield %x } else { yield %y } } %e = exp(%p) yield %e }
          else { yield %x } }
        %t = add(%q, %s))g",
                           "%x", "states=(%t)"),
                 loop_with("%x: f32[n], %y: f32[]", R"g(
        %d = equal(%i, %k)
        %t = if(%c) {
          then {
            %t = if(%d) {
              then { %e = exp(%x) %t = add(%e, %s) yield %t }
              else { %e = exp(%y) %t = add(%e, %s) yield %t } }
            yield %t }
          else { %t = add(%x, %s) yield %t } })g",
                           "%x", "states=(%t)"));
}

// An inner loop that reads the value is copied with all in it.
TEST(MoveIntoBranches, InnerLoopsMove) {
  expect_rewrite(move_into_branches,
                 loop_with("%x: f32[n], %y: f32[]", R"g(
        %q = if(%c) { then { yield %x } else { yield %y } }
        %t, _ = loop trips=%k states=(%s) {
          body(%j, %on, %v) { %w = add(%v, %q) yield go=%on states=(%w) } })g",
                           "%x", "states=(%t)"),
                 loop_with("%x: f32[n], %y: f32[]", R"g(
        %t = if(%c) {
          then {
            %t, _ = loop trips=%k states=(%s) {
              body(%j, %on, %v) { %w = add(%v, %x) yield go=%on states=(%w) } }
            yield %t }
          else {
            %t, _ = loop trips=%k states=(%s) {
              body(%j, %on, %v) { %w = add(%v, %y) yield go=%on states=(%w) } }
            yield %t } })g",
                           "%x", "states=(%t)"));
}

// An `if` in an inner loop, whose ranks follow from those of an outer one.
TEST(MoveIntoBranches, InBodiesOfInnerLoops) {
  expect_rewrite(move_into_branches,
                 loop_with("%x: f32[1], %y: f32[]", R"g(
        %q = if(%c) { then { yield %x } else { yield %y } }
        %a = add(%s, %q)
        %t, _ = loop trips=%k states=(%a) {
          body(%j, %on, %v) {
            %d = equal(%i, %j)
            %p = if(%d) { then { yield %v } else { yield %y } }
            %w = add(%v, %p)
            yield go=%on states=(%w) } })g",
                           "%x", "states=(%t)"),
                 loop_with("%x: f32[1], %y: f32[]", R"g(
        %a = if(%c) {
          then { %a = add(%s, %x) yield %a }
          else { %a = add(%s, %y) yield %a } }
        %t, _ = loop trips=%k states=(%a) {
          body(%j, %on, %v) {
            %d = equal(%i, %j)
            %w = if(%d) {
              then { %w = add(%v, %v) yield %w }
              else { %w = add(%v, %y) yield %w } }
            yield go=%on states=(%w) } })g",
                           "%x", "states=(%t)"));
}

// Ranks in an inner loop that are decided there, and from outside: in each copy of it.
TEST(MoveIntoBranches, InCopiesOfInnerLoops) {
  const std::string inputs = "%x: f32[n], %y: f32[]";
  expect_rewrite(move_into_branches,
                 loop_with(inputs, R"g(
        %q = if(%c) { then { yield %x } else { yield %y } }
        %t, _ = loop trips=%k states=(%s) {
          body(%j, %on, %v) {
            %d = equal(%i, %j)
            %p = if(%d) { then { yield %x } else { yield %y } }
            %a = exp(%p)
            %w = add(%v, %a)
            %u = add(%w, %q)
            yield go=%on states=(%u) } })g",
                           "%x", "states=(%t)"),
                 loop_with(inputs, R"g(
        %t = if(%c) {
          then {
            %t, _ = loop trips=%k states=(%s) {
              body(%j, %on, %v) {
                %d = equal(%i, %j)
                %w = if(%d) {
                  then { %a = exp(%x) %w = add(%v, %a) yield %w }
                  else { %a = exp(%y) %w = add(%v, %a) yield %w } }
                %u = add(%w, %x)
                yield go=%on states=(%u) } }
            yield %t }
          else {
            %t, _ = loop trips=%k states=(%s) {
              body(%j, %on, %v) {
                %d = equal(%i, %j)
                %w = if(%d) {
                  then { %a = exp(%x) %w = add(%v, %a) yield %w }
                  else { %a = exp(%y) %w = add(%v, %a) yield %w } }
                %u = add(%w, %y)
                yield go=%on states=(%u) } }
            yield %t } })g",
                           "%x", "states=(%t)"));
}

TEST(MoveIntoBranches, CopiesKeepTheirSources) {
  ir::Graph g = ir::parse(loop_with("%x: f32[1], %y: f32[]", R"g(
        %q = if(%c) {  // from "node 'q' (If)"
          then { yield %x } else { yield %y } }
        %t = add(%s, %q)  // from "node 't' (Add)"
)g",
                                    "%x", "states=(%t)"));
  ASSERT_TRUE(move_into_branches(g));
  std::vector<std::string> sources;
  for (const ir::RegionId r : g.regions_below(ir::RegionId::root))
    for (const ir::NodeId n : g.region(r).nodes)
      if (!g.node(n).source.empty()) sources.push_back(g.node(n).source);
  EXPECT_EQ(sources,
            (std::vector<std::string>{"node 'q' (If)", "node 't' (Add)", "node 't' (Add)"}));
}

/// A body in which data decide the rank of `%q`.
std::string with(const std::string& follows, const std::string& inputs = "%x: f32[n], %y: f32[]") {
  return loop_with(inputs, "%q = if(%c) { then { yield %x } else { yield %y } }\n" + follows, "%x",
                   "states=(%t)");
}

TEST(MoveIntoBranches, WhereRanksNeverAgreeAllStays) {
  expect_untouched(move_into_branches, with("%t = neg(%q)"));
  expect_untouched(move_into_branches, with("%t = add(%s, %q)", "%x: f32[], %y: f32[n]"));
  expect_untouched(move_into_branches,
                   with("%m = mul(%s, %q)\n%t = add(%m, %w)", "%x: f32[], %y: f32[n], %w: f32[n]"));
}

TEST(MoveIntoBranches, WhereRanksAgreeAllStays) {
  expect_untouched(move_into_branches, with("%t = add(%s, %q)", "%x: f32[n], %y: f32[m]"));
}

// A branch gives what follows would not accept, and may never be taken.
TEST(MoveIntoBranches, WhatFitsOneBranchOnlyStays) {
  expect_untouched(move_into_branches, with("%a = reduce_sum(%q, %axis) keepdims=0\n"
                                            "%t = add(%s, %a)",
                                            "%x: f32[n], %y: f32[], %axis: i64[1]"));
  expect_untouched(move_into_branches, with("%one = constant value=i64[1] {0}\n"
                                            "%a = reduce_sum(%q, %one) keepdims=0\n"
                                            "%t = add(%s, %a)"));
}

// The same in an inner loop. What follows another `if` moves all the same, but not behind the loop.
TEST(MoveIntoBranches, WhatFitsNoInnerLoopStays) {
  const auto body = [](const std::string& other) {
    return loop_with("%x: f32[n], %y: f32[], %z: f32[], %n: i64[]", R"g(
        %one = constant value=i64[1] {0}
        %q = if(%c) { then { yield %x } else { yield %y } }
        %t, _ = loop trips=%k states=(%s) {
          body(%j, %on, %v) {
            %a = reduce_sum(%q, %one) keepdims=0
            %w = add(%v, %a)
            yield go=%on states=(%w) } }
        )g" + other,
                     "%z, %z", "states=(%t, %l) items=(%l)");
  };
  const auto completed = [](std::string text) {
    text.replace(text.find("%go, %s"), 7, "%go, %s, %o");
    text.replace(text.find("%r, _"), 5, "%r, %f, %all, _");
    return text.replace(text.find("yield %r"), 8, R"g(%e = equal(%k, %n)
    %b = if(%e) { then { yield %x } else { yield %y } }
    %g = add(%b, %x)
    yield %r, %g)g");
  };
  expect_rewrite(move_into_branches, completed(body(R"g(
        %d = equal(%i, %k)
        %p = if(%d) { then { yield %x } else { yield %y } }
        %l = reduce_sum(%p) keepdims=0)g")),
                 completed(body(R"g(
        %d = equal(%i, %k)
        %l = if(%d) {
          then { %l = reduce_sum(%x) keepdims=0 yield %l }
          else { %l = reduce_sum(%y) keepdims=0 yield %l } })g")));
}

TEST(MoveIntoBranches, AConditionOfUnknownShapeStays) {
  const auto decided_by = [](const std::string& condition) {
    return loop_with("%x: f32[n], %y: f32[], %p: " + condition, R"g(
        %q = if(%p) { then { yield %x } else { yield %y } }
        %t = add(%s, %q))g",
                     "%x", "states=(%t)");
  };
  ir::Graph g = ir::parse(decided_by("bool[1]"));
  EXPECT_TRUE(move_into_branches(g));
  expect_untouched(move_into_branches, decided_by("bool[m]"));
  expect_untouched(move_into_branches, decided_by("bool[...]"));
}

TEST(MoveIntoBranches, LongCopiesAreNotMade) {
  const auto of_length = [](int n) {
    std::string nodes, last = "%q";
    for (int k = 0; k < n; ++k) {
      nodes += fmt::format("%v{} = neg({})\n", k, last);
      last = fmt::format("%v{}", k);
    }
    return with(nodes + fmt::format("%t = add(%s, {})", last));
  };
  ir::Graph g = ir::parse(of_length(63));
  EXPECT_TRUE(move_into_branches(g));
  expect_untouched(move_into_branches, of_length(64));
}

// Shapes that are known when the loop begins decide the rank; others do not.
TEST(MoveIntoBranches, ShapesDecideBeforeTheLoop) {
  const auto squeezed = [](const std::string& v) {
    return loop_with("%x: f32[n], %w: i64[n, 1], %z: i64[]", v + R"g(
        %one = constant value=i64[1] {0}
        %zero = constant value=i64[] {0}
        %u = constant value=i64[] {1}
        %sh = shape(%v)
        %e = gather(%sh, %zero)
        %d = equal(%e, %u)
        %q = if(%d) { then { %a = squeeze(%v, %one) yield %a } else { yield %v } }
        %l = reduce_sum(%q) keepdims=0
        %t = add(%l, %s))g",
                     "%z", "states=(%t)");
  };
  expect_untouched(move_into_branches, squeezed("%v = neg(%w)"));
  ir::Graph g = ir::parse(squeezed(R"g(
        %f = convert(%s) to=type f32[]
        %b = greater(%x, %f)
        %nz = non_zero(%b)
        %v = transpose(%nz) perm=[1, 0])g"));
  EXPECT_TRUE(move_into_branches(g));
}

// Of two alike, the one in the loop moves.
TEST(MoveIntoBranches, OutsideOfLoopsAllStays) {
  const auto twice = [](const std::string& inside) {
    return R"g(graph "g" (%x: f32[n], %y: f32[], %c: bool[], %n: i64[]) {
      %q = if(%c) { then { yield %x } else { yield %y } }
      %t = add(%x, %q)
      %r, _ = loop trips=%n states=(%x) { body(%i, %go, %s) { %d = less(%i, %n) )g" +
           inside + R"g(
        yield go=%go states=(%u) } }
      yield %t, %r })g";
  };
  expect_rewrite(move_into_branches,
                 twice("%p = if(%d) { then { yield %x } else { yield %y } } %u = add(%x, %p)"),
                 twice("%u = if(%d) { then { %u = add(%x, %x) yield %u } "
                       "else { %u = add(%x, %y) yield %u } }"));
}

/// A loop that stacks `%t`, which has no rank if nothing moves.
std::string stacking(const std::string& trips, const std::string& loop, const std::string& item,
                     const std::string& inputs = "%x: f32[n], %y: f32[]") {
  return fmt::format(R"g(graph "g" ({}, %n: i64[], %z: f32[]) {{
    %k = constant value=i64[] {{7}}
    _, %r, _ = loop trips={} states=(%z) {} {{
      body(%i, %go, %s) {{
        %c = less(%i, %k)
        {}
        yield go=%go states=(%s) items=(%t) }} }}
    yield %r }})g",
                     inputs, trips, loop, item);
}

// A stack without trips has the shape that is known of its items, or [0] if nothing tells its rank.
TEST(MoveIntoBranches, EmptyStacksKeepTheirShapes) {
  const std::string given = "%q = if(%c) { then { yield %x } else { yield %y } }\n%t = add(%x, %q)";
  const std::string moved = R"g(%t = if(%c) {
          then { %t = add(%x, %x) yield %t }
          else { %t = add(%x, %y) yield %t } })g";
  expect_rewrite(move_into_branches, stacking("%k", "", given), stacking("%k", "", moved));
  const std::string sizes = "%x: f32[3], %y: f32[]";
  expect_untouched(move_into_branches, stacking("%n", "declared=[f32[n]]", given));
  expect_untouched(move_into_branches, stacking("%n", "declared=[f32[4]]", given, sizes));
  expect_rewrite(move_into_branches, stacking("%n", "declared=[f32[3]]", given, sizes),
                 stacking("%n", "declared=[f32[3]]", moved, sizes));
}

// The copies of an inner loop know more of what they stack.
TEST(MoveIntoBranches, EmptyStacksOfCopiesKeepTheirShapes) {
  const auto stacking = [](const std::string& trips, const std::string& item) {
    return loop_with("%x: f32[n], %y: f32[], %n: i64[], %z: f32[]",
                     "%q = if(%c) { then { yield %x } else { yield %y } }\n"
                     "%last, %all, _ = loop trips=" +
                         trips + R"g( states=(%x) { body(%j, %on, %v) {
          %u = add(%v, %q)
          %a = neg()g" + item +
                         R"g()
          yield go=%on states=(%u) items=(%a) } }
        %l = reduce_sum(%all) keepdims=0
        %m = reduce_max(%last) keepdims=0
        %w = add(%l, %m)
        %t = add(%w, %s))g",
                     "%z", "states=(%t)");
  };
  expect_untouched(move_into_branches, stacking("%n", "%q"));
  for (const std::string& moved : {stacking("%k", "%q"), stacking("%n", "%x")}) {
    ir::Graph g = ir::parse(moved);
    EXPECT_TRUE(move_into_branches(g)) << moved;
  }
}

// Stacks that do not depend on what moves are no reason to leave it.
TEST(MoveIntoBranches, OtherStacksMayBeUnknown) {
  ir::Graph g = ir::parse(R"g(graph "g" (%x: f32[n], %y: f32[], %n: i64[]) {
    %r, %all, _ = loop trips=%n states=(%x) {
      body(%i, %go, %s) {
        %c = less(%i, %n)
        %q = if(%c) { then { yield %x } else { yield %y } }
        %t = add(%x, %q)
        %b = greater(%x, %y)
        %nz = non_zero(%b)
        yield go=%go states=(%t) items=(%nz) } }
    yield %r, %all })g");
  EXPECT_TRUE(move_into_branches(g));
}

/// The inner loop, or the only one, stacks `%t`.
std::string nested(const std::string& inner) {
  return fmt::format(R"g(graph "g" (%x: f32[n], %y: f32[], %n: i64[], %z: f32[]) {{
    %last, _ = loop trips=%n states=(%z) {{
      body(%j, %on, %v) {{
        {}
        %w = reduce_sum(%r) keepdims=0
        yield go=%on states=(%w) }} }}
    yield %last }})g",
                     inner);
}

TEST(MoveIntoBranches, AStackOfNoRankIsKeptBehindItsLoop) {
  const auto loop = [](const std::string& body, const std::string& behind) {
    return fmt::format(R"g(%r, %m = loop trips=%n {{
        body(%i, %go) {{
          %c = less(%i, %n)
          {}
          yield go=%go items=(%t) }} }}
        {})g",
                       body, behind);
  };
  const std::string given = loop(
      "%q = if(%c) { then { yield %x } else { yield %y } }\n%t = add(%x, %q)", "");
  const auto alone = [](const std::string& nodes, const std::string& result) {
    return R"g(graph "g" (%x: f32[n], %y: f32[], %n: i64[]) {
      )g" + nodes +
           "yield " + result + " }";
  };
  expect_rewrite(move_into_branches, alone(given, "%r"),
                 alone(loop(R"g(%t = if(%c) {
          then { %t = add(%x, %x) yield %t }
          else { %t = add(%x, %y) yield %t } })g",
                            R"g(
      %#0 = constant value=i64[] {0}
      %#1 = equal(%m, %#0)
      %#2 = constant value=i64[1] {0}
      %#3 = constant value=i64[1] {0}
      %#4 = where(%#1, %#2, %#3)
      %#5 = constant value=i64[1] {1}
      %#6 = constant value=i64[1] {2}
      %#7 = where(%#1, %#5, %#6)
      %#8 = shape(%r)
      %#9: i64[$v19.0] = slice(%#8, %#4, %#7)
      %r#1 = reshape(%r, %#9) allowzero=1
      )g"),
                       "%r#1"));
  expect_untouched(move_into_branches, nested(given));
}

}  // namespace
}  // namespace rondel::passes
