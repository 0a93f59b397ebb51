// Which nodes share a step.
#include "lowering/group.h"

#include "base/text.h"
#include "ir/text.h"

#include <gmock/gmock.h>

namespace rondel::lowering {
namespace {

/// Groups as text, "[a b](x)->(b)": the nodes, by the names of their first outputs, the inputs and
/// the outputs of the group. A group that is no program begins with "!".
std::string groups(const std::string& text, Sharing sharing = Sharing::steps,
                   bool of_body = false) {
  const ir::Graph g = ir::parse(text);
  const ir::TypeEnvironment k = ir::type_environment(g);
  const auto name = [&](ir::ValueId v) { return g.value(v).name; };
  std::vector<std::string> all;
  const ir::RegionId r = of_body ? ir::RegionId{1} : ir::RegionId::root;
  for (const Group& group : group_nodes(g, r, k.types, sharing)) {
    const auto node = [&](ir::NodeId n) { return name(g.node(n).outputs[0]); };
    all.push_back(fmt::format("{}[{}]({})->({})", group.program ? "" : "!",
                              join(group.nodes, " ", node), join(group.inputs, " ", name),
                              join(group.outputs, " ", name)));
  }
  return join(all, " ");
}

TEST(Group, ElementsOfOneIndexSpaceComeTogether) {
  const char* text = R"g(graph "g" (%x: f32[N], %y: f32[N], %z: f32[M]) {
    %a = neg(%x)
    %b = mul(%a, %y)
    %c = abs(%z)
    %d = exp(%b)
    yield %c, %d })g";
  EXPECT_EQ(groups(text), "[a b d](x y)->(d) [c](z)->(c)");
  EXPECT_EQ(groups(text, Sharing::none), "[a](x)->(a) [b](a y)->(b) [c](z)->(c) [d](b)->(d)");
}

TEST(Group, WhatIsReadElsewhereLeavesTheGroup) {
  EXPECT_EQ(groups(R"g(graph "g" (%x: f32[4]) {
    %a = neg(%x)
    %b = abs(%a)
    %s = reduce_sum(%a)
    yield %b, %s })g"),
            "[a b](x)->(a b) [s](a)->(s)");
}

TEST(Group, TakesInTheGroupsWhoseValuesItReads) {
  const auto sum = [](const std::string& between) {
    return groups("graph \"g\" (%x: f32[N], %y: f32[N], %w: f32[N, N]) {\n%a = neg(%x)\n" +
                  between + "%b = abs(%y)\n%c = add(%a, %b)\nyield %c }");
  };
  EXPECT_EQ(sum(""), "[a b c](x y)->(c)");
  EXPECT_EQ(sum("%s = mat_mul(%w, %y)\n"), "[s](w y)->(s) [a b c](x y)->(c)");
}

TEST(Group, AGroupThatTookOthersInIsTakenIn) {
  EXPECT_EQ(groups(R"g(graph "g" (%x: f32[N], %y: f32[N]) {
    %a = neg(%x)
    %b = abs(%y)
    %p = add(%a, %b)
    %c = exp(%x)
    %d = exp(%y)
    %q = add(%c, %d)
    %r = mul(%p, %q)
    yield %r })g"),
            "[a b p c d q r](x y)->(r)");
}

TEST(Group, WhatIsReadBetweenStaysBefore) {
  EXPECT_EQ(groups(R"g(graph "g" (%x: f32[N], %w: f32[N, N]) {
    %a = neg(%x)
    %p = mat_mul(%w, %a)
    %b = abs(%p)
    %c = add(%a, %b)
    yield %c })g"),
            "[a](x)->(a) [p](w a)->(p) [b c](p a)->(c)");
}

TEST(Group, WhatReadsOtherElementsThanItsOwnIsNoPartOfTheirGroup) {
  EXPECT_EQ(groups(R"g(graph "g" (%x: f32[4, 4]) {
    %a = neg(%x)
    %t = trilu(%a)
    %b = abs(%t)
    yield %b })g"),
            "[a](x)->(a) [t b](a)->(b)");
}

TEST(Group, AReductionBeginsAGroupAndABroadcastEndsOne) {
  EXPECT_EQ(groups(R"g(graph "g" (%x: f32[4], %w: f32[4, 4]) {
    %a = neg(%x)
    %s = reduce_sum(%a) keepdims=0
    %t = exp(%s)
    %b = add(%a, %w)
    yield %t, %b })g"),
            "[a](x)->(a) [s t](a)->(t) [b](a w)->(b)");
}

