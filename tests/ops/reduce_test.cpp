#include "ops/op_test.h"

#include <gtest/gtest.h>

namespace rondel::test {
namespace {

TEST(Reduce, OverAxes) {
  check_ops(R"(
    reduce_sum x=[[1, 2], [3, 4]] -> [[10]]
    reduce_sum x=[[1, 2], [3, 4]] axes=i64[0] -> [[4, 6]]
    reduce_sum x=[[1, 2], [3, 4]] axes=i64[-1]; keepdims=0 -> [3, 7]
    reduce_sum x=[[[1, 2], [3, 4]], [[5, 6], [7, 8]]] axes=i64[0, 2]; keepdims=0 -> [14, 22]
    reduce_sum x=[[1, 2], [3, 4]] axes=i64[] -> [[10]]
    reduce_sum x=[[1, 2], [3, 4]] axes=i64[]; noop_with_empty_axes=1 -> [[1, 2], [3, 4]]
    reduce_sum_square x=[[1, 2], [3, 4]]; noop_with_empty_axes=1 -> [[1, 4], [9, 16]]
    reduce_mean x=[[1, 2], [3, 5]] axes=i64[1] -> [[1.5], [4]]
    reduce_mean x=i32[7, 2] -> i32[4]
    reduce_max x=[[1, nan], [3, 2]] axes=i64[1]; keepdims=0 -> [nan, 3]
    reduce_min x=i8[[5, -2], [7, 3]] axes=i64[0]; keepdims=0 -> i8[5, -2]
    reduce_max x=bool[[false, true], [false, false]] axes=i64[1]; keepdims=0 -> bool[true, false]
    reduce_min x=bool[[true, true], [true, false]] axes=i64[1]; keepdims=0 -> bool[true, false]
    reduce_prod x=[[1, 2], [3, 4]] axes=i64[1]; keepdims=0 -> [2, 12]
    reduce_l1 x=[[1, -2], [-3, 4]] axes=i64[1]; keepdims=0 -> [3, 7]
    reduce_l2 x=[3, 4] axes=i64[0]; keepdims=0 -> 5
    reduce_l2 x=i32[3, 4] axes=i64[0]; keepdims=0 -> i32 5
    reduce_log_sum x=[1, 2, 4.389056] axes=i64[0]; keepdims=0 -> 2
    reduce_log_sum_exp x=[1000, 1000] axes=i64[0]; keepdims=0 -> 1000.693147
    reduce_log_sum_exp x=[-inf, -inf] axes=i64[0]; keepdims=0 -> -inf
    reduce_sum x=f16[2048, 1, 1, 1, 1]; keepdims=0 -> f16 2052
    reduce_sum x=3; keepdims=0 -> 3
  )");
}

TEST(Reduce, OverNothing) {
  check_ops(R"(
    reduce_sum x=f32(2,0,3) axes=i64[1] -> [[[0, 0, 0]], [[0, 0, 0]]]
    reduce_prod x=f32(0) -> [1]
    reduce_max x=f32(0) -> [-inf]
    reduce_min x=i32(0) -> i32[2147483647]
    reduce_max x=bool(0) -> bool[false]
    reduce_mean x=f32(0) -> [0]
    reduce_log_sum_exp x=f32(0) -> [-inf]
    reduce_sum x=f32(0,2) axes=i64[1] -> f32(0,1)
  )");
}

TEST(Reduce, Refuses) {
  check_ops(R"(
    reduce_sum x=f32(2,3) axes=i64[2] -> error: axes 2 is outside [-2, 2) of a tensor of rank 2
    reduce_sum x=f32(2,3) axes=i64[1, -1] -> error: axes [1, -1] name one axis twice
    reduce_sum x=str['a'] -> error: input 0 is str
    arg_max x=f32(2,0); axis=1 -> error: axis 1 has extent 0
  )");
}

/// Sums are computed in a fixed tree of 64 lanes, in every executor.
TEST(Reduce, SumsOneWay) {
  std::string list;
  for (int i = 0; i < 200; ++i) list += (i > 0 ? ", " : "") + std::to_string(0.1 * i);
  check_ops("reduce_sum x=[" + list + "] -> [1990]\n", 1e-6);
}

TEST(Arg, Extremes) {
  check_ops(R"(
    arg_max x=[[2, 1], [3, 10]] -> i64[[1, 1]]
    arg_max x=[[2, 2], [3, 10]]; axis=1 -> i64[[0], [1]]
    arg_max x=[[2, 2], [3, 10]]; axis=-1 keepdims=0 select_last_index=1 -> i64[1, 1]
    arg_min x=i8[5, 1, 1]; keepdims=0 -> i64 1
    arg_min x=i8[5, 1, 1]; keepdims=0 select_last_index=1 -> i64 2
    arg_max x=[1, nan, 3, nan]; keepdims=0 -> i64 1
    arg_max x=[-inf, -inf]; keepdims=0 -> i64 0
    hardmax x=[[3, 0, 1, 2], [2, 5, 1, 0], [0, 1, 3, 3]] -> [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
    hardmax x=[[1, 2], [3, 0]]; axis=0 -> [[0, 1], [1, 0]]
  )");
}

/// In the first line the batch has means 2 and 6 and variances 1 and 4. The running statistics keep
/// a quarter of their input values.
TEST(BatchNormalization, InTrainingWithTheStatisticsOfTheBatch) {
  check_ops(R"(
    batch_normalization x=[[1, 4], [3, 8]] s=[1, 2] b=[0, 1] m=[0, 2] v=[1, 8]; epsilon=0.0 training_mode=1 momentum=0.25 -> [[-1, -1], [1, 3]] & [1.5, 5] & [1, 5]
    batch_normalization x=f64[[[1, 3]], [[5, 7]]] s=f64[2] b=f64[1] m=f64[0] v=f64[0]; epsilon=4.0 training_mode=1 -> f64[[[-1, 0.333333333]], [[1.666666667, 3]]] & f64[0.4] & f64[0.5]
    batch_normalization x=[1, 3] s=[1] b=[0] m=[0] v=[1]; epsilon=0.0 training_mode=1 -> [-1, 1]
  )");
}

TEST(Running, SumsAndProducts) {
  check_ops(R"(
    cum_sum x=[1, 2, 3] axis=i64 0 -> [1, 3, 6]
    cum_sum x=i64[1, 2, 3] axis=i32 0; exclusive=1 -> i64[0, 1, 3]
    cum_sum x=[1, 2, 3] axis=i64 0; reverse=1 -> [6, 5, 3]
    cum_sum x=[1, 2, 3] axis=i64 0; exclusive=1 reverse=1 -> [5, 3, 0]
    cum_sum x=[[1, 2, 3], [4, 5, 6]] axis=i64[-1] -> [[1, 3, 6], [4, 9, 15]]
    cum_sum x=[[1, 2, 3], [4, 5, 6]] axis=i64 0 -> [[1, 2, 3], [5, 7, 9]]
    cum_prod x=[1, 2, 3] axis=i64 0 -> [1, 2, 6]
    cum_sum x=[1] axis=i64 1 -> error: axis 1 is outside [-1, 1)
  )");
}

TEST(Softmax, AlongAnAxis) {
  check_ops(R"(
    softmax x=[[0, 1, 2]] -> [[0.0900306, 0.244728, 0.665241]]
    softmax x=[[0, 1], [10000, 10001]]; axis=0 -> [[0, 0], [1, 1]]
    softmax x=f64[1000, 1000] -> f64[0.5, 0.5]
    log_softmax x=[[0, 1, 2]] -> [[-2.407606, -1.407606, -0.407606]]
    lp_normalization x=[[3, 4], [0, 0]] -> [[0.6, 0.8], [0, 0]]
    lp_normalization x=[[3, -1], [0, 0]]; p=1 axis=1 -> [[0.75, -0.25], [0, 0]]
    layer_normalization x=[[1, 3], [2, 6]] s=[1, 2] b=[0, 1] -> [[-0.999995, 2.99999], [-0.9999988, 2.9999975]]
    rms_normalization x=[[3, 4]] s=[1, 2]; epsilon=0.0 -> [[0.848528, 2.262742]]
    batch_normalization x=[[[1, 2]], [[3, 4]]] s=[2] b=[1] m=[2] v=[4]; epsilon=0.0 -> [[[0, 1]], [[2, 3]]]
    channel_normalization x=[[[1, 2]], [[3, 4]]] s=[2] b=[1] m=[2] v=[4]; epsilon=0.0 -> [[[0, 1]], [[2, 3]]]
    instance_normalization x=[[[1, 3], [2, 6]]] s=[1, 2] b=[0, 1]; epsilon=0.0 -> [[[-1, 1], [-1, 3]]]
    softmax x=[1]; axis=1 -> error: 1 is outside [-1, 1) of a tensor of rank 1
  )");
}

}  // namespace
}  // namespace rondel::test
