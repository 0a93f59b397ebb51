// Which nodes an opset has, and the decompositions of the others.
#include "exporters/onnx/encode_node.h"
#include "exporters/onnx/legalize.h"
#include "exporters/onnx/opsets.h"
#include "exporters/written.h"
#include "formats/onnx/schemas.h"
#include "frontends/onnx/rules.h"

#include <gmock/gmock.h>

#include <set>

namespace rondel::exporters {
namespace {

using ::testing::HasSubstr;

/// Ops that cannot be written: an op without results is left out, with a note; ONNX has no op for
/// the probabilities of more than two classes of a support vector machine apart from the machine,
/// and none that takes text apart. Only optimized graphs have the ops that passes make of
/// containers and of packed bytes.
const std::set<std::string_view> not_exportable{
    "assertion",   "class_probabilities", "conv_packed",   "mat_mul_panels", "optional_if",
    "optional_or", "pack_panels",         "pack_sequence", "pack_weights",   "tokenizer"};

TEST(EncodeNode, EveryOpHasAWayOut) {
  for (const ir::OpDef* op : ir::all_ops())
    EXPECT_NE(can_be_exported(*op), not_exportable.contains(op->name))
        << op->name << " has no ONNX op of its name; say it in decompositions.cpp";
}

/// An old version that the importer reads by a rule has a version encoding in the exporter. A rule
/// of the newest version only reads more than the standard has.
TEST(EncodeNode, WhatIsReadByARuleIsWrittenByOne) {
  for (const ir::OpDef* op : ir::all_ops()) {
    const auto name = onnx_name(op->name);
    if (!name || !name->domain.empty() || op->name == "constant" || op->name == "if") continue;
    for (int opset = oldest_opset; opset <= newest_opset(); ++opset) {
      const auto* schema = onnx::find_schema(name->op, opset, "");
      if (schema == nullptr || schema->Deprecated()) continue;
      if (name->op == "Loop") continue;
      const int version = schema->since_version();
      const auto* newest = onnx::find_schema(name->op, newest_opset(), "");
      const bool ruled = onnx::find_rule(name->domain, name->op, version) != nullptr &&
                         (newest == nullptr || version != newest->since_version());
      EXPECT_TRUE(!ruled || has_version_encoding(name->op, version)) << name->op << "-" << version;
    }
  }
}

TEST(EncodeNode, AnInputThatWasAnAttributeIsOneAgain) {
  const std::string text = R"(graph "g" (%x: f32[2, 3]) {
    %axes = constant value=i64[1] {1}
    %y = reduce_mean(%x, %axes)
    yield %y
  })";
  EXPECT_EQ(written(text), "y = ReduceMean(x, {1})\n");
  EXPECT_EQ(written(text, 17), "y = ReduceMean<axes: ints = [1]>(x)\n");
}

TEST(EncodeNode, AListOfNoAxesIsIdentity) {
  const auto changed = [](const std::string& op) {
    return "graph \"g\" (%x: f32[1, 3]) {\n%axes = constant value=i64[0] {}\n%y = " + op +
           "(%x, %axes)\nyield %y\n}";
  };
  for (const std::string op : {"squeeze", "unsqueeze"})
    for (const int opset : {11, 12, 13, 21})
      EXPECT_EQ(written(changed(op), opset), "y = Identity(x)\n") << op << " " << opset;
}

TEST(EncodeNode, TheAxisOfATransformWasAnAttribute) {
  const std::string text = R"(graph "g" (%x: f32[2, 3, 4, 1]) {
    %axis = constant value=i64[] {2}
    %length = constant value=i64[] {4}
    %y = dft(%x, %length, %axis)
    yield %y
  })";
  EXPECT_EQ(written(text, 17), "y = DFT<axis: int = 2>(x, {4})\n");
}