TEST(Group, ReductionsOfRowsShareANestWithWhatMakesAndReadsTheRows) {
  const auto rows = [](const std::string& nodes) {
    return groups(
        "graph \"g\" (%x: f32[M, N], %w: f32[N], %k: f32[M, 1]) {\n"
        "%last: i64[1] = constant value=i64[1] {1}\n"
        "%first: i64[1] = constant value=i64[1] {0}\n" +
        nodes + " }");
  };
  // softmax: %e shares the memory of %y
  EXPECT_EQ(rows("%m = reduce_max(%x, %last)\n%d = sub(%x, %m)\n%e = exp(%d)\n"
                 "%s = reduce_sum(%e, %last)\n%y = div(%e, %s)\nyield %y"),
            "[m d e s y](x)->(y)");
  // what only a reduction reads needs no memory
  EXPECT_EQ(rows("%d = mul(%x, %x)\n%s = reduce_sum(%d, %last)\n%r = sqrt(%s)\nyield %r"),
            "[d s r](x)->(r)");
  // a value that a later stage reads, and no result to hold it
  EXPECT_EQ(rows("%d = sub(%x, %w)\n%m = reduce_max(%d, %last)\n%e = sub(%d, %m)\n"
                 "%s = reduce_sum(%e, %last)\nyield %s"),
            "[d m e](x w)->(e) [s](e)->(s)");
  // a result that is read again has memory of its own
  EXPECT_EQ(rows("%d = sub(%x, %w)\n%m = reduce_max(%d, %last)\n%e = sub(%d, %m)\nyield %d, %e"),
            "[d m e](x w)->(d e)");
  // columns are no rows
  EXPECT_EQ(rows("%m = reduce_max(%x, %first)\n%d = sub(%x, %m)\nyield %d"),
            "[m](x)->(m) [d](x m)->(d)");
  // what another step in between reads is computed before
  EXPECT_EQ(rows("%d = sub(%x, %w)\n%z = non_zero(%d)\n%m = reduce_max(%d, %last)\n"
                 "yield %z, %m"),
            "[d](x w)->(d) ![z](d)->(z) [m](d)->(m)");
}

TEST(Group, RowsShareANestInLoops) {
  EXPECT_EQ(groups(R"g(graph "g" (%x0: f32[M, 64], %n: i64[]) {
    %y, _ = loop trips=%n states=(%x0) { body(%i, %go, %x) {
      %last = constant value=i64[1] {1}
      %most = reduce_max(%x, %last)
      %below = sub(%x, %most)
      %e = exp(%below)
      %all = reduce_sum(%e, %last)
      %next = div(%e, %all)
      yield go=%go states=(%next) } }
    yield %y })g",
                   Sharing::parts, true),
            "[most below e all next](x)->(next)");
}

/// The groups of x [extents] less the greatest element of its row, or of exp of that.
std::string rows(std::string_view extents, Sharing sharing = Sharing::steps, bool exp = false) {
  return groups(fmt::format("graph \"g\" (%x: f32[{}]) {{\n"
                            "%last: i64[1] = constant value=i64[1] {{1}}\n"
                            "%m = reduce_max(%x, %last)\n%d = sub(%x, %m)\n"
                            "{}yield {} }}",
                            extents, exp ? "%e = exp(%d)\n" : "", exp ? "%e" : "%d"),
                sharing);
}

TEST(Group, ShortRowsShareANestIfTheyFitIntoRegisters) {
  EXPECT_EQ(rows("M, N"), "[m d](x)->(d)");
  EXPECT_EQ(rows("M, 15"), "[m d](x)->(d)");
  EXPECT_EQ(rows("7, 15"), "[m](x)->(m) [d](x m)->(d)") << "few rows";
  EXPECT_EQ(rows("7, 16"), "[m d](x)->(d)");
  EXPECT_EQ(rows("M, 63", Sharing::parts), "[m](x)->(m) [d](x m)->(d)");
  EXPECT_EQ(rows("M, 15", Sharing::parts), "[m](x)->(m) [d](x m)->(d)");
  EXPECT_EQ(rows("M, 15", Sharing::parts, true), "[m d e](x)->(e)");
  EXPECT_EQ(rows("M, 3", Sharing::parts, true), "[m](x)->(m) [d e](x m)->(e)");
}

TEST(Group, ConstantsAreHeldAndKernelsStandAlone) {
  EXPECT_EQ(groups(R"g(graph "g" (%x: f32[4]) {
    %two = constant value=f32[] {2}
    %a = mul(%x, %two)
    %n = non_zero(%a)
    %m = neg(%n)
    yield %m })g"),
            "[a](x)->(a) ![n](a)->(n) [m](n)->(m)");
}

