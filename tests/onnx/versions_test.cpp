// Conversion of old versions of ops to the newest form.
#include "models.h"

#include <gmock/gmock.h>

namespace rondel::onnx {
namespace {

using ::testing::HasSubstr;

std::string ops(int opset, const std::string& graph) {
  return ops_of(import_graph(opset, graph).graph);
}

ir::Ints constant_input(const Imported& i, std::string_view op, std::size_t k) {
  const Tensor* t = i.graph.constant(find(i.graph, op).inputs.at(k));
  if (t == nullptr) return {};
  return {t->data_as<std::int64_t>(), t->data_as<std::int64_t>() + t->size()};
}

TEST(Versions, ArithmeticWithAnAxis) {
  const Imported i = import_graph(6,
                                  "g (float[2,3,4,5] a, float[3,4] b) => (float[2,3,4,5] c) "
                                  "{ c = Add <broadcast = 1, axis = 1> (a, b) }");
  EXPECT_EQ(ops_of(i.graph), "unsqueeze add");
  EXPECT_EQ(constant_input(i, "unsqueeze", 1), (ir::Ints{2}));
  EXPECT_EQ(output_type(i), "f32[2, 3, 4, 5]");
  EXPECT_EQ(ops(6,
                "g (float[2,3] a, float[3] b) => (float[2,3] c) "
                "{ c = Mul <broadcast = 1> (a, b) }"),
            "mul");
}

TEST(Versions, AxesBecameInputs) {
  Imported i = import_graph(11,
                            "g (float[1,3] x) => (float[3] y) { y = Squeeze <axes = [0]> (x) }");
  EXPECT_EQ(constant_input(i, "squeeze", 1), (ir::Ints{0}));
  i = import_graph(11, "g (float[3] x) => (float[1,3] y) { y = Unsqueeze <axes = [0]> (x) }");
  EXPECT_EQ(constant_input(i, "unsqueeze", 1), (ir::Ints{0}));
  i = import_graph(
      11, "g (float[2,3] x) => (float[2] y) { y = ReduceSum <axes = [1], keepdims = 0> (x) }");
  EXPECT_EQ(constant_input(i, "reduce_sum", 1), (ir::Ints{1}));
  EXPECT_EQ(output_type(i), "f32[2]");
  i = import_graph(17, "g (float[2,3] x) => (float[2,1] y) { y = ReduceMean <axes = [-1]> (x) }");
  EXPECT_EQ(constant_input(i, "reduce_mean", 1), (ir::Ints{-1}));
}

TEST(Versions, OtherAttributesBecameInputs) {
  Imported i = import_graph(
      9, "g (float[5] x) => (float[2] y) { y = Slice <starts = [1], ends = [3]> (x) }");
  EXPECT_EQ(constant_input(i, "slice", 2), (ir::Ints{3}));
  EXPECT_EQ(output_type(i), "f32[2]");
  i = import_graph(1, "g (float[6] x) => (float[2,3] y) { y = Reshape <shape = [2, 3]> (x) }");
  EXPECT_EQ(output_type(i), "f32[2, 3]");
  i = import_graph(9, "g (float[6] x) => (float[2] y, int64[2] z) { y, z = TopK <k = 2> (x) }");
  EXPECT_EQ(output_type(i), "f32[2]");
  i = import_graph(2,
                   "g (float[2] x) => (float[4] y) { y = Pad <pads = [1, 1], value = 3.0> (x) }");
  EXPECT_EQ(output_type(i), "f32[4]");
}

TEST(Versions, SplitCountsItsOutputs) {
  const Imported i = import_graph(
      13, "g (float[6] x) => (float[2] a, float[2] b, float[2] c) { a, b, c = Split(x) }");
  EXPECT_EQ(find(i.graph, "split").attributes.i("num_outputs"), 3);
  EXPECT_EQ(output_type(i, 2), "f32[2]");
}

TEST(Versions, SoftmaxSawAMatrix) {
  const Imported i = import_graph(11, "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax(x) }");
  EXPECT_EQ(ops_of(i.graph), "flatten softmax shape reshape");
  EXPECT_EQ(find(i.graph, "flatten").attributes.i("axis", 1), 1);
  EXPECT_EQ(ops(13, "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax(x) }"), "softmax");
}

TEST(Versions, ClipsBoundsWereAttributes) {
  const Imported i = import_graph(6, "g (float[2] x) => (float[2] y) { y = Clip <max = 6.0> (x) }");
  const ir::Node& clip = find(i.graph, "clip");
  EXPECT_EQ(clip.inputs.at(1), ir::ValueId::none);
  EXPECT_EQ(*i.graph.constant(clip.inputs.at(2))->data_as<float>(), 6);
}

TEST(Versions, DefaultsThatChangedAreSaid) {
  const Imported i = import_graph(1, "g (float[2] x) => (float[2] y) { y = Selu(x) }");
  EXPECT_NEAR(find(i.graph, "selu").attributes.f("alpha", 0), 1.6732, 1e-6);
}

TEST(Versions, CastNamedItsType) {
  const Imported i = import_graph(
      1, "g (float[2] x) => (int64[2] y) { y = Cast <to = \"INT64\"> (x) }");
  EXPECT_EQ(output_type(i), "i64[2]");
}

TEST(Versions, DropoutWasInference) {
  EXPECT_EQ(ops(10, "g (float[2] x) => (float[2] y) { y = Dropout <ratio = 0.5> (x) }"),
            "identity");
}

TEST(Versions, OpsTakenOut) {
  EXPECT_THAT(graph_error(11,
                          "g (float[2] x, int64[2] i) => (float[2] y) "
                          "{ y = Scatter(x, i, x) }"),
              HasSubstr("taken out in version 11"));
}

TEST(Versions, ConstantsOfEveryKind) {
  const Imported i = import_graph(
      13,
      "g () => (float a, int64[2] b, string c, float[2] d) "
      "{ a = Constant <value_float = 1.5> () b = Constant <value_ints = [1, 2]> () "
      "c = Constant <value_string = \"s\"> () d = Constant <value = float[2] {1, 2}> () }");
  EXPECT_EQ(output_type(i, 0), "f32[]");
  EXPECT_EQ(output_type(i, 1), "i64[2]");
  EXPECT_EQ(output_type(i, 2), "str[]");
  EXPECT_EQ(output_type(i, 3), "f32[2]");
}

}  // namespace
}  // namespace rondel::onnx
