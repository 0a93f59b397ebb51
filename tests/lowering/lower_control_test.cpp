// The memory that the program of a whole loop or `if` uses, and why some nodes have no program.
#include "lowering/lower.h"

#include "ir/text.h"

#include <gmock/gmock.h>

#include <optional>

namespace rondel::lowering {
namespace {

using Kind = scalar::LoopBinding;
using testing::ElementsAre;
using testing::HasSubstr;

/// An evaluator that knows which extents are 1.
std::vector<Value> comparisons_only(const ir::Graph& g, ir::NodeId n,
                                    std::span<const Tensor* const> inputs) {
  if (g.node(n).op->name != "equal") return {Value()};
  return {
      Tensor::scalar(*inputs[0]->data_as<std::int64_t>() == *inputs[1]->data_as<std::int64_t>())};
}

/// What a test adds to the declared types of a class.
struct Known {
  std::optional<bool> condition = {};  ///< of an `if`
  std::optional<ir::Type> x = {};      ///< the type of the value named x
};

/// Lowers the first node with regions in a graph for all shapes of its declared types.
LoweredRegion lowered(const std::string& text, const Known& known = {}) {
  const ir::Graph g = ir::parse(text);
  for (const ir::NodeId n : g.root().nodes) {
    if (g.node(n).regions.empty()) continue;
    std::vector<ir::Type> types;
    for (const ir::ValueId v : outer_values(g, n))
      types.push_back(known.x && g.value(v).name == "x" ? *known.x : g.value(v).type);
    ShapeClass c = class_of(types);
    if (known.condition) c.values[0] = Tensor::scalar(*known.condition);
    return lower_control(g, n, c, {.evaluate = comparisons_only, .verify = true});
  }
  throw std::logic_error("no node with regions");
}

std::string why_not(const LoweredRegion& l) {
  return l.refusals.empty() ? "" : to_text(l.refusals);
}

/// The types of the temporaries, in order.
std::vector<std::string> temporaries(const LoweredRegion& l) {
  std::vector<std::string> types;
  for (const LoweredRegion::Binding& b : l.bindings)
    if (b.kind == Kind::temporary && !b.workspace.kernel) types.push_back(to_text(b.type));
  return types;
}

std::size_t count(const LoweredRegion& l, Kind kind) {
  return static_cast<std::size_t>(
      std::ranges::count(l.bindings, kind, &LoweredRegion::Binding::kind));
}

std::string loop_of(const std::string& body) {
  return R"(graph "g" (%x0: f32[N], %n: i64[], %w: f32[N, N]) {
    %x, _ = loop trips=%n states=(%x0) { body(%i, %go, %x) {
      )" +
         body + R"(
      yield go=%go states=(%next)
    } }
    yield %x })";
}

TEST(LowerControl, ANextStateOfItsOwnElementsIsWrittenInPlace) {
  const LoweredRegion l = lowered(loop_of("%a = neg(%x) %next = exp(%a)"));
  ASSERT_TRUE(l.program) << why_not(l);
  EXPECT_THAT(temporaries(l), ElementsAre());
  EXPECT_EQ(count(l, Kind::state), 1U);
}

/// Where in the program's text the first loop over elements and the first over trips begin.
bool elements_first(const LoweredRegion& l) {
  const std::string text = to_text(*l.program);
  return text.find("for parallel") <= text.find("for");
}

TEST(LowerControl, TripsOfElementWiseStatesRunElementByElement) {
  const auto first = [](const std::string& body) {
    const LoweredRegion l = lowered(loop_of(body));
    EXPECT_TRUE(l.program) << why_not(l);
    return l.program && elements_first(l);
  };
  EXPECT_TRUE(first("%f = convert(%i) to=type f32[] %next = add(%x, %f)"));
  EXPECT_FALSE(first("%m = reduce_max(%x) %next = sub(%x, %m)")) << "reads other elements";
}