TEST(Group, ProductsReadBeginningsInPlace) {
  const auto products = [](const std::string& slices) {
    return groups(
        "graph \"g\" (%q: f32[1, K], %x: f32[N, K], %n: i64[1]) {\n"
        "%zero: i64[1] = constant value=i64[1] {0}\n" +
            slices + "%y = mat_mul(%q, %s) transpose_b=1\nyield %y }",
        Sharing::parts);
  };
  const std::string beginning = "%s = slice(%x, %zero, %n, %zero)\n";
  EXPECT_EQ(products(beginning), "[y s](q x zero n)->(y)");
  EXPECT_EQ(products("%s = slice(%x, %n, %n, %zero)\n"), "[s](x n)->(s) [y](q s)->(y)");
  EXPECT_EQ(products("%one: i64[1] = constant value=i64[1] {1}\n"
                     "%s = slice(%x, %zero, %n, %zero, %one)\n"),
            "[y s](q x zero n one)->(y)");
  EXPECT_EQ(products("%two: i64[1] = constant value=i64[1] {2}\n"
                     "%s = slice(%x, %zero, %n, %zero, %two)\n"),
            "[s](x n)->(s) [y](q s)->(y)");
}

TEST(Group, ABeginningThatOnlyProductsReadIsReadInPlaceByEach) {
  const auto products = [](const std::string& yielded) {
    return groups(
        "graph \"g\" (%q: f32[1, K], %p: f32[1, ?], %x: f32[N, K], %n: i64[1]) {\n"
        "%zero: i64[1] = constant value=i64[1] {0}\n"
        "%s = slice(%x, %zero, %n, %zero)\n"
        "%y = mat_mul(%q, %s) transpose_b=1\n"
        "%z = mat_mul(%p, %s)\nyield %y, %z" +
            yielded + " }",
        Sharing::parts);
  };
  EXPECT_EQ(products(""), "[y s](q x zero n)->(y) [z s](p x zero n)->(z)");
  EXPECT_EQ(products(", %s"), "[s](x n)->(s) [y](q s)->(y) [z](p s)->(z)");
}

TEST(Group, TheFinalStateOfALoopIsInABufferAndAStackMayNotBe) {
  const auto product = [](const std::string& read) {
    return groups(
        "graph \"g\" (%q: f32[1, K], %a: f32[4, K], %n: i64[1], %c: i64[]) {\n"
        "%final, %stack, _ = loop trips=%c states=(%a) { body(%i, %go, %v) {\n"
        "%w = neg(%v) yield go=%go states=(%w) items=(%w) } }\n"
        "%zero: i64[1] = constant value=i64[1] {0}\n"
        "%s = slice(%" +
            read + ", %zero, %n, %zero)\n%y = mat_mul(%q, %s) transpose_b=1\nyield %y }",
        Sharing::parts);
  };
  EXPECT_THAT(product("final"), testing::HasSubstr("[y s]"));
  EXPECT_THAT(product("stack"), testing::HasSubstr("[s]"));
}

TEST(Group, ReductionsComputeTheirElementsWhereTheyReadThem) {
  const auto sums = [](const std::string& after) {
    return groups(
        "graph \"g\" (%x: f32[M, N], %y: f32[N]) {\n"
        "%a = neg(%x)\n%b = abs(%a)\n%c = mul(%b, %y)\n%s = reduce_sum(%c) keepdims=0\n" +
            after,
        Sharing::parts);
  };
  EXPECT_EQ(sums("yield %s }"), "[s a b c](x y)->(s)");
  EXPECT_EQ(sums("yield %s, %a }"), "[a](x)->(a) [s b c](a y)->(s)");
  EXPECT_EQ(sums("yield %s, %c }"), "[a b c](x y)->(c) [s](c)->(s)");
  EXPECT_EQ(sums("%m = reduce_max(%c)\nyield %s, %m }"),
            "[a b c](x y)->(c) [s](c)->(s) [m](c)->(m)");
}

TEST(Group, WhatReadsElementsMoreThanOnceHasThemInMemory) {
  EXPECT_EQ(groups(R"g(graph "g" (%x: f32[M, N]) {
    %a = neg(%x)
    %s = reduce_log_sum_exp(%a)
    yield %s })g",
                   Sharing::parts),
            "[a](x)->(a) [s](a)->(s)");
}

