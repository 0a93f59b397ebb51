// A network and the equivalent ONNX model (its twin) become the same graph, so they run at the same
// speed.
#include "frontends/network/lower.h"
#include "network/net.h"
#include "onnx/models.h"
#include "passes/pipeline.h"

#include <regex>

namespace rondel::network {
namespace {

/// A graph's text after the passes, without the intended differences of the front ends: names,
/// sources, declared types of outputs, and the attribute `fixed` (the states of an ONNX Loop may
/// change shape, recurrences may not).
std::string structure(ir::Graph g) {
  passes::run_pipelines(g, {}, {.verify = true});
  for (std::size_t v = 0; v < g.value_count(); ++v) g.value(static_cast<ir::ValueId>(v)).name = "";
  g.name = "";
  g.declared_outputs.assign(g.root().results.size(), {});
  const std::string text = ir::to_text(g, {.sources = false});
  return std::regex_replace(text, std::regex(" fixed=\\[[01, ]*\\]"), "");
}

void expect_twins(const Net& n, const std::string& onnx) {
  EXPECT_EQ(structure(lower(n)), structure(onnx::import_graph(21, onnx).graph));
}

TEST(NetworkTwin, of_a_counting_loop) {
  Net n;
  ITensor& trips = n.in("t", DataType::kINT64, Dims{});
  ITensor& j = n.in("j", DataType::kINT64, Dims{});
  ITensor& k = n.in("k", DataType::kINT64, Dims{});
  ILoop* loop = n.counted(trips);
  ITensor& i = n.counter(loop, j, k);
  n.out(*loop->addLoopOutput(i, LoopOutput::kLAST_VALUE)->getOutput(0), "last");
  n.out(*loop->addLoopOutput(i, LoopOutput::kCONCATENATE)->getOutput(0), "all");
  expect_twins(n, R"(g (int64 t, int64 j, int64 k) => (int64 last, int64[n] all) {
    last, all = Loop (t, "", j) <body = b (int64 trip, bool go, int64 i) => (bool on, int64 next, int64 item) {
      next = Add (i, k)
      on = Identity (go)
      item = Identity (i)
    }>
  })");
}

TEST(NetworkTwin, of_a_while_loop) {
  Net n;
  ITensor& first = n.in("first", DataType::kFLOAT, Dims{});
  ITensor& most = n.in("most", DataType::kFLOAT, Dims{});
  ILoop* loop = n.addLoop();
  ITensor& x = n.counter(loop, first, first);
  loop->addTripLimit(n.less(x, most), TripLimit::kWHILE);
  n.out(*loop->addLoopOutput(x, LoopOutput::kLAST_VALUE)->getOutput(0), "last");
  expect_twins(n, R"(g (float first, float most) => (float last) {
    go = Less (first, most)
    last = Loop ("", go, first) <body = b (int64 trip, bool go_in, float x) => (bool on, float next) {
      next = Add (x, first)
      on = Less (next, most)
    }>
  })");
}

TEST(NetworkTwin, of_a_loop_of_both_limits) {
  Net n;
  ITensor& first = n.in("first", DataType::kFLOAT, Dims{});
  ITensor& most = n.in("most", DataType::kFLOAT, Dims{});
  ILoop* loop = n.counted(n.in("t", DataType::kINT64, Dims{}));
  ITensor& x = n.counter(loop, first, first);
  loop->addTripLimit(n.less(x, most), TripLimit::kWHILE);
  n.out(*loop->addLoopOutput(x, LoopOutput::kLAST_VALUE)->getOutput(0), "last");
  expect_twins(n, R"(g (float first, float most, int64 t) => (float last) {
    go = Less (first, most)
    last = Loop (t, go, first) <body = b (int64 trip, bool go_in, float x) => (bool on, float next) {
      next = Add (x, first)
      on = Less (next, most)
    }>
  })");
}