TEST(LowerControl, RowsAreWrittenInPlaceOrTheStateAfterThem) {
  const auto temporaries_of = [](const std::string& end) {
    const LoweredRegion l = lowered(R"(graph "g" (%x0: f32[M, N], %n: i64[]) {
      %x, _ = loop trips=%n states=(%x0) { body(%i, %go, %x) {
        %row = constant value=i64[1] {1}
        %m = reduce_max(%x, %row)
        %d = sub(%x, %m)
        %e = exp(%d)
        %s = reduce_sum(%e, %row)
        )" + end + R"(
        yield go=%go states=(%next)
      } }
      yield %x })");
    EXPECT_TRUE(l.program) << why_not(l);
    return temporaries(l);
  };
  EXPECT_THAT(temporaries_of("%next = div(%e, %s)"), ElementsAre());
  // A later stage reads the state: it is written last, in a nest of its own.
  EXPECT_THAT(temporaries_of("%q = div(%e, %s) %next = mul(%q, %x)"),
              testing::UnorderedElementsAre("f32[$s0, $s1]", "f32[$s0, 1]"));
}

TEST(LowerControl, ANextStateOfOtherElementsIsMadeBeside) {
  const LoweredRegion l = lowered(loop_of("%next = mat_mul(%w, %x)"));
  ASSERT_TRUE(l.program) << why_not(l);
  EXPECT_THAT(temporaries(l), ElementsAre("f32[$s0]"));
}

TEST(LowerControl, ValuesOneAfterTheOtherMayShareMemory) {
  const LoweredRegion l = lowered(loop_of(R"(%a = mat_mul(%w, %x)
      %b = mat_mul(%w, %a)
      %c = mat_mul(%w, %b)
      %d = mat_mul(%w, %c)
      %next = neg(%d))"));
  ASSERT_TRUE(l.program) << why_not(l);
  std::vector<scalar::Buffer::Lifetime> alive;
  for (const LoweredRegion::Binding& b : l.bindings)
    if (b.kind == Kind::temporary) alive.push_back(b.lifetime);
  ASSERT_GE(alive.size(), 3U);
  EXPECT_FALSE(alive.front().meets(alive.back()));
}

/// A loop with one state of the type of %x0; each trip updates it at indices %p with %u.
LoweredRegion updated(const std::string& type, const std::string& body) {
  return lowered("graph \"g\" (%x0: " + type +
                 R"(, %n: i64[], %p: i64[K], %q: i64[K, 1], %u: f32[K],
      %all: i64[N], %c: f32[C], %w: f32[N], %t: f32[M, T], %m: i64[M]) {
    %x, _ = loop trips=%n states=(%x0) { body(%i, %go, %x) {
      %last = constant value=i64[] {-1}
      )" + body + R"(
      yield go=%go states=(%next)
    } }
    yield %x })");
}

struct Written {
  const char *type, *body;
  std::vector<std::string> beside;  ///< the temporaries in addition to the state
};

TEST(LowerControl, AnOpWritesOverAnInputThatItSaysItMay) {
  const Written cases[] = {
      {"f32[N]", "%next = scatter_elements(%x, %p, %u) axis=0", {}},
      {"f32[N]", "%next = scatter_nd(%x, %q, %u)", {}},
      {"f32[M, N]", "%next = tensor_scatter(%x, %t, %m) axis=1 mode=\"circular\"", {}},
      {"f32[N]", "%next = cum_sum(%x, %last)", {}},
      {"f32[M, N]", "%next = hardmax(%x)", {}},
      {"f32[M, N]", "%next = trilu(%x)", {}},
      {"f32[M, C, N]", "%next = channel_normalization(%x, %c, %c, %c, %c)", {}},
      {"f32[M, C, N]", "%next = instance_normalization(%x, %c, %c)", {}},
      // The updates are elements of the state, which may be overwritten before they are read.
      {"f32[N]", "%next = scatter_elements(%x, %all, %x) axis=0", {"f32[$s0]"}},
      {"f32[M, M]", "%next = transpose(%x)", {"f32[$s0, $s0]"}},
  };
  for (const Written& w : cases) {
    const LoweredRegion l = updated(w.type, w.body);
    ASSERT_TRUE(l.program) << w.body << why_not(l);
    EXPECT_EQ(temporaries(l), w.beside) << w.body;
  }
}