TEST(Group, AStateThatIsWrittenBeforeIsNotReadLater) {
  const auto body = [](const std::string& rest) {
    return groups(
        "graph \"g\" (%x0: f32[N], %n: i64[]) {\n"
        "%y, %ys, _ = loop trips=%n states=(%x0) { body(%i, %go, %x) {\n" +
            rest + "yield go=%go states=(%next) items=(%s) } }\nyield %y }",
        Sharing::parts, true);
  };
  EXPECT_EQ(body("%v = abs(%x)\n%s = reduce_sum(%v)\n%next = neg(%x)\n"),
            "[v s](x)->(s) [next](x)->(next)");
  EXPECT_EQ(body("%next = neg(%x)\n%w = non_zero(%next)\n%v = abs(%x)\n%s = reduce_sum(%v)\n"),
            "[next](x)->(next) ![w](next)->(w) [v](x)->(v) [s](v)->(s)");
}

TEST(Group, AViewOfAStateThatIsWrittenBeforeIsNotReadInPlace) {
  const auto body = [](const std::string& rest) {
    return groups(
        "graph \"g\" (%x0: f32[N, K], %n: i64[]) {\n"
        "%one: i64[1] = constant value=i64[1] {1}\n%two: i64[1] = constant value=i64[1] {2}\n"
        "%y, %ys, _ = loop trips=%n states=(%x0) { body(%i, %go, %x) {\n" +
            rest + "yield go=%go states=(%next) items=(%e) } }\nyield %y }",
        Sharing::parts, true);
  };
  EXPECT_EQ(body("%s = slice(%x, %one, %two)\n%e = exp(%s)\n%next = neg(%x)\n"),
            "[e s](x)->(e) [next](x)->(next)");
  EXPECT_EQ(body("%next = neg(%x)\n%w = non_zero(%next)\n%s = slice(%x, %one, %two)\n"
                 "%e = exp(%s)\n"),
            "[next](x)->(next) ![w](next)->(w) [s](x)->(s) [e](s)->(e)");
  EXPECT_EQ(body("%s = slice(%x, %one, %two)\n%e = exp(%s)\n%next = add(%x, %s)\n"),
            "[e s](x)->(e) [next s](x)->(next)")
      << "it is written beside the state";
}

TEST(Group, NextStatesAreMadeAfterWhatReadsTheState) {
  const auto body = [](const std::string& rest, std::string_view states = "(%next, %b)") {
    return groups(
        fmt::format("graph \"g\" (%x0: f32[N, K], %y0: f32[N, K], %n: i64[]) {{\n"
                    "%x1, %y1, %es, _ = loop trips=%n states=(%x0, %y0) {{"
                    " body(%i, %go, %a, %b) {{\n{}yield go=%go states={} items=(%e) }} }}\n"
                    "yield %x1, %y1, %es }}",
                    rest, states),
        Sharing::parts, true);
  };
  const std::string one = "%one: i64[1] = constant value=i64[1] {1}\n";
  EXPECT_EQ(body("%next = neg(%a)\n%e = exp(%a)\n"), "[e](a)->(e) [next](a)->(next)");
  EXPECT_EQ(body("%u = exp(%a)\n%next = neg(%u)\n%e = exp(%a)\n"),
            "[e](a)->(e) [u next](a)->(next)")
      << "with what it alone reads";
  EXPECT_EQ(body("%next = neg(%a)\n%e = mul(%a, %next)\n"), "[next e](a)->(next e)")
      << "another one reads it";
  EXPECT_EQ(body(one + "%next = neg(%a)\n%s = reduce_sum(%a, %one)\n%e = exp(%s)\n"),
            "[s e](a)->(e) [next](a)->(next)");
  EXPECT_EQ(body(one + "%next = neg(%a)\n%s = reduce_sum(%next, %one)\n%e = add(%a, %s)\n"),
            "[next](a)->(next) [s e](next a)->(e)");
  EXPECT_EQ(body("%next = add(%a, %b)\n%other = neg(%b)\n%e = exp(%a)\n", "(%next, %other)"),
            "[next](a b)->(next) [other](b)->(other) [e](a)->(e)")
      << "it reads a state that is written before";
  EXPECT_EQ(body(one + "%s = slice(%a, %one, %one)\n%next = neg(%a)\n%e = exp(%s)\n"),
            "[e s](a)->(e) [next](a)->(next)")
      << "a view is read where the state lies";
  EXPECT_EQ(body("%next = neg(%a)\n%z, _ = loop trips=%n states=(%b) { body(%j, %g, %c) {\n"
                 "yield go=%g states=(%next) } }\n%t = tanh(%a)\n%e = add(%t, %z)\n"),
            "[next](a)->(next) ![z](n b)->(z) [t e](a z)->(e)")
      << "an inner loop hands it on";
}

