#include "onnx/models.h"

#include <rondel/deepx.h>
#include <rondel/session.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

/// Trips allocate nothing once they are warm, and appending to a list does not copy the list.
/// Blocks of a run's memory count, too, because each has an owner on the heap.
namespace {

thread_local std::int64_t allocations = 0;
thread_local std::int64_t allocated_bytes = 0;

void* counted(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) {
  ++allocations;
  allocated_bytes += static_cast<std::int64_t>(bytes);
  void* p = std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace

void* operator new(std::size_t n) { return counted(n); }
void* operator new[](std::size_t n) { return counted(n); }
void* operator new(std::size_t n, std::align_val_t a) {
  return counted(n, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t n, std::align_val_t a) {
  return counted(n, static_cast<std::size_t>(a));
}
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return counted(n); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return counted(n); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace rondel {
namespace {

/// A session that runs all programs as native code.
Session compiled(const std::string& graph) {
  const std::string bytes = onnx::model_of(21, graph).SerializeAsString();
  ::setenv("RONDEL_JIT", "2", 1);
  SessionOptions options;
  options.graph_optimization_level = 0;  // one step per node
  Session session(std::as_bytes(std::span(bytes.data(), bytes.size())), options);
  ::unsetenv("RONDEL_JIT");
  return session;
}

/// A loop of n trips that runs step by step, because it carries a list. The `lines` of its body
/// compute `next`, f32[4], from the state `x`, and the `items` that become `stacks`.
std::string stepping(const std::string& lines, const std::string& items = "",
                     const std::string& stacks = "") {
  return "g (int64 n, float[4] x0, float[64] w) => (float[4] y" + stacks +
         ") <int64 few = {3}, int64[1] first = {0}, int64[1] one = {1}, float half = {0.5}, "
         "bool yes = {1}> { list = SequenceEmpty <dtype = 1> () y, rest" +
         (items.empty() ? "" : ", items") +
         " = Loop (n, , x0, list) <body = b (int64 i, bool go, float[4] x, seq(float) l) "
         "=> (bool on, float[4] next, seq(float) same" +
         items + ") { on = Identity (go) same = Identity (l) " + lines + " }> }";
}

/// How many more allocations 400 warm trips make than 100 do.
std::int64_t allocations_of_trips(const std::string& graph) {
  const Session session = compiled(graph);
  const auto run = [&](std::int64_t n) {
    const std::int64_t before = allocations;
    session.run({{"n", Tensor::scalar(n)},
                 {"x0", Tensor::zeros(DType::f32, {4})},
                 {"w", Tensor::zeros(DType::f32, {64})}});
    return allocations - before;
  };
  for (const std::int64_t n : {400, 100, 400, 100}) run(n);
  return run(400) - run(100);
}

TEST(Allocations, ATripOfProgramsMakesNone) {
  EXPECT_EQ(allocations_of_trips(stepping("a = Add (x, half) b = Mul (a, x) next = Sub (b, a)")),
            0);
}

TEST(Allocations, ViewsMakeNone) {
  EXPECT_EQ(allocations_of_trips(stepping("a = Unsqueeze (x, first) b = Transpose (a) "
                                          "c = Squeeze (b, one) next = Neg (c)")),
            0);
}

TEST(Allocations, ReductionsMakeNone) {
  EXPECT_EQ(allocations_of_trips(stepping("a = ReduceSum <keepdims = 0> (w) next = Add (x, a)")),
            0);
}

TEST(Allocations, ShapesInTurnMakeNone) {
  EXPECT_EQ(allocations_of_trips(stepping(
                "two = Add (one, one) at = Unsqueeze (i, first) turn = Mod (at, two) "
                "extent = Add (turn, two) part = Slice (w, first, extent) twice = Add (part, part) "
                "a = ReduceSum <keepdims = 0> (twice) next = Add (x, a)")),
            0);
}

/// A loop whose trips have twelve shapes in turn, more than a step caches. Each of the `steps` is
/// `link`, from {a} to {b}.
std::string with_changing_shapes(int steps, const std::string& link) {
  std::string lines =
      "turns = Constant <value_ints = [12]> () at = Unsqueeze (i, first) "
      "turn = Mod (at, turns) extent = Add (turn, one) "
      "v0 = Slice (w, first, extent) ";
  for (int k = 0; k < steps; ++k)
    lines += fmt::format(fmt::runtime(link), fmt::arg("a", fmt::format("v{}", k)),
                         fmt::arg("b", fmt::format("v{}", k + 1)), fmt::arg("k", k));
  return stepping(lines +
                  fmt::format("a = ReduceSum <keepdims = 0> (v{}) next = Add (x, a)", steps));
}

/// How many allocations each of eight steps makes if shapes change.
std::int64_t allocations_of_steps_with_changing_shapes(const std::string& link) {
  return allocations_of_trips(with_changing_shapes(9, link)) -
         allocations_of_trips(with_changing_shapes(1, link));
}

TEST(Allocations, AStepMakesNoneForAShapeOfAKnownClass) {
  EXPECT_EQ(allocations_of_steps_with_changing_shapes("{b} = Add ({a}, half) "), 0);
}

TEST(Allocations, EnteringALoopMakesNoneForAShapeOfAKnownClass) {
  EXPECT_EQ(allocations_of_steps_with_changing_shapes(
                "{b} = Loop (few, , {a}) <body = b{k} (int64 j{k}, bool c{k}, float[E] u{k}) => "
                "(bool d{k}, float[E] w{k}) {{ d{k} = Identity (c{k}) t{k} = Concat <axis = 0> "
                "(u{k}, u{k}) s{k} = CumSum (t{k}, first) z{k} = ReduceMax <keepdims = 0> (s{k}) "
                "w{k} = Sub (u{k}, z{k}) }}> "),
            0);
}

TEST(Allocations, AnIfMakesNoneForAShapeOfAKnownClass) {
  EXPECT_EQ(allocations_of_steps_with_changing_shapes(
                "{b} = If (go) <then_branch = t{k} () => (float[E] p{k}) {{ p{k} = Add ({a}, half) "
                "}}, else_branch = e{k} () => (float[E] q{k}) {{ q{k} = Sub ({a}, half) }}> "),
            0);
}

TEST(Allocations, BranchesMakeNone) {
  EXPECT_EQ(allocations_of_trips(stepping(
                "two = Constant <value_int = 2> () odd = Mod (i, two) c = Cast <to = 9> (odd) "
                "next = If (c) <then_branch = t () => (float[4] p) { p = Add (x, half) }, "
                "else_branch = e () => (float[4] q) { r = Add (x, x) q = Sub (r, half) }>")),
            0);
}

TEST(Allocations, ItemsMakeNone) {
  EXPECT_EQ(allocations_of_trips(stepping("next = Add (x, half) item = Mul (x, x)",
                                          ", float[4] item", ", float[n, 4] items")),
            0);
}

constexpr const char* inner =
    "next = Loop (few, , x) <body = b2 (int64 j, bool c, float[4] u) => "
    "(bool d, float[4] v) { d = Identity (c) v = Mul (u, half) }>";

TEST(Allocations, EnteringANativeLoopMakesNone) {
  EXPECT_EQ(allocations_of_trips(stepping(inner)), 0);
}

TEST(Allocations, EnteringANativeLoopWithStacksAndTemporariesMakesNone) {
  EXPECT_EQ(
      allocations_of_trips(stepping(
          "last, items = Loop (few, , x) <body = b2 (int64 j, bool c, float[4] u) => "
          "(bool d, float[4] v, float[4] item) { d = Identity (c) s = ReduceSum <keepdims = 0> (u) "
          "h = Div (u, s) t = Transpose (w) m = ReduceMax <keepdims = 0> (t) v = Add (h, m) "
          "item = Sub (v, u) }> sum = ReduceSum <keepdims = 0> (items, first) next = Add (sum, "
          "last)")),
      0);
}

TEST(Allocations, EnteringANativeLoopOfUncertainLengthMakesNone) {
  EXPECT_EQ(allocations_of_trips(stepping(
                "next, items = Loop (few, yes, x) <body = b2 (int64 j, bool c, float[4] u) => "
                "(bool d, float[4] v, float item) { v = Mul (u, half) item = ReduceSum <keepdims = "
                "0> (v) "
                "d = Greater (item, half) }>")),
            0);
}

TEST(Allocations, EnteringALoopThatRunsStepByStepMakesNone) {
  EXPECT_EQ(
      allocations_of_trips(stepping("next, rest2 = Loop (few, , x, l) "
                                    "<body = b2 (int64 j, bool c, float[4] u, seq(float) k) => "
                                    "(bool d, float[4] v, seq(float) m) "
                                    "{ d = Identity (c) v = Mul (u, half) m = Identity (k) }>")),
      0);
}

/// Each of n trips makes a list `t` from the list `s` with `lines`. The result is how many more
/// bytes 4,000 trips allocate than 1,000 do: 3 times as much as 1,000 trips if the cost of a trip
/// does not depend on the length of the list; 15 times or more if each trip copies the list.
double growth_of_appending(const std::string& lines) {
  const Session session = compiled(
      "g (int64 n, float[4] x) => (seq(float[4]) q) <int64 few = {2}> { none = SequenceEmpty "
      "<dtype = 1> () q = Loop (n, , none) <body = b (int64 i, bool go, seq(float[4]) s) => "
      "(bool on, seq(float[4]) t) { on = Identity (go) " +
      lines + " }> }");
  const auto run = [&](std::int64_t n) {
    const std::int64_t before = allocated_bytes;
    session.run({{"n", Tensor::scalar(n)}, {"x", Tensor::zeros(DType::f32, {4})}});
    return static_cast<double>(allocated_bytes - before);
  };
  for (const std::int64_t n : {1000, 4000}) run(n);
  const double shorter = run(1000);
  return (run(4000) - shorter) / shorter;
}

TEST(Appending, CostsTheSameHoweverLongTheListIs) {
  EXPECT_LT(growth_of_appending("t = SequenceInsert (s, x)"), 6);
}

TEST(Appending, CostsTheSameUnderACondition) {
  EXPECT_LT(growth_of_appending(
                "odd = Mod (i, few) c = Cast <to = 9> (odd) "
                "t = If (c) <then_branch = yes () => (seq(float[4]) p) { p = SequenceInsert (s, x) "
                "}, else_branch = no () => (seq(float[4]) r) { r = Identity (s) }>"),
            6);
}

TEST(Appending, CostsTheSameInAnInnerLoop) {
  EXPECT_LT(growth_of_appending(
                "t = Loop (few, , s) <body = b2 (int64 j, bool c, seq(float[4]) u) => "
                "(bool d, seq(float[4]) v) { d = Identity (c) v = SequenceInsert (u, x) }>"),
            6);
}

TEST(Appending, CostsTheSameWhereItemsAreTakenOffToo) {
  EXPECT_LT(growth_of_appending("p = SequenceInsert (s, x) r = SequenceInsert (p, x) "
                                "t = SequenceErase (r)"),
            6);
}

/// The cost of a line at a prompt that has run before does not grow with the nodes of its graph:
/// the backward line of `pow` has twenty nodes, that of `sub` three.
TEST(Allocations, AKnownLineIsNoGraphAgain) {
  deepx::Session session;
  session.run(
      "newtensor@float32 [4]->a\nnewtensor@float32 [4]->b\nnewtensor@float32 [4]->c\n"
      "newtensor@float32 [4]->a_grad\nnewtensor@float32 [4]->b_grad\n"
      "newtensor@float32 [4]->c_grad\nadd_scalar a 1->a\nadd_scalar b 1->b\n"
      "add_scalar c_grad 1->c_grad\nsub a b<-c\npow a b<-c\n");
  const auto allocations_of = [&](const std::string& line) {
    for (int k = 0; k < 3; ++k) session.run(line);
    const std::int64_t before = allocations;
    session.run(line);
    return allocations - before;
  };
  EXPECT_LT(allocations_of("pow a b<-c"), allocations_of("sub a b<-c") + 20);
}

}  // namespace
}  // namespace rondel
