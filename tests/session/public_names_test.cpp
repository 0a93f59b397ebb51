#include "errors.h"
#include "onnx/models.h"

#include <rondel/custom_op.h>
#include <rondel/gradient.h>
#include <rondel/mdf.h>
#include <rondel/operators.h>
#include <rondel/session.h>

#include <gmock/gmock.h>

/// The errors of the public C++ API for bad input. The package and the command line have tests of
/// their own (tests/python/session: test_model_errors.py, test_run_errors.py, test_misuse.py;
/// test_cli.py).
namespace rondel {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* adding =
    "g (float[2, k] x, int64 n) => (float[2, k] y) "
    "{ m = Cast <to = 1> (n)  [sum] y = Add(x, m) }";

std::string bytes_of(const std::string& text) {
  return onnx::model_of(21, text).SerializeAsString();
}
std::span<const std::byte> span_of(const std::string& bytes) {
  return std::as_bytes(std::span(bytes.data(), bytes.size()));
}
Session session_of(const std::string& text, const SessionOptions& options = {}) {
  const std::string bytes = bytes_of(text);
  return Session(span_of(bytes), options);
}

const Tensor x = Tensor::from<float>({2, 1}, {1, 2});
const Tensor n = Tensor::scalar<std::int64_t>(3);

std::string feed_error(const std::map<std::string, Value>& feeds) {
  const Session s = session_of(adding);
  std::string text = error_of([&] { s.run(feeds); });
  // A session is usable after a bad run.
  EXPECT_EQ(s.run({{"x", x}, {"n", n}}).at("y").tensor().data_as<float>()[1], 5);
  return text;
}

TEST(PublicNames, WhatIsExportedCanBeOpened) {
  const Session adds = session_of(adding);
  const Session again(export_model(adds).bytes);
  EXPECT_EQ(again.run({{"x", x}, {"n", n}}).at("y").tensor().data_as<float>()[1], 5);

  const Session sums = session_of(
      "g (float[2] x) => (float s) { y = Mul(x, x) s = ReduceSum <keepdims = 0> (y) }");
  GradientOptions by_x;
  by_x.wrt = {"x"};
  const Session slope(grad(sums, by_x).bytes);
  const Tensor at = Tensor::from<float>({2}, {3, 4});
  EXPECT_EQ(slope.run({{"x", at}}).at("grad_x").tensor().data_as<float>()[1], 8);

  GraphWriter writer("negated", newest_opset());
  writer.input({.name = "x", .type = "tensor(float)", .shape = {{"2"}}});
  writer.node("Neg", "", {"x"}, {"y"}, {});
  writer.output("y");
  const Session negated(writer.model_bytes());
  EXPECT_EQ(negated.run({{"x", at}}).at("y").tensor().data_as<float>()[1], -4);
}

TEST(PublicNames, Feeds) {
  EXPECT_THAT(feed_error({{"x", x}}), HasSubstr("input 'n' is missing; expected i64[]"));
  EXPECT_THAT(feed_error({{"x", x}, {"n", n}, {"z", n}}),
              HasSubstr("there is no input 'z'; the inputs are 'x', 'n'"));
  EXPECT_THAT(feed_error({{"x", n}, {"n", n}}),
              HasSubstr("input 'x' is i64[]; expected f32[2, k]"));
  EXPECT_THAT(feed_error({{"x", Tensor(DType::f32, {3, 1})}, {"n", n}}),
              HasSubstr("input 'x' is f32[3,1]; expected f32[2, k]"));
  EXPECT_THAT(feed_error({{"x", Value()}, {"n", n}}), HasSubstr("input 'x' is missing"));
  EXPECT_THAT(feed_error({{"x", Tensor()}, {"n", n}}),
              HasSubstr("input 'x' is an undefined tensor; expected f32[2, k]"));
  EXPECT_THAT(feed_error({{"x", x}, {"n", Tensor()}}),
              HasSubstr("input 'n' is an undefined tensor; expected i64[]"));
  EXPECT_THAT(feed_error({{"x", Sequence()}, {"n", n}}), HasSubstr("input 'x' is seq of 0 f32"));
}

TEST(PublicNames, Maps) {
  auto model = onnx::model_of(21,
                              "g (map(int64, float) x) => (float[1, k] y) "
                              "{ y = ai.onnx.ml.CastMap (x) }");
  auto* ml = model.add_opset_import();
  ml->set_domain("ai.onnx.ml");
  ml->set_version(1);
  const std::string bytes = model.SerializeAsString();
  const Session s(span_of(bytes));
  EXPECT_EQ(s.inputs()[0].type, "map(int64,tensor(float))");
  const auto list = [](std::initializer_list<std::int64_t> keys) {
    return Tensor::from<std::int64_t>({std::ssize(keys)}, keys);
  };
  const Tensor values = Tensor::from<float>({3}, {1, 2, 3});
  const auto error = [&](const Value& v) { return error_of([&] { s.run({{"x", v}}); }); };
  // Of equal keys, the last counts.
  const Tensor y = s.run({{"x", Map{list({5, 2, 5}), values}}}).at("y").tensor();
  EXPECT_EQ(y.shape(), Shape({1, 2}));
  EXPECT_EQ(y.data_as<float>()[0], 2);
  EXPECT_EQ(y.data_as<float>()[1], 3);
  EXPECT_THAT(error(values), HasSubstr("input 'x' is f32[3]; expected map<i64, f32>"));
  EXPECT_THAT(error(Map{values, values}), HasSubstr("map of 3 f32 to f32; expected"));
  EXPECT_THAT(error(Map{list({1, 2}), values}),
              HasSubstr("a map of i64[2] to f32[3]; expected two lists of one length"));
}

constexpr const char* counting_without_end = R"(
  g (int64 most, float[2] x) => (float[2] y) {
    [count] y = Loop (most, , x) <body = b (int64 i, bool go, float[2] s)
        => (bool on, float[2] t) { on = Identity (go)  t = Sin (s) }> })";