TEST(Group, WhatOthersReadIsNotReadInPlace) {
  const auto slice = [](const std::string& other) {
    return groups(
        "graph \"g\" (%q: f32[1, K], %x: f32[N, K], %n: i64[1]) {\n"
        "%zero: i64[1] = constant value=i64[1] {0}\n"
        "%s = slice(%x, %zero, %n, %zero)\n%y = mat_mul(%q, %s) transpose_b=1\n" +
            other + "yield %y, %t }",
        Sharing::parts);
  };
  EXPECT_EQ(slice("%t = reduce_sum(%s)\n"), "[y s](q x zero n)->(y) [t s](x n)->(t)");
  EXPECT_EQ(slice("%t = non_zero(%s)\n"), "[s](x n)->(s) [y](q s)->(y) ![t](s)->(t)");
}

TEST(Group, ElementsReadRowsInPlace) {
  const auto read = [](const std::string& rest) {
    return groups(
        "graph \"g\" (%x: f32[M, N, K], %y: f32[N, K], %n: i64[1]) {\n"
        "%zero: i64[1] = constant value=i64[1] {0}\n%one: i64[1] = constant value=i64[1] {1}\n" +
            rest + "yield %e }",
        Sharing::parts);
  };
  EXPECT_EQ(read("%s = slice(%x, %n, %n, %zero)\n%e = exp(%s)\n"), "[e s](x n)->(e)");
  EXPECT_EQ(read("%s = slice(%x, %n, %n, %zero)\n%t = slice(%s, %n, %n, %one)\n%e = exp(%t)\n"),
            "[e s t](x n)->(e)");
  EXPECT_EQ(read("%u = unsqueeze(%y, %one)\n%e = neg(%u)\n"), "[e u](y)->(e)");
  EXPECT_EQ(read("%t = transpose(%x) perm=ints[1, 0, 2]\n%e = neg(%t)\n"), "[e t](x)->(e)");
  EXPECT_EQ(read("%t = transpose(%y)\n%e = neg(%t)\n"), "[t](y)->(t) [e](t)->(e)")
      << "columns are copied in tiles";
  EXPECT_EQ(read("%to = constant value=i64[1] {-1}\n%t = reshape(%y, %to)\n%e = neg(%t)\n"),
            "[t](y)->(t) [e](t)->(e)")
      << "each index would be divided";
  EXPECT_EQ(read("%s = slice(%x, %n, %n, %zero)\n%t = slice(%x, %zero, %n, %zero)\n"
                 "%e = concat(%s, %t) axis=0\n"),
            "[s](x n)->(s) [e t](s x zero n)->(e)")
      << "the other operand is extended";
  EXPECT_EQ(read("%a = neg(%x)\n%s = slice(%a, %n, %n, %zero)\n%e = exp(%s)\n"),
            "[a](x)->(a) [e s](a n)->(e)");
  EXPECT_EQ(read("%s = slice(%x, %n, %n, %zero)\n%f = exp(%s)\n"
                 "%t = reduce_max(%f, %zero)\n%e = sub(%s, %t)\n"),
            "[f s](x n)->(f) [t](f)->(t) [e s](t x n)->(e)")
      << "each has it";
}

TEST(Group, ElementsOfScansAreNotReadInPlace) {
  const auto body = [](const char* read) {
    return groups(
        fmt::format(R"g(graph "g" (%x: f32[T, N, K], %q: f32[1, K], %n: i64[1], %c: f32[N, K]) {{
      %zero: i64[1] = constant value=i64[1] {{0}}
      %c2, %ys, %#0: i64[] = loop states=(%c) scans=(%x) {{
        body(%i: i64[], %go: bool[], %state: f32[N, K], %element: f32[N, K]) {{
          %s = slice({}, %zero, %n, %zero)
          %y = mat_mul(%q, %s) transpose_b=1
          yield go=%go states=(%state) items=(%y)
        }}
      }}
      yield %c2, %ys }})g",
                    read),
        Sharing::parts, true);
  };
  EXPECT_EQ(body("%state"), "[y s](q state zero n)->(y)");
  EXPECT_EQ(body("%element"), "[s](element n)->(s) [y](q s)->(y)");
}

}  // namespace
}  // namespace rondel::lowering
