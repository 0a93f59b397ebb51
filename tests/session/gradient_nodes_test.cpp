#include "session/gradient_nodes.h"

#include "ir/builder.h"
#include "ir/text.h"
#include "onnx/models.h"

#include <rondel/session.h>

#include <gmock/gmock.h>

/// `gradient` nodes and the nodes that replace them. tests/python/gradients/test_gradient_op.py has
/// more tests.
namespace rondel::session {
namespace {

using ::testing::ElementsAre;

/// A graph's text as an ONNX model that uses ONNX's Gradient.
std::vector<std::vector<float>> run(const std::string& graph,
                                    const std::map<std::string, Value>& feeds) {
  const std::string bytes =
      onnx::parse_text(
          "<ir_version: 10, opset_import: [\"\" : 21, \"ai.onnx.preview.training\" : "
          "1]>\n" +
          graph)
          .SerializeAsString();
  const Session s(std::as_bytes(std::span(bytes.data(), bytes.size())));
  std::vector<std::vector<float>> all;
  for (const Value& v : s.run({}, feeds)) {
    const Tensor t = v.tensor().packed();
    all.emplace_back(t.data_as<float>(), t.data_as<float>() + t.size());
  }
  return all;
}

const std::map<std::string, Value> x{{"x", Tensor::from<float>({2}, {1, 2})}};

TEST(GradientNodes, ConstantsAreVariables) {
  EXPECT_THAT(run("g (float[2] x) => (float[2] dw) <float[2] w = {3, 4}> { a = Mul (w, w) "
                  "y = Mul (a, x) dw = ai.onnx.preview.training.Gradient <xs = [\"w\"], y = \"y\"> "
                  "(w) }",
                  x),
              ElementsAre(ElementsAre(6, 16)));
}

TEST(GradientNodes, OneMayDifferentiateAnother) {
  EXPECT_THAT(run("g (float[2] x) => (float[2] second) { a = Mul (x, x) y = Mul (a, x) "
                  "first = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"y\"> (x) "
                  "second = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"first\"> (x) }",
                  x),
              ElementsAre(ElementsAre(6, 12)));
}

TEST(GradientNodes, OneInABodyComesBeforeOneAroundIt) {
  // Each trip: s * d(s^2)/ds = 2 s^2, twice: 2 (2 x^2)^2 = 8 x^4.
  EXPECT_THAT(
      run("g (float[2] x) => (float[2] y, float[2] dx) <bool yes = {1}, int64 two = {2}> { "
          "y = Loop (two, yes, x) <body = b (int64 i, bool go, float[2] s) => (bool on, float[2] "
          "t) "
          "{ on = Identity (go) q = Mul (s, s) "
          "d = ai.onnx.preview.training.Gradient <xs = [\"s\"], y = \"q\"> (s) t = Mul (s, d) }> "
          "dx = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"y\"> (x) }",
          x),
      ElementsAre(ElementsAre(8, 128), ElementsAre(32, 256)));
}

TEST(GradientNodes, AtOtherValuesAllBetweenIsComputedAgain) {
  EXPECT_THAT(run("g (float[2] x) => (float[2] dx) { a = Mul (x, x) b = Exp (a) y = Log (b) "
                  "z = Mul (y, x) other = Neg (x) "
                  "dx = ai.onnx.preview.training.Gradient <xs = [\"x\"], zs = [\"y\"], y = \"z\"> "
                  "(other, x) }",
                  x),
              ElementsAre(ElementsAre(1, 2)));
}

TEST(GradientNodes, GraphsWithoutOneStayAsTheyAre) {
  ir::Graph g = ir::parse(R"(graph "g" (%x: f32[2]) {
    %y = gelu(%x)
    yield %y
  })");
  const std::string before = ir::to_text(g);
  write_gradients(g);
  EXPECT_EQ(ir::to_text(g), before);
}

}  // namespace
}  // namespace rondel::session
