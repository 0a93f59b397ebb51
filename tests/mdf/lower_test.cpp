// Lowering of models to graphs.
#include "frontends/mdf/lower.h"

#include "frontends/mdf/read_file.h"
#include "ir/text.h"
#include "models.h"

namespace rondel::mdf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ModelFile read_text(const std::string& text) {
  return read({std::nullopt, std::as_bytes(std::span(text.data(), text.size()))});
}

const char* const decay = R"({"graphs": {"decay": {"nodes": {
  "A": {"parameters": {"v": {"default_initial_value": 8.0, "time_derivative": "-v"}},
        "output_ports": {"v": {"value": "v"}}}}}}})";

/// The ops in the body of the graph's only loop.
std::string body_of(const ir::Graph& g) {
  std::string ops;
  for (const ir::NodeId n : g.root().nodes)
    if (g.node(n).is_loop())
      for (const ir::NodeId inner : g.region(g.node(n).regions[0]).nodes)
        if (g.node(inner).op->name != "constant") ops += fmt::format("{} ", g.node(inner).op->name);
  return ops;
}

TEST(Lower, AModelIsOneLoopOfItsEvaluations) {
  const Lowered lowered = lower(read_text(decay).graph, {});
  const ir::Graph& g = lowered.graph;
  EXPECT_EQ(g.name, "decay");
  EXPECT_THAT(g.input_names, ElementsAre("steps", "dt"));
  EXPECT_THAT(g.output_names, ElementsAre("A.v"));
  EXPECT_EQ(body_of(g), "equal not where neg mul add not or where ");
  ir::verify(g);
}

TEST(Lower, WhatIsGivenIsAnInputWithADefault) {
  LowerOptions o;
  o.set = {{.name = "A.v", .dtype = DType::f64, .shape = {}, .otherwise = Tensor::scalar(2.0)}};
  const Lowered lowered = lower(read_text(decay).graph, o);
  EXPECT_THAT(lowered.graph.input_names, ElementsAre("steps", "dt", "set A.v"));
  EXPECT_EQ(lowered.graph.defaults.size(), 3);
}

TEST(Lower, AResumableGraphTakesAndGivesItsStates) {
  LowerOptions o;
  o.resumable = true;
  const Lowered lowered = lower(read_text(decay).graph, o);
  ASSERT_EQ(lowered.states.size(), 1);
  EXPECT_EQ(lowered.states[0].name, "state node 'A', parameter 'v'");
  EXPECT_THAT(lowered.graph.output_names, ElementsAre("A.v", lowered.states[0].name));
}

TEST(Lower, ErrorsNameNodeAndPort) {
  const auto error = [](const char* value) {
    const std::string text = fmt::format(
        R"({{"graphs": {{"g": {{"nodes": {{"A": {{"output_ports": {{"y": {{"value": "{}"}}}}}}}}}}}}}})",
        value);
    return error_of([&] { lower(read_text(text).graph, {}); });
  };
  EXPECT_THAT(error("nope"),
              HasSubstr("node 'A': output port 'y': 'nope': the name 'nope' is not known here"));
  EXPECT_EQ(error("1 + 2"), "");
}

TEST(Read, KeysThatNothingReadsAreFound) {
  const ModelFile file = read_text(R"({"graphs": {"g": {"nodes": {"A": {"paramters": {}}}}}})");
  ASSERT_EQ(file.findings.size(), 1);
  EXPECT_EQ(file.findings[0].where, "node 'A'");
  EXPECT_THAT(file.findings[0].message, HasSubstr("did you mean 'parameters'?"));
}

}  // namespace
}  // namespace rondel::mdf