constexpr const char* breaking =
    "g (int64 m, float x) => (float y) { [walk] y = Loop <body = b (int64 i, bool c, float s) => "
    "(bool on, float t) { t = Neg(s) zero = Constant <value_float = 0.0> () on = Less(t, zero) }> "
    "(m, \"\", x) }";

TEST(PublicNames, WarningsGoToWhoAsks) {
  std::vector<Finding> told;
  SessionOptions options;
  options.on_warning = [&](const Finding& f) { told.push_back(f); };
  session_of(breaking, options);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].level, Finding::Level::warning);
  EXPECT_EQ(told[0].where, "node 'walk' (Loop)");
  EXPECT_THAT(told[0].message, AllOf(HasSubstr("cond is left out"), HasSubstr("honour")));

  options.loop_cond = "honour";
  session_of(breaking, options);
  session_of(adding, options);
  EXPECT_EQ(told.size(), 1U);

  testing::internal::CaptureStderr();
  session_of(breaking);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("rondel: warning: node 'walk' (Loop): cond is left out"));
}

TEST(PublicNames, ItemsOfFedSequences) {
  const Session s = session_of("g (seq(float[2]) q) => (int64 y) { y = SequenceLength(q) }");
  auto items = std::make_shared<std::vector<Tensor>>(2, Tensor(DType::f32, {2}));
  items->at(1) = Tensor(DType::f32, {3});
  EXPECT_THAT(error_of([&] {
                s.run({{"q", Sequence{DType::f32, items}}});
              }),
              HasSubstr("item 1 of input 'q' is f32[3]; expected f32[2]"));
}

