#include "ops/op_test.h"

#include <gtest/gtest.h>

#include <complex>
#include <limits>

namespace rondel::test {
namespace {

TEST(Unique, GivesEachOnce) {
  check_ops(R"(
    unique x=[2, 1, 1, 3, 2] -> [1, 2, 3] & i64[1, 0, 3] & i64[1, 0, 0, 2, 1] & i64[2, 2, 1]
    unique x=[2, 1, 1, 3, 2]; sorted=0 -> [2, 1, 3] & i64[0, 1, 3] & i64[0, 1, 1, 2, 0] & i64[2, 2, 1]
    unique x=i64[[3, -1], [-1, 3]] -> i64[-1, 3] & i64[1, 0] & i64[1, 0, 0, 1]
    unique x=u8[200, 100] -> u8[100, 200]
    unique x=str['b', 'a', 'b'] -> str['a', 'b'] & i64[1, 0] & i64[1, 0, 1] & i64[1, 2]
    unique x=bool[1, 0, 1] -> bool[0, 1]
    unique x=5 -> [5] & i64[0] & i64[0] & i64[1]
    unique x=f32(0) -> f32(0) & i64(0) & i64(0) & i64(0)
    unique x=f32(2, 0); axis=0 -> f32(1, 0) & i64[0] & i64[0, 0] & i64[2]
  )");
}

TEST(Unique, ComparesSlices) {
  check_ops(R"(
    unique x=[[1, 0, 0], [1, 0, 0], [2, 3, 4]]; axis=0 -> [[1, 0, 0], [2, 3, 4]] & i64[0, 2] & i64[0, 0, 1] & i64[2, 1]
    unique x=[[2, 1, 2], [0, 5, 0]]; axis=-1 -> [[1, 2], [5, 0]] & i64[1, 0] & i64[1, 0, 1] & i64[1, 2]
    unique x=[[[1, 1], [0, 1]], [[1, 1], [0, 1]]]; axis=1 sorted=0 -> [[[1, 1], [0, 1]], [[1, 1], [0, 1]]] & i64[0, 1]
    unique x=[1]; axis=1 -> error: axis 1
    unique x=f8e5m2[1] -> error: f8e5m2
  )");
}

TEST(Unique, NanEqualsNothingAndTheZerosEachOther) {
  check_ops(R"(
    unique x=[nan, -0, nan, 0] -> [-0, nan, nan] & i64[1, 0, 2] & i64[1, 0, 2, 0] & i64[2, 1, 1]
    unique x=f16[[nan, 1], [nan, 1], [0, 1], [-0, 1]]; axis=0 sorted=0 -> f16[[nan, 1], [nan, 1], [0, 1]] & i64[0, 1, 2] & i64[0, 1, 2, 2]
  )");
}

TEST(Unique, OfComplexNumbers) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(),
                  inf = std::numeric_limits<float>::infinity();
  const std::vector<std::complex<float>> all{{1, nan}, {1, 2}, {inf, 0}, {1, -2},   {1, nan},
                                             {1, 2},   {0, 0}, {inf, 0}, {-0.0F, 0}};
  const Tensor x(DType::c64, {static_cast<std::int64_t>(all.size())});
  std::copy(all.begin(), all.end(), x.data_as<std::complex<float>>());
  const auto y = run_op({"unique", {x}, {}}, 4);
  EXPECT_EQ(to_text(y[1].tensor()), to_text(tensor("i64[6, 3, 1, 0, 4, 2]")));
  EXPECT_EQ(to_text(y[2].tensor()), to_text(tensor("i64[3, 2, 5, 1, 4, 2, 0, 5, 0]")));
}

}  // namespace
}  // namespace rondel::test