TEST(LowerControl, AnUpdateInPlaceCopiesNothing) {
  const LoweredRegion l = updated("f32[N]", "%next = scatter_elements(%x, %p, %u) axis=0");
  ASSERT_TRUE(l.program);
  EXPECT_EQ(std::ranges::count(l.program->code, scalar::Op::for_, &scalar::Inst::op), 2)
      << to_text(*l.program);
}

TEST(LowerControl, WhatANextStateIsMadeOfInPlaceIsThereBefore) {
  const Written cases[] = {
      {"f32[N]",
       R"(%a = scatter_elements(%x, %p, %u) axis=0
        %next = scatter_nd(%a, %q, %u))",
       {}},
      {"f32[N]",
       R"(%a = scatter_elements(%x, %p, %u) axis=0
        %s = gather(%a, %p)
        %next = scatter_elements(%a, %p, %s) axis=0)",
       {"f32[$s1]"}},
      {"f32[N]",
       R"(%a = exp(%x)
        %s = reduce_sum(%a) keepdims=0
        %next = div(%a, %s))",
       {}},
      // The state is read again after the first update.
      {"f32[N]",
       R"(%a = scatter_elements(%x, %p, %u) axis=0
        %s = gather(%x, %p)
        %next = scatter_elements(%a, %p, %s) axis=0)",
       {"f32[$s0]", "f32[$s1]"}},
      // A value from which the next state is not computed in place needs memory of its own.
      {"f32[M, M]",
       R"(%a = cum_sum(%x, %last)
        %next = mat_mul(%a, %a))",
       {"f32[$s0, $s0]"}},
      // Of two values that the next state may overwrite, only one shares its memory.
      {"f32[N]",
       R"(%a = cum_sum(%x, %last)
        %b = cum_sum(%w, %last)
        %next = add(%a, %b))",
       {"f32[$s0]"}},
      // A value of another type.
      {"f32[N]",
       R"(%a = convert(%x) to=type f16[]
        %s = reduce_sum(%a) keepdims=0
        %b = div(%a, %s)
        %next = convert(%b) to=type f32[])",
       {"f16[$s0]"}},
  };
  for (const Written& w : cases) {
    const LoweredRegion l = updated(w.type, w.body);
    ASSERT_TRUE(l.program) << w.body << why_not(l);
    EXPECT_EQ(temporaries(l), w.beside) << w.body;
  }
}

TEST(LowerControl, ACopyOfAStateIsReadOnlyByTheLoopThatMovesIt) {
  const LoweredRegion l = lowered(R"(graph "g" (%x0: f32[N], %y0: f32[N], %n: i64[]) {
    %x, %y, _ = loop trips=%n states=(%x0, %y0) { body(%i, %go, %x, %y) {
      %f, _ = loop trips=%n states=(%y) { body(%j, %g, %s) { yield go=%g states=(%x) } }
      yield go=%go states=(%f, %x)
    } }
    yield %x, %y })");
  ASSERT_TRUE(l.program) << why_not(l);
  EXPECT_THAT(temporaries(l), ElementsAre("f32[$s0]", "f32[$s0]"));
  const std::string text = to_text(*l.program);
  std::size_t reads = 0;
  for (std::size_t at = text.find("load t3"); at != std::string::npos;
       at = text.find("load t3", at + 1))
    ++reads;
  EXPECT_EQ(reads, 1U) << text;
}