TEST(PublicNames, SequencesThatAreNoLists) {
  const Session s = session_of("g (seq(float[2]) q) => (int64 y) { y = SequenceLength(q) }");
  const auto error = [&](const Sequence& q) { return error_of([&] { s.run({{"q", q}}); }); };
  EXPECT_THAT(error({DType::f32, nullptr}),
              HasSubstr("input 'q' is a sequence that was moved from, or whose `items` is null"));
  EXPECT_THAT(error({DType::f32, std::make_shared<std::vector<Tensor>>(1)}),
              HasSubstr("item 0 of input 'q' is an undefined tensor; expected f32[2]"));
  EXPECT_THAT(error({DType::f64, std::make_shared<std::vector<Tensor>>()}),
              HasSubstr("input 'q' is seq of 0 f64; expected"));
}

TEST(PublicNames, AnUndefinedValueLeavesAnInputOut) {
  const Session s = session_of(
      "g (float[2] a, optional(float[2]) o) => (float[2] y, bool has) "
      "<float[2] b = {10, 20}, float[2] a = {1, 2}> "
      "{ y = Add(a, b) has = OptionalHasElement(o) }");
  const auto sum = [](const Value& v) { return v.tensor().data_as<float>()[1]; };
  for (const Value& none : {Value(), Value(Tensor())}) {
    const auto outputs = s.run({{"a", none}, {"o", none}});
    EXPECT_EQ(sum(outputs.at("y")), 22);
    EXPECT_FALSE(*outputs.at("has").tensor().data_as<bool>());
    EXPECT_EQ(sum(s.run_in_order(std::vector<Value>{none, none})[0]), 22);
  }
  const Session adds = session_of(adding);
  EXPECT_THAT(error_of([&] {
                adds.run_in_order(std::vector<Value>{x, Tensor()});
              }),
              HasSubstr("input 'n' is an undefined tensor; expected i64[]"));
  EXPECT_THAT(error_of([&] {
                adds.run_in_order(std::vector<Value>{x, Value()});
              }),
              HasSubstr("input 'n' is missing; expected i64[]"));
}

TEST(PublicNames, WhatWasMovedFromSaysSo) {
  Session first = session_of(adding);
  Session second = std::move(first);
  EXPECT_THAT(error_of([&] { first.run({}); }), HasSubstr("the object was moved from"));
  EXPECT_THAT(error_of([&] { first.inputs(); }), HasSubstr("the object was moved from"));
  first = std::move(second);
  EXPECT_EQ(first.inputs().size(), 2U);
  GraphWriter writer("g", 21);
  const GraphWriter other = std::move(writer);
  EXPECT_THAT(error_of([&] { writer.output("y"); }), HasSubstr("the object was moved from"));
}

TEST(PublicNames, GraphWritersRefuseWhatIsUndefined) {
  GraphWriter writer("g", 21);
  EXPECT_EQ(error_of([&] { writer.constant("c", Tensor()); }),
            "constant 'c' is an undefined tensor");
  EXPECT_EQ(error_of([&] {
              writer.node("Constant", "", {}, {"c"}, {{"value", Tensor()}});
            }),
            "attribute 'value' is an undefined tensor");
  EXPECT_EQ(error_of([] { GraphWriter("g", 99); }), error_of([] { operators(99); }));
}

TEST(PublicNames, AnUndefinedTensorIsNoSettingOfASimulation) {
  const std::string text =
      R"({"m": {"format": "ModECI MDF v0.4", "graphs": {"g": {"nodes": {"A": {
      "parameters": {"n": {"value": "n + 1"}}, "output_ports": {"p": {"value": "n"}}}}}}}})";
  const mdf::Model model(span_of(text));
  EXPECT_EQ(error_of([&] {
              model.run({.steps = 2, .initial = {{"A.n", Tensor()}}});
            }),
            "initial: 'A.n' is an undefined tensor");
  EXPECT_EQ(error_of([&] {
              model.run({.set = {{"A.n", Tensor()}}});
            }),
            "set: 'A.n' is an undefined tensor");
  EXPECT_THAT(error_of([&] { model.run({.steps = INT64_MAX}); }),
              HasSubstr("expected 0 to 9223372036854775806"));
}

