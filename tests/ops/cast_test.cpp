#include "ops/op_test.h"

#include <gtest/gtest.h>

namespace rondel::test {
namespace {

TEST(Cast, Numbers) {
  check_ops(R"(
    cast x=[1.9, -1.9, nan, 3e9]; to=i32 -> i32[1, -1, 0, 2147483647]
    cast x=i32[300, -1]; to=u8 -> u8[44, 255]
    cast x=[0, 0.5, nan]; to=bool -> bool[false, true, true]
    cast x=bool[true, false]; to=f16 -> f16[1, 0]
    cast x=f64[1e300, 0.1]; to=f32 -> [inf, 0.1]
    cast x=bool[true]; to=bool -> bool[true]
    cast_like x=[1.5] like=i8[0, 0] -> i8[1]
  )");
}

TEST(Cast, Text) {
  check_ops(R"(
    cast x=[0.1, 1, 1e-07, nan, -inf]; to=str -> str['0.1', '1.0', '1e-07', 'NaN', '-INF']
    cast x=i8[-5, 7]; to=str -> str['-5', '7']
    cast x=u64[18446744073709551615]; to=str -> str['18446744073709551615']
    cast x=bool[true, false]; to=str -> str['True', 'False']
    cast x=str['3.14', '1e-5', '1E8', '+INF', '-inf', 'NaN', ' 7 ']; to=f32 -> [3.14, 1e-5, 1e8, inf, -inf, nan, 7]
    cast x=str['100.5', '-7', '9223372036854775807']; to=i64 -> i64[100, -7, 9223372036854775807]
    cast x=str['300']; to=u8 -> u8[44]
    cast x=str['true', '0', '2']; to=bool -> bool[true, false, true]
    cast x=str['0.5']; to=f16 -> f16[0.5]
    cast x=str['a']; to=str -> str['a']
    cast x=str['hello']; to=f32 -> error: 'hello' is not a number
  )");
}

TEST(Make, Constants) {
  check_ops(R"(
    constant_of_shape shape=i64[2, 3] -> f32(2,3)
    constant_of_shape shape=i64[] -> 0
    constant_of_shape shape=i64[0] -> f32(0)
    constant_of_shape shape=i64[-1] -> error: extent -1 is negative
    range start=1 limit=5 delta=2 -> [1, 3]
    range start=i32 10 limit=i32 6 delta=i32 -3 -> i32[10, 7]
    range start=i64[0] limit=i64[3] delta=i64[1] -> i64[0, 1, 2]
    range start=i64 3 limit=i64 0 delta=i64 1 -> i64(0)
    range start=f16 0 limit=f16 1 delta=f16 0.25 -> f16[0, 0.25, 0.5, 0.75]
    range start=i64 0 limit=i64 3 delta=i64 0 -> error: delta is 0
    range start=u64 5 limit=u64 2 delta=u64 1 -> u64(0)
    range start=u64 18446744073709551613 limit=u64 18446744073709551615 delta=u64 1 -> u64[18446744073709551613, 18446744073709551614]
    range start=u64 9223372036854775806 limit=u64 9223372036854775809 delta=u64 1 -> u64[9223372036854775806, 9223372036854775807, 9223372036854775808]
    range start=u64 1 limit=u64 18446744073709551615 delta=u64 9223372036854775808 -> u64[1, 9223372036854775809]
    range start=u64 9223372036854775809 limit=u64 7 delta=u64 1 -> u64(0)
    range start=u64 0 limit=u64 18446744073709551615 delta=u64 1 -> error: more elements than any tensor has
    range start=u64 7 limit=u64 0 delta=u64 0 -> error: delta is 0
    trilu x=[[1, 2], [3, 4]] -> [[1, 2], [0, 4]]
    trilu x=[[1, 2], [3, 4]]; upper=0 -> [[1, 0], [3, 4]]
    trilu x=i64[[1, 2, 3], [4, 5, 6]] k=i64 1 -> i64[[0, 2, 3], [0, 0, 6]]
    trilu x=[[1, 2], [3, 4]] k=i64 -1; upper=0 -> [[0, 0], [3, 0]]
    eye_like x=f32(2,3) -> [[1, 0, 0], [0, 1, 0]]
    eye_like x=f32(2,2); dtype=i32 k=1 -> i32[[0, 1], [0, 0]]
    one_hot i=i64[1, -1, 5] depth=i64 3 v=[0, 9] -> [[0, 9, 0], [0, 0, 9], [0, 0, 0]]
    one_hot i=i64[1, 0] depth=[2] v=i32[5, 6]; axis=0 -> i32[[5, 6], [6, 5]]
    identity x=str['a'] -> str['a']
    dropout x=[1, 2] -> [1, 2]
    dropout x=[1, 2] ratio=i32 1 -> error: input 1 is i32
  )");
}

}  // namespace
}  // namespace rondel::test
