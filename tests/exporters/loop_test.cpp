// Each form of the loop, and the ONNX nodes it becomes.
#include "exporters/written.h"
#include "formats/onnx/types.h"

#include <gmock/gmock.h>

namespace rondel::exporters {
namespace {

using ::testing::HasSubstr;

TEST(ExportLoop, AScanIsAScan) {
  EXPECT_EQ(written(R"(graph "g" (%s: f32[2], %x: f32[T, 2]) {
    %y, %t, _ = loop states=(%s) scans=(%x) fixed=[1] {
      body(%i: i64[], %go: bool[], %a: f32[2], %e: f32[2]) {
        %b = add(%a, %e)
        yield go=%go states=(%b) items=(%b)
      }
    }
    yield %y, %t
  })"),
            R"(y, t = Scan<num_scan_inputs: int = 1>(s, x)
  body(a, e) -> (b, b_1)
    b = Add(a, e)
    b_1 = Identity(b)
)");
}

TEST(ExportLoop, AScanKeepsAxesAndDirections) {
  EXPECT_EQ(
      written(R"(graph "g" (%s: f32[2], %x: f32[2, T]) {
    %y, %t, _ = loop states=(%s) scans=(%x) fixed=[1] axis_in=[1] reverse_in=[1] axis_out=[-1] reverse_out=[1] {
      body(%i: i64[], %go: bool[], %a: f32[2], %e: f32[2]) {
        %b = add(%a, %e)
        yield go=%go states=(%b) items=(%b)
      }
    }
    yield %y, %t
  })"),
      R"(y, t = Scan<num_scan_inputs: int = 1, scan_input_axes: ints = [1], scan_input_directions: ints = [1], scan_output_axes: ints = [-1], scan_output_directions: ints = [1]>(s, x)
  body(a, e) -> (b, b_1)
    b = Add(a, e)
    b_1 = Identity(b)
)");
}

TEST(ExportLoop, NOfAScanIsItsExtent) {
  EXPECT_EQ(written(R"(graph "g" (%s: f32[2], %x: f32[T, 2]) {
    %y, %n = loop states=(%s) scans=(%x) fixed=[1] {
      body(%i: i64[], %go: bool[], %a: f32[2], %e: f32[2]) {
        %b = add(%a, %e)
        yield go=%go states=(%b)
      }
    }
    yield %y, %n
  })"),
            R"(shape = Shape(x)
n = Gather(shape, {0})
y = Scan<num_scan_inputs: int = 1>(s, x)
  body(a, e) -> (b)
    b = Add(a, e)
)");
}

TEST(ExportLoop, ATripCountMakesALoopThatGathers) {
  EXPECT_EQ(written(R"(graph "g" (%m: i64[], %s: f32[2], %x: f32[2, T]) {
    %y, _ = loop trips=%m states=(%s) scans=(%x) axis_in=[1] {
      body(%i: i64[], %go: bool[], %a: f32[2], %e: f32[2]) {
        %b = add(%a, %e)
        yield go=%go states=(%b)
      }
    }
    yield %y
  })"),
            R"(y = Loop(m, {1}, s)
  body(i, go, a) -> (constant_1, b)
    e = Gather<axis: int = 1>(x, i)
    b = Add(a, e)
    constant_1 = Identity({1})
)");
}

TEST(ExportLoop, AReversedScanIsReversedOutside) {
  EXPECT_EQ(written(R"(graph "g" (%m: i64[], %x: f32[T, 2]) {
    %t, _ = loop trips=%m scans=(%x) reverse_in=[1] {
      body(%i: i64[], %go: bool[], %e: f32[2]) {
        %b = neg(%e)
        yield go=%go items=(%b)
      }
    }
    yield %t
  })"),
            R"(slice = Slice(x, {-1}, {-9223372036854775808}, {0}, {-1})
t = Loop(m, {1})
  body(i, go) -> (constant_3_1, b)
    e = Gather(slice, i)
    b = Neg(e)
    constant_3_1 = Identity({1})
)");
}

TEST(ExportLoop, ScansThatMayDifferGiveTheLeastExtent) {
  EXPECT_EQ(written(R"(graph "g" (%x: f32[T, 2], %z: f32[2, U]) {
    %t, _ = loop scans=(%x, %z) axis_in=[0, 1] {
      body(%i: i64[], %go: bool[], %e: f32[2], %f: f32[2]) {
        %b = add(%e, %f)
        yield go=%go items=(%b)
      }
    }
    yield %t
  })"),
            R"(shape = Shape(x)
gather = Gather(shape, {0})
shape_1 = Shape(z)
gather_1 = Gather(shape_1, {1})
min = Min(gather, gather_1)
t = Loop(min, {1})
  body(i, go) -> (constant_2_1, b)
    e = Gather(x, i)
    f = Gather<axis: int = 1>(z, i)
    b = Add(e, f)
    constant_2_1 = Identity({1})
)");
}