TEST(EncodeNode, EllipsesStandForOneNumberOfAxes) {
  const auto product = [](const std::string& x, const std::string& y, const std::string& equation) {
    return written("graph \"g\" (%x: f32" + x + ", %y: f32" + y +
                   ") {\n%z = einsum(%x, %y) equation=\"" + equation + "\"\nyield %z\n}");
  };
  EXPECT_EQ(product("[2, 1, 3, 4]", "[5, 4, 2]", "...ij,...jk->...ik"),
            "unsqueeze = Unsqueeze(y, {0})\n"
            "z = Einsum<equation: string = \"...ij,...jk->...ik\">(x, unsqueeze)\n");
  EXPECT_EQ(product("[3]", "[4, 2, 5]", "i ... , j... -> ...ij"),
            "unsqueeze = Unsqueeze(x, {1, 2})\n"
            "z = Einsum<equation: string = \"i ... , j... -> ...ij\">(unsqueeze, y)\n");
  EXPECT_EQ(product("[3, 4]", "[5, 4, 2]", "ij,...jk->...ik"),
            "z = Einsum<equation: string = \"ij,...jk->...ik\">(x, y)\n");
}

TEST(EncodeNode, BeforeTwentyTwoNoWindowIsRoundedUpIntoPadding) {
  const auto pool = [](const std::string& op, const std::string& x, const std::string& how,
                       int opset) {
    return written("graph \"g\" (%x: f32" + x + ") {\n%y = " + op + "(%x) ceil_mode=1 " + how +
                       "\nyield %y\n}",
                   opset);
  };
  const std::string two_by_two = "kernel_shape=[2] strides=[2] pads=[1, 1]";
  for (const std::string op : {"average_pool", "max_pool"}) {
    const std::string name = op == "max_pool" ? "y = MaxPool" : "y = AveragePool";
    EXPECT_EQ(pool(op, "[1, 1, 7]", two_by_two, 21),
              name + "<kernel_shape: ints = [2], pads: ints = [1, 0], strides: ints = [2]>(x)\n");
    EXPECT_EQ(pool(op, "[1, 1, 7]", two_by_two, 22),
              name +
                  "<ceil_mode: int = 1, kernel_shape: ints = [2], pads: ints = [1, 1], "
                  "strides: ints = [2]>(x)\n");
    EXPECT_EQ(pool(op, "[1, 1, 8]", two_by_two, 21),
              name +
                  "<ceil_mode: int = 1, kernel_shape: ints = [2], pads: ints = [1, 1], "
                  "strides: ints = [2]>(x)\n");
    EXPECT_EQ(pool(op, "[1, 1, 7]", "kernel_shape=[1] strides=[5] auto_pad=\"VALID\"", 21),
              name + "<kernel_shape: ints = [1], pads: ints = [0, 0], strides: ints = [5]>(x)\n");
    EXPECT_EQ(pool(op, "[1, 1, 7, 8]", "kernel_shape=[2, 3] strides=[2, 2] pads=[1, 0, 1, 0]", 21),
              name +
                  "<kernel_shape: ints = [2, 3], pads: ints = [1, 0, 0, 1], "
                  "strides: ints = [2, 2]>(x)\n");
  }
}

TEST(EncodeNode, AveragePoolBeforeNineteenHasNoDilations) {
  const auto pool = [](const std::string& dilation) {
    return "graph \"g\" (%x: f32[1, 1, 7]) {\n%y = average_pool(%x) kernel_shape=[2] dilations=[" +
           dilation + "]\nyield %y\n}";
  };
  EXPECT_EQ(written(pool("1"), 18), "y = AveragePool<kernel_shape: ints = [2]>(x)\n");
  EXPECT_THAT(error_of(pool("2"), 18, Blame::caller),
              testing::HasSubstr("its dilations begin in version 19; opset 19 has it"));
}

TEST(EncodeNode, OldSplitsAreEqualOrOfGivenLengths) {
  const std::string text = R"(graph "g" (%x: f32[5]) {
    %a, %b = split(%x) num_outputs=2
    yield %a, %b
  })";
  EXPECT_EQ(written(text), "a, b = Split<num_outputs: int = 2>(x)\n");
  EXPECT_EQ(written(text, 17), "a, b = Split(x, {3, 2})\n");
  EXPECT_EQ(written(text, 11), "a, b = Split<split: ints = [3, 2]>(x)\n");
}

TEST(EncodeNode, ShapeBeforeFifteenIsWhole) {
  EXPECT_EQ(written(R"(graph "g" (%x: f32[2, N]) {
    %y = shape(%x) start=1
    yield %y
  })",
                    13),
            "shape = Shape(x)\ny = Slice(shape, {1}, {9223372036854775807}, {0})\n");
}

