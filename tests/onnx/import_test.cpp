#include "models.h"

#include <gmock/gmock.h>

#include <chrono>

namespace rondel::onnx {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string relu = "g (float[1] x) => (float[1] y) { y = Relu(x) }";

std::string bytes_error(const std::string& bytes) {
  return error_of([&] { import_bytes(std::as_bytes(std::span(bytes.data(), bytes.size()))); });
}

TEST(Import, NodesBecomeOurs) {
  const Imported i = import_graph(
      13, "g (float[N, 4] x) => (float[N, 4] y) { t = Add(x, x)  y = Relu(t) }");
  EXPECT_EQ(ops_of(i.graph), "add relu");
  EXPECT_EQ(output_type(i), "f32[N, 4]");
  EXPECT_THAT(i.graph.input_names, ElementsAre("x"));
  EXPECT_THAT(i.graph.output_names, ElementsAre("y"));
  EXPECT_EQ(i.opsets.at("ai.onnx"), 13);
  EXPECT_EQ(i.op_counts.at("Add"), 1);
  EXPECT_EQ(find(i.graph, "relu").source, "node 'y' (Relu)");
}

TEST(Import, WhatIsNotAModel) {
  EXPECT_THAT(bytes_error(""), HasSubstr("no bytes"));
  EXPECT_THAT(bytes_error("hello, world"), HasSubstr("not an ONNX model"));
  const std::string whole = model_of(13, relu).SerializeAsString();
  for (std::size_t n = 1; n < whole.size(); ++n) EXPECT_NE(bytes_error(whole.substr(0, n)), "");
  pb::ModelProto empty;
  empty.set_ir_version(10);
  EXPECT_THAT(error_of([&] { import_proto(empty); }), HasSubstr("no graph"));
  EXPECT_THAT(error_of([] { import_file("/nowhere/m.onnx"); }), HasSubstr("/nowhere/m.onnx"));
}

TEST(Import, VersionsBeyondOursAreNamed) {
  EXPECT_THAT(graph_error(99, relu), HasSubstr("version 99 of ai.onnx; the newest known here is"));
  pb::ModelProto m = model_of(13, relu);
  m.set_ir_version(99);
  EXPECT_THAT(error_of([&] { import_proto(m); }), HasSubstr("IR version 99"));
}

TEST(Import, UnknownOpsAndDomains) {
  EXPECT_THAT(
      graph_error(13, "g (float[1] x) => (float[1] y) { y = Frobnicate(x) }"),
      HasSubstr("node 'y' (Frobnicate): op Frobnicate of ai.onnx, version 13 is not known"));
  EXPECT_THAT(graph_error(13, "g (float[1] x) => (float[1] y) { y = com.acme.Foo(x) }"),
              HasSubstr("does not import"));
  EXPECT_THAT(graph_error(13, "g (float[1] x) => (float[1] y) { y = Gelu(x) }"),
              HasSubstr("does not exist yet"));
}

TEST(Import, CheckNamesEveryMissingOp) {
  const std::string bytes =
      model_of(13, "g (float[1] x) => (float[1] y) { a = Foo(x) b = Bar(a) y = Foo(b) }")
          .SerializeAsString();
  const auto findings = front_end().survey({{}, std::as_bytes(std::span(bytes))}, {}).findings;
  EXPECT_EQ(findings.size(), 2U);
  std::string all;
  for (const Finding& f : findings) all += f.where + ": " + f.message + "\n";
  EXPECT_THAT(all, HasSubstr("op Foo of ai.onnx, version 13, is not supported; it occurs 2 times"));
  EXPECT_THAT(all, HasSubstr("op Bar of ai.onnx, version 13, is not supported; it occurs 1 time"));
}

TEST(Import, NamesAreChecked) {
  EXPECT_THAT(graph_error(13, "g (float[1] x) => (float[1] y) { y = Relu(z) }"),
              HasSubstr("input 'z' is not defined"));
  EXPECT_THAT(graph_error(13, "g (float[1] x) => (float[1] y) { y = Relu(z) z = Relu(x) }"),
              HasSubstr("used before the node (Relu) that defines it"));
  EXPECT_THAT(graph_error(13, "g (float[1] x) => (float[1] y) { y = Relu(x) y = Abs(x) }"),
              HasSubstr("defined twice"));
  EXPECT_THAT(graph_error(13, "g (float[1] x) => (float[1] z) { y = Relu(x) }"),
              HasSubstr("output 'z' of graph 'g' is never computed"));
}

TEST(Import, SignaturesAreChecked) {
  EXPECT_THAT(graph_error(13, "g (float[1] x) => (float[1] y) { y = Add(x) }"),
              HasSubstr("1 inputs are given; Add-13 takes 2 to 2"));
  EXPECT_THAT(graph_error(13, "g (string[1] x) => (string[1] y) { y = Add(x, x) }"),
              HasSubstr("tensor(string), which Add does not take in version 13"));
  EXPECT_THAT(graph_error(13, "g (float[1] x) => (float[1] y) { y = Relu <alpha = 1.0> (x) }"),
              HasSubstr("attribute 'alpha' is not one of Relu-13"));
  EXPECT_THAT(graph_error(16, "g (float[1] x) => (float[1] y) { y = LeakyRelu <alpha = 1> (x) }"),
              HasSubstr("attribute 'alpha' is INT; expected FLOAT"));
  EXPECT_THAT(graph_error(13, "g (float[2] x, float[3] z) => (float[2] y) { y = Add(x, z) }"),
              HasSubstr("node 'y' (Add)"));
  EXPECT_THAT(graph_error(13, "g (float[2] x) => (int64[2] y) { y = Relu(x) }"),
              HasSubstr("output 'y' is declared i64[2] but is f32[2]"));
}

TEST(Import, InitializersThatAreInputsAreDefaults) {
  const Imported i = import_graph(
      13,
      "g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}, float[2] k = {3, 4}> "
      "{ t = Mul(x, w) y = Add(t, k) }");
  ASSERT_EQ(i.graph.root().params.size(), 2U);
  EXPECT_EQ(i.graph.defaults.at(i.graph.root().params[1]).data_as<float>()[1], 2);
  EXPECT_EQ(find(i.graph, "constant").source, "initializer 'k'");
  EXPECT_THAT(
      graph_error(13, "g (float[3] w) => (float[3] y) <float[2] w = {1, 2}> { y = Relu(w) }"),
      HasSubstr("its initializer is f32[2]"));
}

TEST(Import, FunctionsOfTheModelAreExpanded) {
  const char* text = R"(
    <ir_version: 10, opset_import: ["" : 17, "my" : 1]>
    g (float[2] x) => (float[2] y) { t = my.twice <slope = 0.5> (x)  y = my.once(t) }
    <domain: "my", opset_import: ["" : 17]>
    twice <slope> (a) => (b) { t = LeakyRelu <alpha: float = @slope> (a)  b = Add(t, t) }
    <domain: "my", opset_import: ["" : 17]>
    once (a) => (b) { b = Neg(a) }
  )";
  const Imported i = import_proto(parse_text(text));
  EXPECT_EQ(ops_of(i.graph), "leaky_relu add neg");
  EXPECT_EQ(find(i.graph, "leaky_relu").attributes.f("alpha", 0), 0.5);
  EXPECT_EQ(find(i.graph, "leaky_relu").source, "node 't/t' (LeakyRelu)");
}