TEST(ExportLoop, StacksAreMovedAndReversedAfter) {
  EXPECT_EQ(written(R"(graph "g" (%m: i64[], %x: f32[2]) {
    %t, %u, _ = loop trips=%m axis_out=[1, 0] reverse_out=[0, 1] {
      body(%i: i64[], %go: bool[]) {
        %b = neg(%x)
        yield go=%go items=(%b, %i)
      }
    }
    yield %t, %u
  })"),
            R"(loop, loop_1 = Loop(m, {1})
  body(i, go) -> (constant_1, b, i_1)
    b = Neg(x)
    constant_1 = Identity({1})
    i_1 = Identity(i)
t = Transpose<perm: ints = [1, 0]>(loop)
u = Slice(loop_1, {-1}, {-9223372036854775808}, {0}, {-1})
)");
}

TEST(ExportLoop, AnExtentIsFilledWithZeros) {
  EXPECT_EQ(written(R"(graph "g" (%m: i64[], %n: i64[], %x: f32[2]) {
    %t, _ = loop trips=%m extents=(%n) {
      body(%i: i64[], %go: bool[]) {
        %b = neg(%x)
        yield go=%go items=(%b)
      }
    }
    yield %t
  })"),
            R"(loop = Loop(m, {1})
  body(i, go) -> (constant_1, b)
    b = Neg(x)
    constant_1 = Identity({1})
shape = Shape(loop)
slice = Slice(shape, {0}, {1}, {0})
slice_1 = Slice(shape, {1}, {9223372036854775807}, {0})
reshape = Reshape(n, {1})
sub = Sub(reshape, slice)
concat = Concat<axis: int = 0>(sub, slice_1)
expand = Expand(constant_9, concat)
t = Concat<axis: int = 0>(loop, expand)
)");
}

TEST(ExportLoop, TheNumberOfTripsIsCounted) {
  EXPECT_EQ(written(R"(graph "g" (%c: bool[], %x: i64[]) {
    %n = loop go=%c {
      body(%i: i64[], %go: bool[]) {
        %on = less(%i, %x)
        yield go=%on
      }
    }
    yield %n
  })"),
            R"(n = Loop(_, c, {0})
  body(i, go, trips_made) -> (on, add)
    on = Less(i, x)
    add = Add(i, {1})
)");
}

TEST(ExportLoop, AConditionThatNeverDecidesIsAStateWhereItIsRead) {
  EXPECT_EQ(written(R"(graph "g" (%m: i64[], %x: i64[]) {
    %t, _ = loop trips=%m {
      body(%i: i64[], %go: bool[]) {
        %on = less(%i, %x)
        %seen = not(%go)
        yield go=%on items=(%seen)
      }
    }
    yield %t
  })"),
            R"(unused, t = Loop(m, {1}, {1})
  body(i, go, go_1) -> (constant_1_1, on, seen)
    on = Less(i, x)
    seen = Not(go_1)
    constant_1_1 = Identity({1})
)");
}

TEST(ExportLoop, NamesOfInnerScopesAreTheirOwn) {
  EXPECT_EQ(written(R"(graph "g" (%m: i64[], %x: f32[2]) {
    %y, _ = loop trips=%m states=(%x) {
      body(%i: i64[], %go: bool[], %x#1: f32[2]) {
        %x#2 = add(%x#1, %x)
        yield go=%go states=(%x#2)
      }
    }
    %z, _ = loop trips=%m states=(%y) {
      body(%i: i64[], %go: bool[], %x#1: f32[2]) {
        %x#2 = sub(%x#1, %x)
        yield go=%go states=(%x#2)
      }
    }
    yield %z
  })"),
            R"(y = Loop(m, {1}, x)
  body(i, go, x_1) -> (constant_1, x_2)
    x_2 = Add(x_1, x)
    constant_1 = Identity({1})
z = Loop(m, {1}, y)
  body(i_1, go_1, x_3) -> (constant_2_1, x_4)
    x_4 = Sub(x_3, x)
    constant_2_1 = Identity({1})
)");
}

TEST(ExportLoop, WhatABodyHandsThroughIsCopied) {
  EXPECT_EQ(written(R"(graph "g" (%m: i64[], %x: f32[2], %k: f32[2]) {
    %y, %t, %u, %v, _ = loop trips=%m states=(%x) {
      body(%i: i64[], %go: bool[], %a: f32[2]) {
        %b = add(%a, %k)
        yield go=%go states=(%b) items=(%b, %a, %k)
      }
    }
    yield %y, %t, %u, %v
  })"),
            R"(y, t, u, v = Loop(m, {1}, x)
  body(i, go, a) -> (constant_1, b, b_1, a_1, k_1)
    b = Add(a, k)
    constant_1 = Identity({1})
    b_1 = Identity(b)
    a_1 = Identity(a)
    k_1 = Identity(k)
)");
}