TEST(EncodeNode, SoftmaxBeforeThirteenTakesTheLastAxis) {
  EXPECT_EQ(written(R"(graph "g" (%x: f32[2, 3]) {
    %y = softmax(%x)
    yield %y
  })",
                    11),
            "y = Softmax(x)\n");
}

TEST(EncodeNode, SoftmaxThatFlattensIsOneNodeBeforeThirteen) {
  const auto softmax = [](const std::string& op, const std::string& extents, int opset,
                          const std::string& other = "%x") {
    return written("graph \"g\" (%x: f32" + extents + ", %other: f32" + extents + R"() {
      %m = flatten(%x) axis=1
      %s = )" + op + R"((%m) axis=1
      %shape = shape()" +
                       other + R"()
      %y = reshape(%s, %shape) allowzero=1
      yield %y
    })",
                   opset);
  };
  for (const std::string extents : {"[2, 3, 4]", "[N, M, 4]", "[N, 0, 4]"}) {
    EXPECT_EQ(softmax("softmax", extents, 12), "y = Softmax(x)\n");
    EXPECT_EQ(softmax("log_softmax", extents, 11), "y = LogSoftmax(x)\n");
    EXPECT_EQ(softmax("hardmax", extents, 11), "y = Hardmax(x)\n");
  }
  EXPECT_THAT(softmax("softmax", "[N, M, 4]", 13), HasSubstr("Softmax<axis: int = 1>(m)"));
  EXPECT_THAT(softmax("softmax", "[N, M, 4]", 12, "%other"), HasSubstr("If("));
}

TEST(EncodeNode, BeforeFourteenAZeroInAShapeIsTold) {
  const auto reshaped = [](const std::string& x, const std::string& shape) {
    return "graph \"g\" (%x: f32" + x + ", %z: f32" + shape + R"() {
      %s = shape(%z)
      %y = reshape(%x, %s) allowzero=1
      yield %y
    })";
  };
  EXPECT_EQ(written(reshaped("[6]", "[2, 3]"), 13), "s = Shape(z)\ny = Reshape(x, s)\n");
  EXPECT_EQ(written(reshaped("[N]", "[2, M]"), 13), R"(s = Shape(z)
reduce_prod = ReduceProd<keepdims: int = 0>(s)
equal = Equal(reduce_prod, {0})
y = If(equal)
  then_branch() -> (constant_of_shape)
    unsqueeze = Unsqueeze(s, {0})
    size = Size(x)
    gather = Gather(unsqueeze, size)
    constant_of_shape = ConstantOfShape(gather)
  else_branch() -> (reshape)
    reshape = Reshape(x, s)
)");
  EXPECT_THAT(written(reshaped("[N]", "[0, 5]"), 13), testing::Not(HasSubstr("Reshape")));
}

TEST(EncodeNode, ZeroPointsOfChannelsAreOneOrSubtracted) {
  const auto convolution = [](const std::string& zeros) {
    return written(R"(graph "g" (%x: u8[1, 1, 3, 3], %w: i8[2, 1, 2, 2], %xz: u8[]) {
      %wz = constant value=)" +
                   zeros + R"(
      %y = conv_integer(%x, %w, %xz, %wz)
      yield %y
    })");
  };
  EXPECT_EQ(convolution("i8[2] {0, 0}"), "y = ConvInteger(x, w, xz)\n");
  EXPECT_EQ(convolution("i8[2] {5, 5}"), "y = ConvInteger(x, w, xz, constant)\n");
  EXPECT_EQ(convolution("i8[1] {5}"), "y = ConvInteger(x, w, xz, wz)\n");
  EXPECT_EQ(convolution("i8[2] {5, 6}"), R"(conv_integer = ConvInteger(x, w, xz)
shape = Shape(w)
expand = Expand(constant, shape)
conv_integer_1 = ConvInteger(x, expand, xz)
cast = Cast<to: int = 6>(wz)
unsqueeze = Unsqueeze(cast, {1, 2})
mul = Mul(conv_integer_1, unsqueeze)
y = Sub(conv_integer, mul)
)");
}