TEST(PublicNames, ACustomOpAsksForNoNegativeShape) {
  const CustomOp op{.domain = "my.tests", .name = "Odd", .run = [](CustomCall& c) {
                      c.output(0, DType::f32, {-3});
                    }};
  register_op(op);
  auto model = onnx::model_of(21, "g (float[2] a) => (float[k] y) { y = my.tests.Odd (a) }");
  auto* own = model.add_opset_import();
  own->set_domain("my.tests");
  own->set_version(1);
  const std::string bytes = model.SerializeAsString();
  const Session s(span_of(bytes));
  EXPECT_THAT(error_of([&] {
                s.run({{"a", Tensor::zeros(DType::f32, {2})}});
              }),
              HasSubstr("f32[-3] has a negative extent"));
  unregister_op("my.tests", "Odd");
  EXPECT_THAT(error_of([] { register_op({.domain = "my.tests", .name = "Odd"}); }),
              HasSubstr("has neither a kernel nor a body; it needs one of them"));
}

TEST(PublicNames, WhatIsNoPath) {
  const std::string bytes = bytes_of(adding);
  const std::string error = error_of([&] { Session(std::filesystem::path(bytes)); });
  EXPECT_THAT(error, AllOf(HasSubstr("cannot read '\\x08"), HasSubstr("there is no such file"),
                           HasSubstr("std::as_bytes(std::span(text))")));
  EXPECT_EQ(error_of([] { Session("none.onnx"); }),
            "cannot read 'none.onnx': there is no such file");
  EXPECT_EQ(error_of([] { Session("/"); }), "cannot read '/': it is not a file");
}

TEST(PublicNames, WhatEndsARunIsNamed) {
  const Session s = session_of(counting_without_end);
  RunOptions asked;
  asked.interrupted = [] { return true; };
  const auto run = [&] {
    s.run({{"most", Tensor::scalar(INT64_MAX)}, {"x", Tensor::zeros(DType::f32, {2})}}, asked);
  };
  EXPECT_THAT(error_of(run, Blame::cancelled), HasSubstr("ended by its `interrupted` function"));
}

/// The thread that asks keeps all deadlines; another run begins and ends while it asks.
TEST(PublicNames, WhatEndsARunMayRunSomething) {
  const Session endless = session_of(counting_without_end), short_one = session_of(adding);
  RunOptions asked;
  asked.interrupted = [&] {
    RunOptions soon;
    soon.deadline = 10;
    short_one.run({{"x", x}, {"n", n}}, soon);
    return true;
  };
  const auto run = [&] {
    endless.run({{"most", Tensor::scalar(INT64_MAX)}, {"x", Tensor::zeros(DType::f32, {2})}},
                asked);
  };
  EXPECT_THAT(error_of(run, Blame::cancelled), HasSubstr("ended by its `interrupted` function"));
}

TEST(PublicNames, OutputsAskedFor) {
  const std::vector<std::string> wanted{"z"};
  EXPECT_THAT(error_of([&] {
                session_of(adding).run(wanted, {{"x", x}, {"n", n}});
              }),
              HasSubstr("there is no output 'z'; the outputs are 'y'"));
}

TEST(PublicNames, OptionsOutOfRange) {
  SessionOptions trips, threads, cond, level;
  level.graph_optimization_level = 50;
  trips.max_trips = -1;
  threads.intra_op_num_threads = -2;
  cond.loop_cond = "maybe";
  for (const auto& [options, text] :
       {std::pair(trips, "SessionOptions.max_trips is -1; expected 0 or more"),
        std::pair(threads, "SessionOptions.intra_op_num_threads is -2; expected 0"),
        std::pair(level, "SessionOptions.graph_optimization_level is 50; expected 0 (none), 1"),
        std::pair(cond, "SessionOptions.loop_cond is 'maybe'; expected 'spec' or 'honour'")}) {
    EXPECT_THAT(error_of([&] { session_of(adding, options); }), HasSubstr(text));
    EXPECT_THAT(error_of([&] { inspect(span_of(bytes_of(adding)), options); }), HasSubstr(text));
  }
  RunOptions late;
  late.deadline = -1;
  EXPECT_THAT(error_of([&] {
                session_of(adding).run({{"x", x}, {"n", n}}, late);
              }),
              HasSubstr("RunOptions.deadline is -1"));
  ExportOptions old;
  old.least_opset = 5;
  EXPECT_THAT(error_of([&] { export_model(session_of(adding), old); }),
              HasSubstr("least_opset is 5; expected 11 to"));
}