/// An RNN cell over a sequence, forward and backward.
TEST(NetworkTwin, of_a_scan) {
  Net n;
  ITensor& x = n.in("x", DataType::kFLOAT, Dims3{7, 2, 3});
  ITensor& w = n.in("w", DataType::kFLOAT, Dims2{3, 4});
  ITensor& r = n.in("r", DataType::kFLOAT, Dims2{4, 4});
  ITensor& h0 = n.in("h0", DataType::kFLOAT, Dims2{2, 4});
  ILoop* loop = n.counted(n.i64(7));
  IRecurrenceLayer* h = loop->addRecurrence(h0);
  ITensor& step = *loop->addIterator(x, 0, true)->getOutput(0);
  const auto product = [&](ITensor& a, ITensor& b) -> ITensor& {
    return *n.addMatrixMultiply(a, MatrixOperation::kNONE, b, MatrixOperation::kNONE)->getOutput(0);
  };
  ITensor& p = product(step, w);
  ITensor& q = product(*h->getOutput(0), r);
  ITensor& next = *n.addActivation(n.add(p, q), ActivationType::kTANH)->getOutput(0);
  h->setInput(1, next);
  n.out(*loop->addLoopOutput(*h->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "last");
  n.out(*loop->addLoopOutput(next, LoopOutput::kREVERSE, 1)->getOutput(0), "all");
  expect_twins(n, R"(g (float[7, 2, 3] x, float[3, 4] w, float[4, 4] r, float[2, 4] h0)
      => (float[2, 4] last, float[2, 7, 4] all) {
    last, all = Scan <num_scan_inputs = 1, scan_input_directions = [1], scan_output_axes = [1],
        scan_output_directions = [1], body = b (float[2, 4] h, float[2, 3] step) => (float[2, 4] next, float[2, 4] item) {
      p = MatMul (step, w)
      q = MatMul (h, r)
      sum = Add (p, q)
      next = Tanh (sum)
      item = Identity (next)
    }> (h0, x)
  })");
}

/// The trip count is the extent of the iterator's tensor, read from its shape as TensorRT's users
/// do.
TEST(NetworkTwin, of_a_scan_that_counts_its_trips) {
  Net n;
  ITensor& x = n.in("x", DataType::kFLOAT, Dims2{-1, 3});
  ITensor& h0 = n.in("h0", DataType::kFLOAT, Dims{1, {3}});
  ITensor& shape = *n.addShape(x)->getOutput(0);
  IShuffleLayer* first = n.addShuffle(
      *n.addSlice(shape, Dims{1, {0}}, Dims{1, {1}}, Dims{1, {1}})->getOutput(0));
  first->setReshapeDimensions(Dims{});
  ILoop* loop = n.counted(*first->getOutput(0));
  ITensor& step = *loop->addIterator(x)->getOutput(0);
  ITensor& back = *loop->addIterator(x, 0, true)->getOutput(0);
  IRecurrenceLayer* h = loop->addRecurrence(h0);
  ITensor& next = n.add(n.mul(*h->getOutput(0), back), step);
  h->setInput(1, next);
  n.out(*loop->addLoopOutput(*h->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "last");
  n.out(*loop->addLoopOutput(next, LoopOutput::kCONCATENATE, 1)->getOutput(0), "all");
  expect_twins(n, R"(g (float[?, 3] x, float[3] h0) => (float[3] last, float[3, ?] all) {
    last, all = Scan <num_scan_inputs = 2, scan_input_directions = [0, 1], scan_output_axes = [1],
        body = b (float[3] h, float[3] step, float[3] back) => (float[3] next, float[3] item) {
      p = Mul (h, back)
      next = Add (p, step)
      item = Identity (next)
    }> (h0, x, x)
  })");
}

TEST(NetworkTwin, of_a_nest_with_a_choice) {
  Net n;
  ITensor& t = n.in("t", DataType::kINT64, Dims{});
  ITensor& a = n.in("a", DataType::kFLOAT, Dims{});
  ILoop* outer = n.counted(t);
  IRecurrenceLayer* s = outer->addRecurrence(a);
  ILoop* inner = n.counted(t);
  ITensor& y = n.counter(inner, *s->getOutput(0), a);
  ITensor& inner_last = *inner->addLoopOutput(y, LoopOutput::kLAST_VALUE)->getOutput(0);
  IIfConditional* c = n.addIfConditional();
  c->setCondition(n.less(inner_last, a));
  ITensor& seen = *c->addInput(inner_last)->getOutput(0);
  ITensor& twice = n.add(seen, seen);
  ITensor& squared = n.mul(seen, seen);
  s->setInput(1, *c->addOutput(twice, squared)->getOutput(0));
  n.out(*outer->addLoopOutput(*s->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "last");
  expect_twins(n, R"(g (int64 t, float a) => (float last) {
    last = Loop (t, "", a) <body = o (int64 i, bool go, float s) => (bool on, float next) {
      last_in = Loop (t, "", s) <body = b (int64 j, bool go_in, float y) => (bool on_in, float y_next) {
        y_next = Add (y, a)
        on_in = Identity (go_in)
      }>
      small = Less (last_in, a)
      next = If (small) <
        then_branch = p () => (float twice) { twice = Add (last_in, last_in) },
        else_branch = q () => (float squared) { squared = Mul (last_in, last_in) }>
      on = Identity (go)
    }>
  })");
}

}  // namespace
}  // namespace rondel::network