TEST(EncodeNode, AnOpThatIsTooNewIsWhatItStandsFor) {
  const std::string text = R"(graph "g" (%x: f32[2]) {
    %k = constant value=f32[2] {1.0, 2.0}
    %y = layer_normalization(%x, %k)
    yield %y
  })";
  EXPECT_EQ(written(text), "y = LayerNormalization(x, k)\n");
  EXPECT_THAT(written(text, 13), HasSubstr("Sqrt("));
}

TEST(EncodeNode, ANewerOpRaisesTheUsualOpset) {
  const Model m = model_of(R"(graph "g" (%x: f32[2]) {
    %zero = constant value=i64[] {0}
    %y = cum_prod(%x, %zero)
    yield %y
  })");
  EXPECT_EQ(m.report.opset, 26);
  ASSERT_EQ(m.report.notes.size(), 1U);
  EXPECT_THAT(m.report.notes[0], HasSubstr("opset 26 rather than the usual 21"));
}

TEST(EncodeNode, WhatAnOpsetCannotSayIsRefusedByName) {
  const std::string why = error_of(R"(graph "g" (%x: f32[2]) {
    %zero = constant value=i64[] {0}
    %y = cum_prod(%x, %zero)
    yield %y
  })",
                                   21, Blame::caller);
  EXPECT_THAT(why,
              HasSubstr("opset 21 cannot express it: CumProd begins in opset 26; opset 26 has it"));
}

TEST(EncodeNode, ACastThatIsTooNewIsRefusedAsACast) {
  EXPECT_THAT(error_of(R"(graph "g" (%x: i4[2], %s: f32[]) {
    %y = dequantize_linear(%x, %s)
    yield %y
  })",
                       13, Blame::caller),
              HasSubstr("Cast does not take tensor(int4) as 'input' in version 13; opset 21"));
}

TEST(EncodeNode, WhatCannotBeCopiedIsRefusedByName) {
  EXPECT_THAT(error_of(R"(graph "g" (%x: bf16[2]) { outputs ["y"] yield %x })", 12, Blame::caller),
              HasSubstr("its Identity does not take bf16[2]; opset 13 has it"));
  EXPECT_THAT(error_of(R"(graph "g" (%x: seq<bf16[2]>) { outputs ["y"] yield %x })", 21,
                       Blame::unsupported),
              HasSubstr("opset 21 cannot express it: its Identity does not take seq<bf16[2]>"));
}

TEST(EncodeNode, WhatIsMovedInNarrowDtypesIsCastOnceAndBack) {
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

TEST(EncodeNode, OutputsThatCannotBeLeftOutHaveNames) {
  EXPECT_EQ(written(R"(graph "g" (%x: f32[4]) {
    %k = constant value=i64[1] {2}
    %v, %i = top_k(%x, %k)
    yield %i
  })"),
            "unused, i = TopK(x, {2})\n");
  EXPECT_EQ(written(R"(graph "g" (%x: f32[4]) {
    %y, %at, %of, %n = unique(%x)
    yield %of
  })"),
            "unused, _, of = Unique(x)\n");
}

TEST(EncodeNode, OpsetsBeyondTheRangeAreRefused) {
  const std::string text = R"(graph "g" (%x: f32[2]) {
    %y = neg(%x)
    yield %y
  })";
  EXPECT_THAT(error_of(text, 10, Blame::caller), HasSubstr("those that can be written are 11 to"));
  EXPECT_THAT(error_of(text, 99, Blame::caller), HasSubstr("those that can be written are 11 to"));
}

TEST(EncodeNode, OurOwnOpsAreSaidInOnnxOps) {
  EXPECT_EQ(written(R"(graph "g" (%a: f32[2], %b: f32[2], %c: f32[2]) {
    %y = fma(%a, %b, %c)
    %r = row_major(%y)
    %z = convert(%r) to=type i32[]
    yield %z
  })"),
            "mul = Mul(a, b)\ny = Add(mul, c)\nr = Identity(y)\nz = Cast<to: int = 6>(r)\n");
}

TEST(EncodeNode, ResultsHaveTheNamesTheirUsersKnow) {
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
