// Which nodes an opset has, and what says the others.
#include "exporters/onnx/forms.h"
#include "exporters/onnx/rewrites.h"
#include "exporters/written.h"
#include "formats/onnx/schemas.h"
#include "frontends/onnx/rules.h"

#include <gmock/gmock.h>

#include <set>

namespace rondel::exporters {
namespace {

using ::testing::HasSubstr;

/// An op without results is left out, with a note.
const std::set<std::string_view> without_a_way{"assertion"};

TEST(Forms, EveryOpHasAWayOut) {
  for (const ir::OpDef* op : ir::all_ops())
    EXPECT_NE(can_be_said(*op), without_a_way.contains(op->name))
        << op->name << " has no ONNX op of its name; say it in rewrites.cpp";
}

/// Where an old version is read by a rule, it is written by one.
TEST(Forms, WhatIsReadByARuleIsWrittenByOne) {
  for (const ir::OpDef* op : ir::all_ops()) {
    const auto name = onnx_name(op->name);
    if (!name || !name->domain.empty() || op->name == "constant" || op->name == "if") continue;
    for (int opset = oldest_opset; opset <= newest_opset(); ++opset) {
      const auto* schema = onnx::find_schema(name->op, opset, "");
      if (schema == nullptr || schema->Deprecated()) continue;
      // BatchNormalization's rule is about training, which we do not have.
      if (name->op == "Loop" || name->op == "BatchNormalization") continue;
      const int version = schema->since_version();
      const bool ruled = onnx::find_rule(name->op, version) != nullptr;
      EXPECT_TRUE(!ruled || has_form(name->op, version)) << name->op << "-" << version;
    }
  }
}

TEST(Forms, AnInputThatWasAnAttributeIsOneAgain) {
  const std::string text = R"(graph "g" (%x: f32[2, 3]) {
    %axes = constant value=i64[1] {1}
    %y = reduce_mean(%x, %axes)
    yield %y
  })";
  EXPECT_EQ(written(text), "y = ReduceMean(x, {1})\n");
  EXPECT_EQ(written(text, 17), "y = ReduceMean<axes: ints = [1]>(x)\n");
}

TEST(Forms, OldSplitsAreEqualOrOfGivenLengths) {
  const std::string text = R"(graph "g" (%x: f32[5]) {
    %a, %b = split(%x) num_outputs=2
    yield %a, %b
  })";
  EXPECT_EQ(written(text), "a, b = Split<num_outputs: int = 2>(x)\n");
  EXPECT_EQ(written(text, 17), "a, b = Split(x, {3, 2})\n");
  EXPECT_EQ(written(text, 11), "a, b = Split<split: ints = [3, 2]>(x)\n");
}

TEST(Forms, ShapeBeforeFifteenIsWhole) {
  EXPECT_EQ(written(R"(graph "g" (%x: f32[2, N]) {
    %y = shape(%x) start=1
    yield %y
  })",
                    13),
            "shape = Shape(x)\ny = Slice(shape, {1}, {9223372036854775807}, {0})\n");
}

TEST(Forms, SoftmaxBeforeThirteenTakesTheLastAxis) {
  EXPECT_EQ(written(R"(graph "g" (%x: f32[2, 3]) {
    %y = softmax(%x)
    yield %y
  })",
                    11),
            "y = Softmax(x)\n");
}

TEST(Forms, AnOpThatIsTooNewIsWhatItStandsFor) {
  const std::string text = R"(graph "g" (%x: f32[2]) {
    %k = constant value=f32[2] {1.0, 2.0}
    %y = layer_normalization(%x, %k)
    yield %y
  })";
  EXPECT_EQ(written(text), "y = LayerNormalization(x, k)\n");
  EXPECT_THAT(written(text, 13), HasSubstr("Sqrt("));
}

TEST(Forms, ANewerOpRaisesTheUsualOpset) {
  const Model m = model_of(R"(graph "g" (%x: f32[2]) {
    %zero = constant value=i64[] {0}
    %y = cum_prod(%x, %zero)
    yield %y
  })");
  EXPECT_EQ(m.report.opset, 26);
  ASSERT_EQ(m.report.notes.size(), 1U);
  EXPECT_THAT(m.report.notes[0], HasSubstr("opset 26 rather than the usual 21"));
}

TEST(Forms, WhatAnOpsetCannotSayIsRefusedByName) {
  const std::string why = error_of(R"(graph "g" (%x: f32[2]) {
    %zero = constant value=i64[] {0}
    %y = cum_prod(%x, %zero)
    yield %y
  })",
                                   21, Blame::caller);
  EXPECT_THAT(why,
              HasSubstr("opset 21 cannot say it: CumProd begins in opset 26; opset 26 has it"));
}

TEST(Forms, WhatIsMovedInNarrowDtypesIsCastOnceAndBack) {
  const std::string text = R"(graph "g" (%x: f8e5m2[4], %i: i64[], %s: f8e5m2[1]) {
    %a = constant value=i64[1] {0}
    %y = gather(%x, %i)
    %z = unsqueeze(%y, %a)
    %t = concat(%s, %z, %s) axis=0
    yield %y, %t
  })";
  EXPECT_EQ(written(text), R"(cast = Cast<to: int = 10>(s)
cast_1 = Cast<to: int = 10>(x)
gather = Gather(cast_1, i)
y = Cast<saturate: int = 0, to: int = 19>(gather)
z = Unsqueeze(y, {0})
cast_2 = Cast<to: int = 10>(z)
concat = Concat<axis: int = 0>(cast, cast_2, cast)
t = Cast<saturate: int = 0, to: int = 19>(concat)
)");
  EXPECT_THAT(error_of(text, 17, Blame::caller), HasSubstr("opset 19 has it"));
}

TEST(Forms, OpsetsBeyondTheRangeAreRefused) {
  const std::string text = R"(graph "g" (%x: f32[2]) {
    %y = neg(%x)
    yield %y
  })";
  EXPECT_THAT(error_of(text, 10, Blame::caller), HasSubstr("those that can be written are 11 to"));
  EXPECT_THAT(error_of(text, 99, Blame::caller), HasSubstr("those that can be written are 11 to"));
}

TEST(Forms, OurOwnOpsAreSaidInOnnxOps) {
  EXPECT_EQ(written(R"(graph "g" (%a: f32[2], %b: f32[2], %c: f32[2]) {
    %y = fma(%a, %b, %c)
    %z = convert(%y) to=type i32[]
    yield %z
  })"),
            "mul = Mul(a, b)\ny = Add(mul, c)\nz = Cast<to: int = 6>(y)\n");
}

TEST(Forms, ResultsHaveTheNamesTheirUsersKnow) {
  ir::Graph g = graph_of(R"(graph "g" (%x: f32[2]) {
    %y = neg(%x)
    yield %y, %x, %y
  })");
  g.output_names = {"first", "second", "third"};
  Model m = to_model(g, {}, {});
  EXPECT_EQ(nodes_of(m.proto.graph(), {}),
            "first = Neg(x)\nsecond = Identity(x)\nthird = Identity(first)\n");
}

}  // namespace
}  // namespace rondel::exporters
