// Gradients of loops that only front ends other than ONNX make, against central differences.
#include "gradients/gradient.h"
#include "ir/text.h"
#include "passes/pipeline.h"
#include "session/from_graph.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace rondel {
namespace {

using Feeds = std::vector<std::pair<std::string, Tensor>>;

Session session_of(ir::Graph g) {
  g.input_names.clear();
  for (const ir::ValueId v : g.root().params) g.input_names.push_back(g.value(v).name);
  g.output_names.clear();
  g.declared_outputs.clear();
  for (std::size_t k = 0; k < g.root().results.size(); ++k) {
    g.output_names.push_back("y" + std::to_string(k));
    g.declared_outputs.push_back(g.value(g.root().results[k]).type);
  }
  return session::FromGraph::make(std::move(g), {}, {});
}

std::vector<Tensor> run(const Session& s, const Feeds& feeds) {
  std::vector<Tensor> results;
  const std::map<std::string, Value> given(feeds.begin(), feeds.end()), found = s.run(given);
  for (const PortInfo& output : s.outputs())
    results.push_back(found.at(output.name).tensor().packed());
  return results;
}

double sum_of_squares(const std::vector<Tensor>& results) {
  double sum = 0;
  for (const Tensor& t : results)
    for (std::int64_t i = 0; i < t.size(); ++i)
      sum += t.data_as<double>()[i] * t.data_as<double>()[i] / 2;
  return sum;
}

/// Adds the gradient of half the sum of squares of all results with respect to all float
/// parameters: the seeds are the results.
ir::Graph gradient_of(const std::string& text) {
  ir::Graph g = ir::parse(text);
  passes::run(passes::canonicalize(), g, {});
  gradients::GradientRequest request;
  request.targets = g.root().results;
  request.seed = g.root().results;
  for (const ir::ValueId v : g.root().params)
    if (is_float(g.value(v).type.dtype())) request.wrt.push_back(v);
  g.set_results({}, gradients::add_gradient(g, request));
  ir::verify(g);
  return g;
}

void check(const std::string& text, const std::map<std::string, Shape>& shapes,
           const std::map<std::string, std::int64_t>& numbers) {
  SCOPED_TRACE(text);
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(0.4, 1.3);
  Feeds feeds;
  ir::Graph g = ir::parse(text);
  for (const ir::ValueId v : g.root().params) {
    const std::string& name = g.value(v).name;
    if (const auto number = numbers.find(name); number != numbers.end()) {
      feeds.emplace_back(name, Tensor::scalar(number->second));
      continue;
    }
    const Tensor x(DType::f64, shapes.at(name));
    for (std::int64_t i = 0; i < x.size(); ++i) x.data_as<double>()[i] = uniform(random);
    feeds.emplace_back(name, x);
  }
  const Session forward = session_of(std::move(g)), reverse = session_of(gradient_of(text));
  const std::vector<Tensor> gradients = run(reverse, feeds);
  std::size_t next = 0;
  for (auto& [name, x] : feeds) {
    if (x.dtype() != DType::f64) continue;
    const Tensor gradient = gradients.at(next++);
    ASSERT_EQ(gradient.shape(), x.shape()) << name;
    for (std::int64_t i = 0; i < x.size(); ++i) {
      double& element = x.data_as<double>()[i];
      const double was = element, step = 1e-5;
      element = was + step;
      const double above = sum_of_squares(run(forward, feeds));
      element = was - step;
      const double below = sum_of_squares(run(forward, feeds));
      element = was;
      EXPECT_NEAR(gradient.data_as<double>()[i], (above - below) / (2 * step), 1e-6)
          << name << " element " << i;
    }
  }
}

TEST(LoopGradient, ScansAreReadInPart) {
  const std::string text = R"g(graph "g" (%n: i64[], %h: f64[2], %x: f64[6, 2], %z: f64[2, 7]) {
    %y, %s, _ = loop trips=%n states=(%h) scans=(%x, %z) axis_in=[0, 1] reverse_in=[0, 1] {
      body(%i, %go, %a, %e, %f) {
        %p = mul(%a, %e)
        %q = add(%p, %f)
        %t = sin(%q)
        yield go=%go states=(%t) items=(%p) } }
    yield %y, %s })g";
  for (const std::int64_t n : {0, 1, 4, 6})
    check(text, {{"h", {2}}, {"x", {6, 2}}, {"z", {2, 7}}}, {{"n", n}});
}

TEST(LoopGradient, ScansOfDifferentExtentsEndWithTheShortest) {
  check(R"g(graph "g" (%h: f64[2], %x: f64[6, 2], %z: f64[4, 2]) {
    %y, _ = loop states=(%h) scans=(%x, %z) reverse_in=[1, 0] {
      body(%i, %go, %a, %e, %f) {
        %p = mul(%a, %e)
        %q = add(%p, %f)
        %t = sin(%q)
        yield go=%go states=(%t) } }
    yield %y })g",
        {{"h", {2}}, {"x", {6, 2}}, {"z", {4, 2}}}, {});
}