TEST(ExportLoop, WhyALoopIsNoScanIsSaid) {
  const Model m = model_of(R"(graph "g" (%m: i64[], %x: f32[T, 2]) {
    %t, _ = loop trips=%m scans=(%x) {
      body(%i: i64[], %go: bool[], %e: f32[2]) {
        %b = neg(%e)
        yield go=%go items=(%b)
      }
    }
    yield %t
  })");
  ASSERT_EQ(m.report.loops.size(), 1U);
  EXPECT_EQ(m.report.loops[0].written, "Loop");
  EXPECT_EQ(m.report.loops[0].reason, "it has a trip count of its own");
}

/// The declared types of the first state in the first loop's body: "f32[2, k] -> f32[2, k]".
std::string first_state(const std::string& text) {
  const Model m = model_of(text);
  const auto& body = m.proto.graph().node(0).attribute(0).g();
  const auto said = [](const pb::ValueInfoProto& v) {
    return ir::to_text(onnx::type_of(v.type(), v.name()));
  };
  return said(body.input(2)) + " -> " + said(body.output(1));
}

TEST(ExportLoop, AStateThatKeepsItsShapeIsDeclaredTo) {
  const auto loop = [](const std::string& x, const std::string& how) {
    return R"(graph "g" (%m: i64[], %k: i64[1], %a: )" + x + R"() {
      %y, _ = loop trips=%m states=(%a))" +
           how + R"( {
        body(%i: i64[], %go: bool[], %b) {
          %zero = constant value=i64[1] {0}
          %c = slice(%b, %zero, %k, %zero)
          yield go=%go states=(%c)
        }
      }
      yield %y
    })";
  };
  EXPECT_EQ(first_state(loop("f32[2, 3]", " fixed=[1]")), "f32[2, 3] -> f32[2, 3]");
  EXPECT_EQ(first_state(loop("f32[?, N]", " fixed=[1]")), "f32[b_extent, N] -> f32[b_extent, N]");
  EXPECT_EQ(first_state(loop("f32[?, b_extent]", " keeps=[1]")),
            "f32[b_extent_1, b_extent] -> f32[b_extent_1, b_extent]");
  EXPECT_EQ(first_state(loop("f32[2, 3]", "")), "f32[?, 3] -> f32[?, 3]");
}

TEST(ExportLoop, WhatAnItemIsDeclaredAsIsDeclared) {
  const auto item = [](const std::string& declared) {
    const Model m = model_of(R"(graph "g" (%m: i64[], %x: f32[6], %s: i64[2]) {
      %y, _ = loop trips=%m)" +
                             declared +
                             R"( {
        body(%i: i64[], %go: bool[]) {
          %c = reshape(%x, %s)
          yield go=%go items=(%c)
        }
      }
      yield %y
    })");
    const auto& output = m.proto.graph().node(0).attribute(0).g().output(1);
    return ir::to_text(onnx::type_of(output.type(), output.name()));
  };
  EXPECT_EQ(item(""), "f32[?, ?]");
  EXPECT_EQ(item(" declared=[f32[?, 3]]"), "f32[?, 3]");
  EXPECT_EQ(item(" declared=[f32[3]]"), "f32[?, ?]");
  EXPECT_EQ(item(" declared=[none]"), "f32[?, ?]");
}

TEST(ExportLoop, TripsAndConditionsOfMoreAxesBecomeScalars) {
  const Model m = model_of(R"(graph "g" (%m: i64[1, 1], %c: bool[...], %x: f32[2]) {
    %y, _ = loop trips=%m go=%c states=(%x) {
      body(%i: i64[], %go: bool[], %a) {
        %b = neg(%a)
        yield go=%c states=(%b)
      }
    }
    %z = if(%c) { then { yield %y } else { yield %x } }
    yield %z
  })");
  const std::string nodes = nodes_of(m.proto.graph(), constants_of(m));
  EXPECT_EQ(nodes.substr(0, nodes.find("Loop")).find("Reshape") != std::string::npos, true)
      << nodes;
  EXPECT_NE(nodes.find("If"), std::string::npos);
}