TEST(LowerControl, AStateThatNoTripChangesIsRead) {
  const LoweredRegion l = lowered(R"(graph "g" (%x0: f32[N], %w0: f32[N], %n: i64[]) {
    %x, %w, _ = loop trips=%n states=(%x0, %w0) { body(%i, %go, %x, %w) {
      %next = mul(%x, %w)
      yield go=%go states=(%next, %w)
    } }
    yield %x, %w })");
  ASSERT_TRUE(l.program) << why_not(l);
  EXPECT_EQ(count(l, Kind::invariant), 1U);
  EXPECT_EQ(count(l, Kind::state), 1U);
}

TEST(LowerControl, AKernelHasItsWorkspaceFromOutside) {
  const LoweredRegion l = lowered(R"(graph "g" (%x0: f32[1, C, L], %n: i64[]) {
    %x, _ = loop trips=%n states=(%x0) { body(%i, %go, %x) {
      %next = max_pool(%x) kernel_shape=[3] pads=[1, 1]
      yield go=%go states=(%next)
    } }
    yield %x })");
  ASSERT_TRUE(l.program) << why_not(l);
  EXPECT_EQ(std::ranges::count_if(l.bindings,
                                  [](const auto& b) { return b.workspace.kernel != nullptr; }),
            1);
  EXPECT_EQ(l.program->calls.size(), 1U);
}

// The slice on axis 2 is a view of the scan; its rows do not lie one after the other.
TEST(LowerControl, RowsOfASliceAreCopiedForAProduct) {
  const LoweredRegion l = lowered(R"(graph "g" (%xs: f32[A, B, C], %s: f32[]) {
    %r, _ = loop scans=(%xs) states=(%s) axis_in=[2] { body(%i, %go, %v, %x) {
      %u, _ = loop scans=(%x) states=(%v) { body(%j, %on, %a, %p) {
        %d = mat_mul(%p, %p)
        %b = add(%a, %d)
        yield go=%on states=(%b)
      } }
      yield go=%go states=(%u)
    } }
    yield %r })");
  ASSERT_TRUE(l.program) << why_not(l);
  EXPECT_THAT(temporaries(l), ElementsAre("f32[$s1]"));
}

TEST(LowerControl, BothBranchesWriteTheResult) {
  const LoweredRegion l = lowered(R"(graph "g" (%c: bool[], %x: f32[N], %w: f32[N, N]) {
    %y = if(%c) { then { %a = neg(%x) yield %a } else { %b = mat_mul(%w, %x) yield %b } }
    yield %y })");
  ASSERT_TRUE(l.program) << why_not(l);
  EXPECT_EQ(count(l, Kind::result), 1U);
  EXPECT_THAT(temporaries(l), ElementsAre());
}

/// An axis is squeezed if its extent is 1, in the form that exporters write.
const char* squeezed = R"g(graph "g" (%c: bool[], %x: f32[2, A]) {
    %y = if(%c) { then {
      %s = shape(%x)
      %second = constant value=i64[] {1}
      %e = gather(%s, %second)
      %one = constant value=i64[] {1}
      %is_one = equal(%e, %one)
      %axes = constant value=i64[1] {1}
      %z = if(%is_one) { then { %q = squeeze(%x, %axes) yield %q } else { yield %x } }
      %r = neg(%z)
      yield %r
    } else { %w = exp(%x) yield %w } }
    yield %y })g";

TEST(LowerControl, ABranchThatExtentsLeaveOutIsNotLowered) {
  EXPECT_FALSE(lowered(squeezed).program);
  EXPECT_TRUE(lowered(squeezed, {.x = ir::Type::tensor(DType::f32, {2, 3})}).program);
  const ir::Type narrow = ir::Type::tensor(DType::f32, {2, 1});
  EXPECT_FALSE(lowered(squeezed, {.x = narrow}).program);  // the other branch keeps the axis
  EXPECT_TRUE(lowered(squeezed, {.condition = true, .x = narrow}).program);
}

