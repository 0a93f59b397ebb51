#include "session/sessions.h"

#include <rondel/session.h>

#include <gtest/gtest.h>

#include <cstdlib>

/// Plans that a session makes for shapes that come again.
namespace rondel {
namespace {

/// A list whose items have two extents that no rule knows for all shapes, and a loop that reads it.
constexpr const char* graph = R"(
g (int64 n, float[A, B] x) => (float total) <float zero = {0}, int64[2] from = {0, 0}, int64[2] to = {99, 99}> {
  empty = SequenceEmpty <dtype = 1> ()
  last, all = Loop (n, "", x, empty) <body = b (int64 i, bool c, float[P, Q] u, seq(float) l) => (bool d, float[R, S] v, seq(float) m) {
    d = Identity (c)  p = Slice (u, from, to)  v = Sin (p)  m = SequenceInsert (l, v)
  }>
  total = Loop (n, "", zero) <body = e (int64 j, bool f, float acc) => (bool h, float sum) {
    h = Identity (f)  t = SequenceAt (all, j)  r = ReduceSum <keepdims = 0> (t)  sum = Add (acc, r)
  }>
})";

class PlansForShapes : public ::testing::Test {
 protected:
  PlansForShapes() {
    ::setenv("RONDEL_JIT", "2", 1);
    ::setenv("RONDEL_VERIFY", "1", 1);
  }
  ~PlansForShapes() override {
    ::unsetenv("RONDEL_JIT");
    ::unsetenv("RONDEL_VERIFY");
  }

  static Session session(const SessionOptions& options = {}) { return session_of(graph, options); }
  static float total(const Session& s, std::int64_t rows, std::int64_t columns) {
    Tensor x(DType::f32, {rows, columns});
    for (std::int64_t k = 0; k < x.size(); ++k)
      x.data_as<float>()[k] = static_cast<float>(k % 7) / 4;
    const auto y = s.run({{"n", Tensor::scalar(std::int64_t{3})}, {"x", x}});
    return *y.at("total").tensor().data_as<float>();
  }
  static bool steps(const Session& s) {
    for (const auto& [node, how] : s.how_it_ran())
      if (how.starts_with("step by step")) return true;
    return false;
  }
};

TEST_F(PlansForShapes, AreMadeForShapesThatComeAgain) {
  const Session s = session();
  const float first = total(s, 2, 3);
  EXPECT_TRUE(steps(s));
  EXPECT_EQ(total(s, 2, 3), first);
  EXPECT_EQ(total(s, 2, 3), first);
  EXPECT_FALSE(steps(s));
}

TEST_F(PlansForShapes, AreNotTakenForOtherShapes) {
  const Session s = session();
  SessionOptions interpreted;
  interpreted.jit = false;
  const Session oracle = session(interpreted);
  for (int k = 0; k < 3; ++k)
    for (const auto& [rows, columns] : {std::pair{2, 3}, {3, 2}, {6, 1}, {1, 1}, {120, 3}})
      EXPECT_EQ(total(s, rows, columns), total(oracle, rows, columns)) << rows << " x " << columns;
}

TEST_F(PlansForShapes, AreFewForOneSession) {
  const Session s = session();
  for (int rows = 2; rows < 12; ++rows) {
    for (int k = 0; k < 3; ++k) total(s, rows, 3);
    EXPECT_EQ(steps(s), rows >= 10) << rows;
  }
}

TEST_F(PlansForShapes, AreNotMadeWithoutOptimisation) {
  SessionOptions options;
  options.graph_optimization_level = 0;
  const Session s = session(options);
  for (int k = 0; k < 4; ++k) total(s, 2, 3);
  EXPECT_TRUE(steps(s));
}

}  // namespace
}  // namespace rondel