TEST(Import, FunctionsThatCallThemselvesAreRefused) {
  const char* text = R"(
    <ir_version: 10, opset_import: ["" : 17, "my" : 1]>
    g (float[2] x) => (float[2] y) { y = my.f(x) }
    <domain: "my", opset_import: ["" : 17, "my" : 1]> f (a) => (b) { b = my.h(a) }
    <domain: "my", opset_import: ["" : 17, "my" : 1]> h (a) => (b) { b = my.f(a) }
  )";
  EXPECT_THAT(error_of([&] { import_proto(parse_text(text)); }), HasSubstr("f -> h -> f"));
}

TEST(Import, FunctionsThatMultiplyAreBounded) {
  std::string text =
      "<ir_version: 10, opset_import: [\"\" : 17, \"my\" : 1]> "
      "g (float[2] x) => (float[2] y) { y = my.f0(x) }\n";
  for (int k = 0; k < 40; ++k) {
    const std::string next = k == 39 ? "Neg" : "my.f" + std::to_string(k + 1);
    text += "<domain: \"my\", opset_import: [\"\" : 17, \"my\" : 1]> f" + std::to_string(k) +
            " (a) => (b) { t = " + next + "(a) b = " + next + "(t) }\n";
  }
  EXPECT_THAT(error_of([&] { import_proto(parse_text(text)); }),
              HasSubstr("more than 10000 times"));
}

TEST(Import, OpsWithoutOursUseTheBodyThatOnnxGives) {
  const Imported i = import_graph(18,
                                  "g (float[5, 3] s) => (uint8[5, 3] y, float scale, uint8 zero) "
                                  "{ y, scale, zero = DynamicQuantizeLinear (s) }");
  EXPECT_EQ(output_type(i), "u8[5, 3]");
}

TEST(Import, LoadsInLinearTime) {
  std::string text = "g (float[8] x0) => (float[8] x20000) {";
  for (int k = 0; k < 20000; ++k)
    text += "x" + std::to_string(k + 1) + " = Relu(x" + std::to_string(k) + ")\n";
  const pb::ModelProto m = model_of(13, text + "}");
  const auto start = std::chrono::steady_clock::now();
  import_proto(m);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

}  // namespace
}  // namespace rondel::onnx