TEST(LowerControl, ForAKnownConditionTheBranchTakenIsAll) {
  const std::string text = R"g(graph "g" (%c: bool[], %x: f32[N], %w: f32[N, N]) {
    %y = if(%c) { then { %a = neg(%x) yield %a } else { %b = mat_mul(%w, %x) yield %b } }
    yield %y })g";
  const LoweredRegion negated = lowered(text, {.condition = true}),
                      multiplied = lowered(text, {.condition = false});
  ASSERT_TRUE(negated.program && multiplied.program);
  EXPECT_TRUE(negated.program->contracts.empty());
  EXPECT_EQ(multiplied.program->contracts.size(), 1U);
}

// The state has room for more rows, and its extent is kept beside. A row is written behind it.
TEST(LowerControl, AGrowingStateIsExtendedInPlace) {
  const LoweredRegion l = lowered(R"g(graph "g" (%s0: f32[N, 3], %n: i64[], %row: f32[1, 3]) {
    %s, %sums, _ = loop trips=%n states=(%s0) { body(%i, %go, %v: f32[?, 3]) {
      %t = concat(%v, %row) axis=0
      %sum = reduce_sum(%v) keepdims=0
      yield go=%go states=(%t) items=(%sum)
    } }
    yield %s, %sums })g");
  ASSERT_TRUE(l.program) << why_not(l);
  EXPECT_THAT(temporaries(l), ElementsAre());
  EXPECT_EQ(count(l, Kind::extent), 1U);
  EXPECT_EQ(count(l, Kind::first_extent), 1U);  // no other value has as many rows
  EXPECT_EQ(to_text(l.bindings[0].type), "f32[$room + $s0, 3]");
  const std::string text = scalar::to_text(*l.program);
  std::size_t stores = 0;
  for (std::size_t at = text.find("store state0"); at != std::string::npos;
       at = text.find("store state0", at + 1))
    ++stores;
  EXPECT_EQ(stores, 1U) << text;
}

TEST(LowerControl, AStateThatShrinksIsWrittenInPlace) {
  const LoweredRegion l = lowered(R"g(graph "g" (%s0: f32[N, 3], %n: i64[]) {
    %zero = constant value=i64[1] {0}
    %last = constant value=i64[1] {-1}
    %s, _ = loop trips=%n states=(%s0) { body(%i, %go, %v: f32[?, 3]) {
      %a = exp(%v)
      %b = cum_sum(%a, %zero)
      %t = slice(%b, %zero, %last, %zero)
      yield go=%go states=(%t)
    } }
    yield %s })g");
  ASSERT_TRUE(l.program) << why_not(l);
  EXPECT_THAT(temporaries(l), ElementsAre());
}

