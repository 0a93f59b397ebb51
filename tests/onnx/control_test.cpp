// Loop, Scan and If: docs/loops, sections 3 and 4.
#include "models.h"

#include <gmock/gmock.h>

namespace rondel::onnx {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string simple_body =
    "b (int64 i, bool c, float[2] s) => (bool c2, float[2] s2, float[2] item) "
    "{ c2 = Identity(c) s2 = Add(s, s) item = Identity(s2) }";

std::string loop_graph(const std::string& inputs, const std::string& body = simple_body) {
  return "g (int64 m, bool k, float[2] x) => (float[2] y, float[T, 2] z) { y, z = Loop <body = " +
         body + "> (" + inputs + ") }";
}

/// A loop with one state x and no items; `body` holds its parameters, results and nodes.
std::string one_state(const std::string& type, const std::string& body,
                      const std::string& out = "") {
  return "g (int64 m, " + type + " x) => (" + (out.empty() ? type : out) +
         " y) { y = Loop <body = b (int64 i, bool c, " + type + " s) => " + body +
         "> (m, \"\", x) }";
}

ir::LoopParts parts_of(const Imported& i) { return ir::LoopParts(find(i.graph, "loop")); }

TEST(Loop, BecomesTheLoop) {
  const Imported i = import_graph(21, loop_graph("m, k, x"));
  EXPECT_EQ(ops_of(i.graph), "loop(identity add identity)");
  EXPECT_TRUE(parts_of(i).has_trips && parts_of(i).has_go);
  EXPECT_EQ(parts_of(i).states, 1U);
  EXPECT_EQ(parts_of(i).stacks, 1U);
  EXPECT_EQ(output_type(i, 0), "f32[2]");
  EXPECT_EQ(output_type(i, 1), "f32[?, 2]");
  ir::verify(i.graph);
}

TEST(Loop, EveryVersion) {
  for (const int opset : {1, 11, 13, 16, 19, 21, 23, 24, 25})
    EXPECT_EQ(ops_of(import_graph(opset, loop_graph("m, k, x")).graph),
              "loop(identity add identity)")
        << opset;
}

TEST(Loop, TripsAndCondMayBeLeftOut) {
  EXPECT_FALSE(parts_of(import_graph(21, loop_graph("\"\", k, x"))).has_trips);
  EXPECT_FALSE(parts_of(import_graph(21, loop_graph("m, \"\", x"))).has_go);
}

TEST(Loop, ABodyThatRunsHasATrueCondition) {
  for (const char* inputs : {"m, k, x", "m, \"\", x"}) {
    const Imported i = import_graph(21, loop_graph(inputs));
    const ir::Region& body = i.graph.region(parts_of(i).body);
    const Tensor* condition = i.graph.constant(i.graph.node(*body.nodes.begin()).inputs[0]);
    ASSERT_NE(condition, nullptr) << inputs;
    EXPECT_TRUE(*condition->data_as<bool>()) << inputs;
  }
}

TEST(Loop, AConditionThatIsIgnoredIsWarnedOf) {
  EXPECT_THAT(import_graph(21, loop_graph("m, \"\", x")).findings, IsEmpty());
  const std::string stops = one_state("float[2]",
                                      "(bool c2, float[2] s2) { c2 = Not(c) s2 = Neg(s) }");
  const Imported i = import_graph(21, stops);
  ASSERT_EQ(i.findings.size(), 1U);
  EXPECT_THAT(i.findings[0].message, HasSubstr("ONNX Runtime stops on it"));
  ImportOptions options;
  options.loop_cond = "honour";
  EXPECT_TRUE(parts_of(import_graph(21, stops, options)).has_go);
  options.loop_cond = "sometimes";
  EXPECT_THAT(error_of([&] { import_graph(21, stops, options); }), HasSubstr("'sometimes'"));
}

TEST(Loop, ScalarsMayHaveAxes) {
  for (const char* shape : {"[1]", "[1, 1]", "[1, 1, 1]"}) {
    const std::string m = std::string("int64") + shape, c = std::string("bool") + shape;
    const Imported i = import_graph(21, "g (" + m + " m, " + c +
                                            " k, float[2] x) => (float[2] y) { y = Loop <body = "
                                            "b (" +
                                            m + " i, " + c + " c, float[2] s) => (" + c +
                                            " c2, float[2] s2) "
                                            "{ c2 = Identity(c) s2 = Add(s, s) }> (m, k, x) }");
    EXPECT_EQ(ops_of(i.graph),
              "one_element one_element loop(reshape reshape identity add one_element)");
  }
  EXPECT_THAT(graph_error(21,
                          "g (int64[2] m, float[2] x) => (float[2] y) { y = Loop <body = "
                          "b (int64 i, bool c, float[2] s) => (bool c, float[2] s2) "
                          "{ s2 = Add(s, s) }> (m, \"\", x) }"),
              HasSubstr("M is i64[2]; expected one element of i64"));
}

TEST(Loop, StatesMayChangeShape) {
  const Imported i = import_graph(
      21, one_state("float[2]", "(bool c, float[2] s2) { s2 = Concat <axis = 0> (s, s) }"));
  EXPECT_EQ(output_type(i), "f32[?]");
}

TEST(Loop, TypesByVersion) {
  const std::string sequences = one_state("seq(float[2])",
                                          "(bool c, seq(float[2]) s2) { s2 = Identity(s) }");
  EXPECT_THAT(graph_error(11, sequences),
              HasSubstr("seq(tensor(float)), which Loop does not take in version 11"));
  EXPECT_EQ(output_type(import_graph(14, sequences)), "seq<f32[2]>");
  EXPECT_THAT(graph_error(1,
                          "g (int64 m, bool k, float[2] x) => (float[T, 2] z) { z = Loop "
                          "<body = b (int64 i, bool c) => (bool c, float[2] o) "
                          "{ o = Identity(x) }> (m, k) }"),
              HasSubstr("2 inputs are given; Loop-1 takes 3"));
  EXPECT_THAT(
      graph_error(14, one_state("bfloat16[2]", "(bool c, bfloat16[2] s2) { s2 = Identity(s) }")),
      HasSubstr("tensor(bfloat16), which Loop does not take in version 13"));
}

TEST(Loop, ItemsMustBeTensors) {
  EXPECT_THAT(graph_error(14,
                          "g (int64 m, seq(float[2]) x) => (seq(float[2]) y) { y = Loop "
                          "<body = b (int64 i, bool c) => (bool c, seq(float[2]) o) "
                          "{ o = Identity(x) }> (m, \"\") }"),
              HasSubstr("must be a tensor"));
}

TEST(Loop, CountsAndTypesOfTheBody) {
  const auto error = [](const std::string& body) {
    return graph_error(21, loop_graph("m, k, x", body));
  };
  EXPECT_THAT(error("b (int64 i, bool c) => (bool c, float[2] a, float[2] d) "
                    "{ a = Identity(x) d = Identity(x) }"),
              HasSubstr("its body has 2 inputs; expected 3"));
  EXPECT_THAT(error("b (int64 i, bool c, float[2] s) => (bool c) { t = Neg(s) }"),
              HasSubstr("its body has 1 outputs"));
  EXPECT_THAT(error("b (int32 i, bool c, float[2] s) => (bool c, float[2] s, float[2] t) "
                    "{ t = Neg(s) }"),
              HasSubstr("body input 'i' is declared i32[] but is given i64[]"));
  EXPECT_THAT(error("b (int64 i, bool c, float[2] s) => (bool c, double[2] d, float[2] s) "
                    "{ d = Cast <to = 11> (s) }"),
              HasSubstr("state 0"));
}

TEST(Loop, NamesAreLexical) {
  // x and t are shadowed in the inner graphs; k is captured from the graph two levels out.
  const Imported i = import_graph(
      21,
      "g (int64 m, float[2] x, float[2] k) => (float[2] y) { t = Neg(x) y = Loop <body = "
      "b (int64 i, bool c, float[2] x) => (bool c, float[2] t) { a = Add(x, k) t = Loop "
      "<body = d (int64 i, bool c, float[2] s) => (bool c, float[2] u) { u = Mul(s, k) }> "
      "(m, \"\", a) }> (m, \"\", t) }");
  EXPECT_EQ(ops_of(i.graph), "neg loop(add loop(mul))");
  ir::verify(i.graph);
  EXPECT_THAT(graph_error(21,
                          "g (int64 m, float[2] x) => (float[2] y) { y = Loop <body = "
                          "b (int64 i, bool c, float[2] s) => (bool c, float[2] u) "
                          "{ u = Add(s, later) }> (m, \"\", x) later = Neg(x) }"),
              HasSubstr("'later' is used before the node (Neg) that defines it"));
}

TEST(Loop, OutputsMayBeUnnamed) {
  const Imported i = import_graph(21,
                                  "g (int64 m, float[2] x) => (float[T, 2] z) "
                                  "{ \"\", z = Loop <body = " +
                                      simple_body + "> (m, \"\", x) }");
  EXPECT_EQ(output_type(i), "f32[?, 2]");
}

const std::string scan_body =
    "b (float[2] s, float[2] e) => (float[2] s2, float[2] o) { s2 = Add(s, e) o = Identity(s2) }";

std::string scan_graph(const std::string& attributes) {
  return "g (float[2] s, float[3, 2] x) => (float[2] y, float[3, 2] z) { y, z = Scan <" +
         attributes + ", body = " + scan_body + "> (s, x) }";
}

std::string two_scans(const std::string& attributes, const std::string& b = "float[3, 2]") {
  return "g (float[3, 2] a, " + b + " b) => (float[3, 2] z) { z = Scan <num_scan_inputs = 2, " +
         attributes +
         " body = d (float[2] p, float[2] q) => (float[2] o) { o = Add(p, q) }> (a, b) }";
}

TEST(Scan, EveryVersionBecomesTheLoop) {
  for (const int opset : {9, 11, 16, 19, 21, 23, 24, 25}) {
    const Imported i = import_graph(opset, scan_graph("num_scan_inputs = 1"));
    EXPECT_EQ(ops_of(i.graph), "loop(add identity)");
    EXPECT_FALSE(parts_of(i).has_trips || parts_of(i).has_go);
    EXPECT_EQ(parts_of(i).fixed, (ir::Ints{1}));
    EXPECT_EQ(output_type(i, 1), "f32[3, 2]");
    ir::verify(i.graph);
  }
}

TEST(Scan, AxesAndDirections) {
  const Imported i = import_graph(
      11, two_scans("scan_input_axes = [0, -1], scan_input_directions = [1, 0], "
                    "scan_output_directions = [1],",
                    "float[2, 3]"));
  EXPECT_EQ(ops_of(i.graph), "same_extent loop(add)");
  EXPECT_EQ(parts_of(i).axis_in, (ir::Ints{0, -1}));
  EXPECT_EQ(parts_of(i).reverse_in, (ir::Ints{1, 0}));
  EXPECT_EQ(parts_of(i).reverse_out, (ir::Ints{1}));
}

TEST(Scan, ListsAndExtentsAreChecked) {
  EXPECT_THAT(graph_error(11, two_scans("", "float[4, 2]")),
              HasSubstr("'a' has extent 3 on axis 0 and 'b' has 4 on axis 0"));
  EXPECT_THAT(graph_error(9, two_scans("scan_input_axes = [0, -2],")),
              HasSubstr("negative axes begin in version 11"));
  EXPECT_THAT(graph_error(11, two_scans("scan_input_axes = [0],")),
              HasSubstr("scan_input_axes has 1 entries; there are 2"));
  EXPECT_THAT(graph_error(11, two_scans("scan_input_axes = [0, 5],")),
              HasSubstr("axis of 'b' 5 is outside"));
  EXPECT_THAT(graph_error(11, two_scans("scan_output_axes = [3],")), HasSubstr("out of range"));
  EXPECT_THAT(graph_error(11, two_scans("scan_input_directions = [0, 2],")),
              HasSubstr("expected 0 (forward) or 1"));
  for (const char* n : {"0", "-1", "3"})
    EXPECT_THAT(graph_error(11, scan_graph(std::string("num_scan_inputs = ") + n)),
                HasSubstr("expected 1 to 2"));
}

TEST(Scan, StatesKeepTheirShape) {
  EXPECT_THAT(graph_error(11,
                          "g (float[2] s, float[3, 2] x) => (float[2] y) { y = Scan "
                          "<num_scan_inputs = 1, body = b (float[2] s, float[2] e) => "
                          "(float[4] s2) { s2 = Concat <axis = 0> (s, e) }> (s, x) }"),
              HasSubstr("state 0"));
}

TEST(Scan, VersionEightHasABatch) {
  const std::string tail =
      "=> (float[B, 2] y, float[B, T, 2] z) { y, z = Scan <num_scan_inputs = 1, "
      "directions = [1], body = " +
      scan_body + "> ";
  const Imported plain = import_graph(
      8, "g (float[B, 2] s, float[B, T, 2] x) " + tail + "(\"\", s, x) }");
  EXPECT_THAT(ops_of(plain.graph), HasSubstr("same_extent loop(loop(add identity))"));
  EXPECT_EQ(output_type(plain, 0), "f32[B, 2]");
  ir::verify(plain.graph);
  const Imported cut = import_graph(
      8, "g (int64[B] n, float[B, 2] s, float[B, T, 2] x) " + tail + "(n, s, x) }");
  EXPECT_THAT(ops_of(cut.graph),
              HasSubstr("checked_length same_extent loop(reshape slice loop(add identity))"));
  ir::verify(cut.graph);
}

TEST(If, BecomesTheIf) {
  const Imported i = import_graph(
      13,
      "g (bool[1] c, float[2] x) => (float y) { y = If <then_branch = a () => (float[2] p) "
      "{ p = Neg(x) }, else_branch = b () => (float[1, 2] q) "
      "{ z = Constant <value_ints = [0]> () q = Unsqueeze(x, z) }> (c) }");
  EXPECT_EQ(ops_of(i.graph), "one_element if(neg | unsqueeze)");
  EXPECT_EQ(output_type(i), "f32[...]");
}

TEST(If, BranchesAndConditionAreChecked) {
  const auto error = [](const char* type, const char* otherwise) {
    return graph_error(13, std::string("g (") + type +
                               " c, float[2] x) => (float[2] y) { y = If <then_branch = "
                               "a () => (float[2] p) { p = Neg(x) }, else_branch = b () => " +
                               otherwise + "> (c) }");
  };
  EXPECT_THAT(error("bool", "(float[2] p, float[2] q) { p = Neg(x) q = Neg(x) }"),
              HasSubstr("its else_branch has 2 outputs; the node has 1"));
  EXPECT_THAT(error("float", "(float[2] q) { q = Neg(x) }"),
              HasSubstr("tensor(float), which If does not take"));
  EXPECT_THAT(error("bool", "(int64[1] q) { q = Shape(x) }"), HasSubstr("in one branch"));
}

TEST(Depth, IsBounded) {
  std::string text = "y = Neg(x)";
  for (int k = 0; k < 60; ++k)
    text = "y = If <then_branch = a () => (float[2] y) { " + text +
           " }, else_branch = b () => (float[2] y) { y = Neg(x) }> (c)";
  const pb::ModelProto m = model_of(13, "g (bool c, float[2] x) => (float[2] y) { " + text + " }");
  EXPECT_THAT(error_of([&] { import_proto(m); }), HasSubstr("nested deeper"));
}

TEST(Depth, WideningStatesDoNotMultiplyWithoutEnd) {
  std::string text;
  for (int k = 0; k < 25; ++k)
    text = "u = Loop <body = b (int64 i, bool c, float[2] s) => (bool c, float[4] t) { " + text +
           " t = Concat <axis = 0> (s, x) }> (m, \"\", x)";
  EXPECT_THAT(
      graph_error(21, "g (int64 m, float[2] x) => (float[n] u) { " + text + " }", Blame::limit),
      HasSubstr("too long to infer"));
}

}  // namespace
}  // namespace rondel::onnx
