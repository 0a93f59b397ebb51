#include "session/sessions.h"

#include <rondel/session.h>

#include <gmock/gmock.h>

#include <numeric>

/// Steps whose results are written over inputs that nothing reads any more.
namespace rondel {
namespace {

Tensor numbers(Shape shape) {
  Tensor t(DType::f32, std::move(shape));
  std::iota(t.data_as<float>(), t.data_as<float>() + t.size(), 1.0F);
  return t;
}

/// `z` has a block of its own, which dies after the last step that reads it.
constexpr const char* made =
    "z = If (yes) <then_branch = t () => (float[n, n] c) { c = CumSum (x, axis) }, "
    "              else_branch = e () => (float[n, n] d) { d = Neg (x) }> ";

Session reading_z(const std::string& nodes, const SessionOptions& options) {
  return session_of(
      "g (float[n, n] x, bool yes, int64[n] rows) => (float[n, n] y) <int64 axis = {0}, float two "
      "= {2}> {" +
          std::string(made) + nodes + "}",
      options);
}

const Tensor yes = Tensor::scalar(true);
const Tensor rows = Tensor::from<std::int64_t>({2}, {1, 0});

struct Case {
  const char* name;
  const char* reads;          ///< nodes that read z, a float[n, n], and compute y
  std::vector<float> y = {};  ///< for z = [[1, 2], [4, 6]]
};

class InPlace : public ::testing::TestWithParam<Case> {};

TEST_P(InPlace, ElementsAreReadBeforeTheyAreWrittenOver) {
  for (const bool jit : {true, false}) {
    SessionOptions options;
    options.jit = jit;
    const Session s = reading_z(GetParam().reads, options);
    for (int run = 0; run < 2; ++run)
      EXPECT_EQ(floats(s.run({{"x", numbers({2, 2})}, {"yes", yes}, {"rows", rows}}).at("y")),
                GetParam().y)
          << jit;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Steps, InPlace,
    ::testing::Values(Case{"same_index", "y = Mul (z, two)", {2, 4, 8, 12}},
                      Case{"twice", "a = Mul (z, two) y = Add (a, z)", {3, 6, 12, 18}},
                      Case{"other_rows", "g = Gather (z, rows) y = Add (g, z)", {5, 8, 5, 8}},
                      Case{"transposed", "t = Transpose (z) y = Add (z, t)", {2, 6, 6, 12}},
                      Case{"two_results",
                           "a = Mul (z, two) b = Add (z, two) s = CumSum (b, axis) "
                           "y = Add (a, s)",
                           {5, 8, 17, 24}},
                      Case{"read_later",
                           "a = Mul (z, two) r = ReduceSum <keepdims = 0> (z) "
                           "y = Add (a, r)",
                           {15, 17, 21, 25}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(InPlaceMemory, AResultNeedsNoBlockBesideTheOneThatItIsWrittenOver) {
  constexpr std::int64_t n = 1024;
  SessionOptions options;
  options.max_memory_bytes = n * n * sizeof(float) + (std::size_t{64} << 10);
  const Session s = reading_z("y = Mul (z, two)", options);
  const Tensor x = numbers({n, n});
  EXPECT_EQ(floats(s.run({{"x", x}, {"yes", yes}, {"rows", Tensor(DType::i64, {n})}}).at("y"))[0],
            2);
  EXPECT_EQ(x.data_as<float>()[0], 1) << "feeds are never written";
}

}  // namespace
}  // namespace rondel