TEST(LowerControl, AStateThatIsTheBeginningOfWhatATripMakesIsNotCopied) {
  const auto temporaries_of = [](const std::string& rest, const std::string& next) {
    const LoweredRegion l = lowered(R"g(graph "g" (%s0: f32[N, 3], %w: f32[3], %n: i64[]) {
      %zero = constant value=i64[1] {0}
      %last = constant value=i64[1] {-1}
      %one = constant value=i64[] {1}
      %s, %rows, _ = loop trips=%n states=(%s0) { body(%i, %go, %v: f32[?, 3]) {
        %a = mul(%v, %w)
        %t = slice(%a, %zero, %last, %zero)
        )g" + rest + " yield go=%go states=(%" +
                                    next + ") items=(%r) } } yield %s, %rows }");
    EXPECT_TRUE(l.program) << why_not(l);
    return temporaries(l);
  };
  // What is behind the beginning is read after it, but before the state is written again.
  const std::string row = "%r = gather(%a, %one) axis=0";
  EXPECT_THAT(temporaries_of(row, "t"), ElementsAre());
  EXPECT_THAT(temporaries_of("%q = neg(%t) " + row, "q"), testing::SizeIs(1));
}

TEST(LowerControl, WhatIsReadForItsExtentsAloneIsNotComputed) {
  const LoweredRegion l = lowered(R"g(graph "g" (%x: f32[N, 3], %n: i64[], %k: i64[1]) {
    %zero = constant value=i64[1] {0}
    %sizes, _ = loop trips=%n { body(%i, %go) {
      %part = slice(%x, %zero, %k, %zero)
      %shape = shape(%part)
      %exp = exp(%part)
      %size = size(%exp)
      %sum = add(%shape, %size)
      yield go=%go items=(%sum)
    } }
    yield %sizes })g");
  ASSERT_TRUE(l.program) << why_not(l);
  EXPECT_THAT(scalar::to_text(*l.program), testing::Not(HasSubstr("load x")));
}

TEST(LowerControl, WhatMayFailIsComputedEvenIfOnlyItsExtentsAreRead) {
  const LoweredRegion l = lowered(R"g(graph "g" (%x: f32[N], %n: i64[], %k: i64[M]) {
    %sizes, _ = loop trips=%n { body(%i, %go) {
      %rows = gather(%x, %k)
      %shape = shape(%rows)
      yield go=%go items=(%shape)
    } }
    yield %sizes })g");
  ASSERT_TRUE(l.program) << why_not(l);
  EXPECT_THAT(scalar::to_text(*l.program), HasSubstr("check"));
}

// What an inner loop grows has room for all its trips.
TEST(LowerControl, AStateThatAnInnerLoopGrowsIsBoundedByItsTrips) {
  const LoweredRegion l = lowered(R"g(graph "g" (%n: i64[], %row: f32[2, N]) {
    %four = constant value=i64[] {4}
    %sums, _ = loop trips=%n { body(%i, %go) {
      %all, _ = loop trips=%four states=(%row) { body(%j, %on, %v: f32[?, N]) {
        %t = concat(%row, %v) axis=0
        yield go=%on states=(%t)
      } }
      %sum = reduce_sum(%all) keepdims=0
      yield go=%go items=(%sum)
    } }
    yield %sums })g");
  ASSERT_TRUE(l.program) << why_not(l);
  EXPECT_THAT(temporaries(l), testing::Each("f32[10, $s0]"));
}

// The extent of the next value is bounded by more than what it grows by.
TEST(LowerControl, TheLastRowsOfAGrowingStateHaveRoom) {
  const LoweredRegion l = lowered(R"g(graph "g" (%s0: f32[N], %n: i64[], %rows: f32[M]) {
    %from = constant value=i64[1] {-3}
    %to = constant value=i64[1] {2147483648}
    %axis = constant value=i64[1] {0}
    %s, _ = loop trips=%n states=(%s0) { body(%i, %go, %v: f32[?]) {
      %all = concat(%v, %rows) axis=0
      %last = slice(%all, %from, %to, %axis)
      yield go=%go states=(%last)
    } }
    yield %s })g");
  EXPECT_TRUE(l.program) << why_not(l);
}

// A window that loses a row and gets two: its next extent is no sum of the extent and the growth.
TEST(LowerControl, AWindowThatGrowsHasRoom) {
  const LoweredRegion l = lowered(R"g(graph "g" (%s0: f32[1], %n: i64[], %rows: f32[2]) {
    %from = constant value=i64[1] {1}
    %to = constant value=i64[1] {2147483648}
    %axis = constant value=i64[1] {0}
    %s, _ = loop trips=%n states=(%s0) { body(%i, %go, %v: f32[?]) {
      %rest = slice(%v, %from, %to, %axis)
      %next = concat(%rest, %rows) axis=0
      yield go=%go states=(%next)
    } }
    yield %s })g");
  EXPECT_TRUE(l.program) << why_not(l);
}