TEST(ExportLoop, AStackOfUnknownRankIsTransposedAsOneOfThree) {
  const Model m = model_of(R"(graph "g" (%m: i64[], %x: f32[...]) {
    %t, _ = loop trips=%m axis_out=[1] {
      body(%i: i64[], %go: bool[]) {
        %b = neg(%x)
        yield go=%go items=(%b)
      }
    }
    yield %t
  })");
  const std::string nodes = nodes_of(m.proto.graph(), constants_of(m));
  EXPECT_THAT(nodes, HasSubstr("= Transpose<perm: ints = [1, 0, 2]>(reshape)"));
  EXPECT_THAT(nodes, HasSubstr("= OptionalGetElement(x)"));
  EXPECT_THAT(nodes, HasSubstr("= Optional("));
  EXPECT_THAT(m.report.notes, testing::ElementsAre(HasSubstr("'x' is written as an optional"),
                                                   HasSubstr("'t' is written as an optional")));
}

TEST(ExportAssertions, AResultIsGatheredWhereTheyHold) {
  EXPECT_EQ(written(R"(graph "g" (%c: bool[], %d: bool[3], %x: f32[2]) {
    %y = if(%c) {
      then {
        assertion(%d) message="no"
        %a = neg(%x)
        yield %a
      }
      else { %b = abs(%x) yield %b }
    }
    yield %y
  })"),
            R"(y = If(c)
  then_branch() -> (a_1)
    a = Neg(x)
    unsqueeze = Unsqueeze(a, {0})
    not = Not(d)
    cast = Cast<to: int = 7>(not)
    reduce_sum = ReduceSum<keepdims: int = 0>(cast)
    a_1 = Gather(unsqueeze, reduce_sum)
  else_branch() -> (b)
    b = Abs(x)
)");
}

TEST(ExportAssertions, ALoopThatGivesOnlyItsTripsGetsAState) {
  const Model m = model_of(R"(graph "g" (%m: i64[], %d: bool[]) {
    %n = loop trips=%m {
      body(%i: i64[], %go: bool[]) {
        assertion(%d) message="no"
        yield go=%go
      }
    }
    yield %n
  })");
  EXPECT_THAT(m.report.notes, testing::IsEmpty());
  EXPECT_EQ(nodes_of(m.proto.graph(), constants_of(m)),
            R"(loop, loop_1 = Loop(m, {1}, {0}, {0})
  body(i, go, asserted, trips_made) -> (constant_2_1, asserted_1, add)
    unsqueeze = Unsqueeze(asserted, {0})
    not = Not(d)
    cast = Cast<to: int = 7>(not)
    reduce_sum = ReduceSum<keepdims: int = 0>(cast)
    asserted_1 = Gather(unsqueeze, reduce_sum)
    add = Add(i, {1})
    constant_2_1 = Identity({1})
n = Add(loop_1, loop)
)");
}

TEST(ExportAssertions, AreNamedByWhatTheySay) {
  ir::Graph g = graph_of(R"(graph "g" (%d: bool[], %x: f32[2]) {
    outputs ["y"]
    assertion(%d) message="no"
    assertion(%d) message="never, 'neither' (here) nor there"
    assertion(%d)
    yield %x
  })");
  g.node(g.root().nodes.front()).source = "layer 'is it' (Assertion)";
  const Model m = to_model(g, {}, {});
  std::vector<std::string> names;
  for (const pb::NodeProto& n : m.proto.graph().node())
    if (n.op_type() == "Gather") names.push_back(n.name());
  EXPECT_THAT(names, testing::ElementsAre("is it: no", "never, 'neither' (here) nor there", ""));
}

TEST(ExportAssertions, ASequenceStandsBehindAConditionThatCannotBeHad) {
  const std::string text = R"(graph "g" (%d: bool[], %x: f32[2]) {
    %y = sequence_construct(%x, %x)
    assertion(%d) message="no"
    yield %y
  })";
  EXPECT_EQ(written(text), R"(y_1 = SequenceConstruct(x, x)
not = Not(d)
cast = Cast<to: int = 7>(not)
reduce_sum = ReduceSum<keepdims: int = 0>(cast)
gather = Gather({1}, reduce_sum)
y = If(gather)
  then_branch() -> (identity)
    identity = Identity(y_1)
  else_branch() -> (identity_1)
    identity_1 = Identity(y_1)
)");
  // Identity takes no sequences in opset 13.
  EXPECT_THAT(model_of(text, 13).report.notes,
              testing::ElementsAre(HasSubstr("is left out: no result")));
}

TEST(ExportAssertions, InWhatNobodyReadsTheyNeverRan) {
  const Model m = model_of(R"(graph "g" (%d: bool[], %x: f32[2]) {
    %f, _ = loop states=(%x) go=%d {
      body(%i: i64[], %go: bool[], %a: f32[2]) {
        assertion(%d) message="no"
        yield go=%go states=(%a)
      }
    }
    yield %x
  })");
  EXPECT_THAT(m.report.notes, testing::IsEmpty());
  EXPECT_EQ(m.report.op_counts.contains("Gather"), false);
}

}  // namespace
}  // namespace rondel::exporters