TEST(LoopGradient, StacksWithExtentsOfTheirOwn) {
  const std::string text = R"g(graph "g" (%n: i64[], %l: i64[], %h: f64[2]) {
    %y, %s, %r, _ = loop trips=%n states=(%h) extents=(%l, %l) axis_out=[1, 0] reverse_out=[0, 1] {
      body(%i, %go, %a) {
        %t = sin(%a)
        %p = mul(%a, %t)
        yield go=%go states=(%t) items=(%p, %t) } }
    yield %s, %r })g";
  for (const std::int64_t n : {0, 2, 5}) check(text, {{"h", {2}}}, {{"n", n}, {"l", 5}});
}

TEST(LoopGradient, WeightsOfScansInBothDirections) {
  check(R"g(graph "g" (%h: f64[2, 3], %w: f64[3, 3], %x: f64[4, 2, 3], %z: f64[4, 2, 3]) {
    %y, %s, _ = loop states=(%h) scans=(%x, %z) reverse_in=[0, 1] reverse_out=[1] {
      body(%i, %go, %a, %e, %f) {
        %p = mat_mul(%e, %w)
        %q = mat_mul(%f, %w) transpose_b=1
        %r = mat_mul(%a, %w)
        %u = add(%p, %q)
        %v = add(%u, %r)
        %t = sin(%v)
        yield go=%go states=(%t) items=(%p) } }
    yield %y, %s })g",
        {{"h", {2, 3}}, {"w", {3, 3}}, {"x", {4, 2, 3}}, {"z", {4, 2, 3}}}, {});
}

TEST(LoopGradient, ProductsOfProductsThatBothAreStacked) {
  check(R"g(graph "g" (%x: f64[3, 2, 3], %z: f64[3, 2, 3]) {
    %w = constant value=f64[3, 3] {0.5, 1, 0, 0.25, -1, 1, 2, 0.5, -0.5}
    %y, _ = loop scans=(%x, %z) {
      body(%k, %go, %b, %a) {
        %p = mat_mul(%a, %w)
        %s = add(%p, %b)
        %o = mat_mul(%s, %w)
        yield go=%go items=(%o) } }
    yield %y })g",
        {{"x", {3, 2, 3}}, {"z", {3, 2, 3}}}, {});
}

TEST(LoopGradient, OperandsThatAllTripsShareStayInTheLoop) {
  check(R"g(graph "g" (%w: f64[2, 3], %v: f64[3, 2], %x: f64[4, 2, 2]) {
    %y, _ = loop scans=(%x) {
      body(%k, %go, %a) {
        %s = sin(%w)
        %u = mat_mul(%s, %v)
        %o = mul(%u, %a)
        yield go=%go items=(%o) } }
    yield %y })g",
        {{"w", {2, 3}}, {"v", {3, 2}}, {"x", {4, 2, 2}}}, {});
}

TEST(LoopGradient, AConditionEndsALoopOverAScan) {
  check(R"g(graph "g" (%n: i64[], %h: f64[], %x: f64[9]) {
    %yes = constant value=bool[] {true}
    %most = constant value=f64[] {3}
    %y, %s, _ = loop trips=%n go=%yes states=(%h) scans=(%x) {
      body(%i, %go, %a, %e) {
        %t = add(%a, %e)
        %q = mul(%t, %e)
        %on = less(%t, %most)
        yield go=%on states=(%t) items=(%q) } }
    yield %y, %s })g",
        {{"h", {}}, {"x", {9}}}, {{"n", 9}});
}

/// Each trip reads all tensors of a sequence, adds one and removes the first: the reverse trips
/// need the sequence as it was at the start of each trip.
TEST(LoopGradient, SequencesAsStates) {
  const std::string text = R"g(graph "g" (%n: i64[], %x: f64[2], %w: f64[2]) {
    %zero = constant value=i64[] {0}
    %list = sequence_construct(%w, %x, %w)
    %y, %rest, _ = loop trips=%n states=(%x, %list) {
      body(%i, %go, %a, %l) {
        %front = sequence_at(%l, %zero)
        %p = mul(%a, %front)
        %all = concat_from_sequence(%l) axis=0
        %s = sin(%all)
        %mean = reduce_mean(%s) keepdims=0
        %q = mul(%p, %mean)
        %t = sin(%q)
        %m = sequence_insert(%l, %t)
        %r = sequence_erase(%m, %zero)
        yield go=%go states=(%t, %r) } }
    %z = concat_from_sequence(%rest) axis=0
    yield %y, %z })g";
  for (const std::int64_t n : {0, 1, 2, 5}) check(text, {{"x", {2}}, {"w", {2}}}, {{"n", n}});
}

TEST(LoopGradient, ASequenceThatTheTripsRead) {
  check(R"g(graph "g" (%h: f64[2], %x: f64[4, 2]) {
    %rows = split_to_sequence(%x) keepdims=0
    %n = sequence_length(%rows)
    %y, _ = loop trips=%n states=(%h) {
      body(%i, %go, %a) {
        %row = sequence_at(%rows, %i)
        %other = sequence_erase(%rows)
        %joined = concat_from_sequence(%other) axis=0 new_axis=1
        %mean = reduce_mean(%joined) keepdims=0
        %p = mul(%a, %row)
        %q = mul(%p, %mean)
        %t = sin(%q)
        yield go=%go states=(%t) } }
    yield %y })g",
        {{"h", {2}}, {"x", {4, 2}}}, {});
}

}  // namespace
}  // namespace rondel