TEST(LowerControl, EveryCauseIsTold) {
  const LoweredRegion l = lowered(
      R"(graph "g" (%x0: f32[1, N, 4], %y0: f32[1, M, 4], %p: f32[1, 1, N], %q: f32[1, 1, M], %n: i64[]) {
    %x, %y, _ = loop trips=%n states=(%x0, %y0) { body(%i, %go, %x: f32[1, N, 4], %y: f32[1, M, 4]) {
      %u = non_max_suppression(%x, %p)
      %m = reduce_max(%u)
      %f = convert(%m) to=type f32[]
      %a = add(%x, %f)
      %v = non_max_suppression(%y, %q)
      %o = reduce_max(%v)
      %h = convert(%o) to=type f32[]
      %b = add(%y, %h)
      yield go=%go states=(%a, %b)
    } }
    yield %x, %y })");
  EXPECT_FALSE(l.program);
  ASSERT_EQ(l.refusals.size(), 2U) << why_not(l);
  const char* const why = "node (non_max_suppression) makes values whose sizes data decide";
  EXPECT_EQ(l.refusals[0].why, why);
  EXPECT_EQ(l.refusals[1].why, why);
  EXPECT_THAT(why_not(l), testing::EndsWith("and 1 other reason"));
}

/// An index over the axes of a state that has room for more would be divided for each element.
TEST(LowerControl, RowsOfAStateThatGrowsAreNested) {
  const LoweredRegion l = lowered(
      R"(graph "g" (%x0: f32[2, P, 64], %one: f32[2, 1, 64], %n: i64[]) {
    %y, %s, _ = loop trips=%n states=(%x0) { body(%i, %go, %x: f32[2, ?, 64]) {
      %next = concat(%x, %one) axis=1
      %sum = reduce_sum(%next) keepdims=0
      yield go=%go states=(%next) items=(%sum)
    } }
    yield %y, %s })");
  ASSERT_TRUE(l.program) << why_not(l);
  EXPECT_TRUE(std::ranges::none_of(l.program->code, [](const scalar::Inst& i) {
    return i.op == scalar::Op::div;
  })) << scalar::to_text(*l.program);
}

TEST(LowerControl, WhatFollowsFromACauseIsCounted) {
  const LoweredRegion l = lowered(R"(graph "g" (%x0: f32[1, 4, 4], %p: f32[1, 1, 4], %n: i64[]) {
    %y, _ = loop trips=%n states=(%x0) { body(%i, %go, %x: f32[1, 4, 4]) {
      %at = non_max_suppression(%x, %p)
      %f = convert(%at) to=type f32[]
      %m = reduce_max(%f) keepdims=1
      %e = sub(%f, %m)
      %sum = reduce_sum(%e) keepdims=0
      %next = add(%x, %sum)
      yield go=%go states=(%next)
    } }
    yield %y })");
  ASSERT_EQ(l.refusals.size(), 1U) << why_not(l);
  EXPECT_THAT(l.refusals[0].why, HasSubstr("(non_max_suppression) makes values whose sizes data"));
  EXPECT_EQ(l.refusals[0].followers, 1U);  // the group whose result has no bound
}

TEST(LowerControl, AStateThatGetsWhatANodeMakesIsNotTheCause) {
  const LoweredRegion l = lowered(
      R"(graph "g" (%x0: i64[M, 3], %b: f32[1, N, 4], %p: f32[1, 1, N], %n: i64[]) {
    %y, _ = loop trips=%n states=(%x0) { body(%i, %go, %x: i64[?, 3]) {
      %some = non_max_suppression(%b, %p)
      yield go=%go states=(%some)
    } }
    yield %y })");
  ASSERT_EQ(l.refusals.size(), 1U) << why_not(l);
  EXPECT_THAT(l.refusals[0].why, HasSubstr("(non_max_suppression) makes values whose sizes data"));
}

}  // namespace
}  // namespace rondel::lowering