constexpr const char* counting = R"(
  g (int64 most, float[2] x) => (float[2] y, float[a] items) {
    [count] y, items = Loop (most, , x) <body = b (int64 i, bool go, float[2] s)
        => (bool on, float[2] t, float item) {
      on = Identity (go)  t = OP (s, s)  item = ReduceSum <keepdims = 0> (t) }> })";

std::string counting_with(const std::string& op) {
  std::string text = counting;
  return text.replace(text.find("OP"), 2, op);
}

TEST(PublicNames, InspectSaysHowLoopsRun) {
  const ModelReport r = inspect(span_of(bytes_of(counting_with("Add"))));
  ASSERT_TRUE(r.runs());
  ASSERT_EQ(r.loops.size(), 1U);
  EXPECT_EQ(r.loops[0].name, "node 'count' (Loop)");
  EXPECT_EQ(r.loops[0].execution, "natively, as a whole");
  EXPECT_THAT(r.loops[0].states, ElementsAre("s: f32[2]"));
}

TEST(PublicNames, InspectShowsTheOutputsOfASession) {
  const std::string text =
      "g (float[n] x) => (float[k] y) { i = NonZero(x) j = Squeeze(i) y = Gather(x, j) }";
  EXPECT_EQ(inspect(span_of(bytes_of(text))).outputs[0].shape, session_of(text).outputs()[0].shape);
  EXPECT_EQ(session_of(text).outputs()[0].shape->at(0), "k");
}

TEST(PublicNames, InspectOfWhatWillNotRunSaysWhatTheFileSays) {
  const ModelReport r = inspect(span_of(bytes_of(counting_with("Frobnicate"))));
  EXPECT_FALSE(r.runs());
  ASSERT_EQ(r.findings.size(), 1U);
  EXPECT_THAT(r.findings[0].message, HasSubstr("op Frobnicate of ai.onnx, version 21"));
  ASSERT_EQ(r.inputs.size(), 2U);
  EXPECT_EQ(r.inputs[1].type, "tensor(float)");
  EXPECT_EQ(r.outputs.size(), 2U);
  EXPECT_EQ(r.opsets.at("ai.onnx"), 21);
  EXPECT_EQ(r.op_counts.at("Frobnicate"), 1);
  ASSERT_EQ(r.loops.size(), 1U);
  EXPECT_EQ(r.loops[0].source, "Loop");
  EXPECT_EQ(r.loops[0].bound, "a trip count from data");
  EXPECT_THAT(r.loops[0].states, ElementsAre("s: f32[2]"));
  EXPECT_THAT(r.loops[0].stacks, ElementsAre("item: f32[]"));
  EXPECT_EQ(r.loops[0].execution, "");
}

TEST(PublicNames, InspectNamesAFaultOnce) {
  onnx::pb::ModelProto m = onnx::model_of(21, adding);
  m.mutable_opset_import(0)->set_version(999);
  const std::string newer = m.SerializeAsString();
  const ModelReport r = inspect(span_of(newer));
  ASSERT_EQ(r.findings.size(), 1U);
  EXPECT_THAT(r.findings[0].message, AllOf(HasSubstr("version 999"), HasSubstr("newest")));
  EXPECT_EQ(r.inputs.size(), 2U);
  EXPECT_THAT(error_of([&] { inspect(span_of(newer.substr(0, 20))); }),
              HasSubstr("not an ONNX model"));
}

}  // namespace
}  // namespace rondel
