#include "ops/op_test.h"

#include <gtest/gtest.h>

#include <complex>

namespace rondel::test {
namespace {

TEST(NonZero, GivesIndicesInRowMajorOrder) {
  check_ops(R"(
    non_zero x=[[0, 3, -0], [4, 0, nan]] -> i64[[0, 1, 1], [1, 0, 2]]
    non_zero x=f64[0, -0, 1e-300] -> i64[[2]]
    non_zero x=f16[0, -0, 1] -> i64[[2]]
    non_zero x=bool[[[1], [0]], [[0], [1]]] -> i64[[0, 1], [0, 1], [0, 0]]
    non_zero x=i8[0, -1] -> i64[[1]]
    non_zero x=i64[0, 4294967296] -> i64[[1]]
    non_zero x=f32(0) -> i64(1,0)
    non_zero x=f32(2,3) -> i64(2,0)
  )");
}

TEST(NonZero, OfAScalarHasNoRow) {
  EXPECT_EQ(run_op({"non_zero", {Tensor::scalar(5.0F)}, {}})[0].tensor().shape(), (Shape{0, 1}));
  EXPECT_EQ(run_op({"non_zero", {Tensor::scalar(0.0F)}, {}})[0].tensor().shape(), (Shape{0, 0}));
}

template <class T> std::vector<std::int64_t> found(DType dtype, const std::vector<T>& values) {
  const Tensor x(dtype, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), x.data_as<T>());
  const Tensor y = run_op({"non_zero", {x}, {}})[0].tensor();
  return {y.data_as<std::int64_t>(), y.data_as<std::int64_t>() + y.size()};
}

TEST(NonZero, TakesComplexNumbersNarrowFloatsAndText) {
  EXPECT_EQ(found<std::complex<float>>(DType::c64, {{0, -0.0F}, {0, 1}, {2, 0}}),
            (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(found<std::complex<double>>(DType::c128, {{0, -0.0}, {0, 1}, {2, 0}}),
            (std::vector<std::int64_t>{1, 2}));
  for (const DType t : {DType::f8e4m3fn, DType::f8e5m2})
    EXPECT_EQ(found<std::uint8_t>(t, {0, 0x80, 1}), (std::vector<std::int64_t>{2}));
  for (const DType t : {DType::f8e4m3fnuz, DType::f8e5m2fnuz})  // 0x80 is NaN there
    EXPECT_EQ(found<std::uint8_t>(t, {0, 0x80}), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(found<std::uint8_t>(DType::f4e2m1, {0, 8, 9}), (std::vector<std::int64_t>{2}));
  EXPECT_EQ(found<std::uint8_t>(DType::f8e8m0, {0, 1}), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(found<std::string>(DType::string, {"", "a"}), (std::vector<std::int64_t>{1}));
}

}  // namespace
}  // namespace rondel::test
