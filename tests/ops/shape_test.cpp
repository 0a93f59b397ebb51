#include "ops/op_test.h"

#include <gtest/gtest.h>

namespace rondel::test {
namespace {

// Ops that copy elements unchanged, or compute elements from shapes.
TEST(Move, Joined) {
  check_ops(R"(
    concat a=[[1, 2]] b=[[3, 4], [5, 6]]; axis=0 -> [[1, 2], [3, 4], [5, 6]]
    concat a=[[1], [2]] b=[[3], [4]]; axis=-1 -> [[1, 3], [2, 4]]
    split x=[1, 2, 3, 4, 5] lengths=i64[2, 3] -> [1, 2] & [3, 4, 5]
    split x=[1, 2, 3] lengths=none; num_outputs=2 -> [1, 2] & [3]
    expand x=[[1], [2]] shape=i64[2, 3] -> [[1, 1, 1], [2, 2, 2]]
    tile x=[1, 2] repeats=i64[2] -> [1, 2, 1, 2]
    pad x=[1, 2] pads=i64[1, 2] value=7 -> [7, 1, 2, 7, 7]
    pad x=[[1, 2, 3]] pads=i64[-1, 1] value=none axes=i64[1] -> [[2, 3, 0]]
    pad x=[1, 2, 3] pads=i64[1, 1]; mode='reflect' -> [2, 1, 2, 3, 2]
    pad x=[1, 2, 3] pads=i64[1, 2]; mode='edge' -> [1, 1, 2, 3, 3, 3]
    pad x=[1, 2, 3] pads=i64[1, 1]; mode='wrap' -> [3, 1, 2, 3, 1]
  )");
}

TEST(Move, Chosen) {
  check_ops(R"(
    gather x=[[1, 2], [3, 4], [5, 6]] i=i64[2, -3] -> [[5, 6], [1, 2]]
    gather x=[[1, 2], [3, 4]] i=i32 1; axis=1 -> [2, 4]
    gather x=f32(0,2) i=i64[1, -2]; axis=1 -> f32(0,2)
    gather x=f32(0,2) i=i64[1, 2]; axis=1 -> error: index 2 is out of range for extent 2
    gather x=f32(3,0,2) i=i32[[0, 3]] -> error: index 3 is out of range for extent 3
    gather x=f32(0,2) i=i64(0); axis=1 -> f32(0,0)
    gather_elements x=[[1, 2], [3, 4]] i=i64[[1, 0]] -> [[3, 2]]
    slice x=[1, 2, 3, 4, 5] starts=i64[1] ends=i64[4] -> [2, 3, 4]
    slice x=[1, 2, 3, 4, 5] starts=i64[-1] ends=i64[-9] axes=i64[0] steps=i64[-2] -> [5, 3, 1]
    strict_slice x=[1, 2, 3, 4, 5] starts=i64[1] sizes=i64[2] strides=i64[3]; axes=(0,) -> [2, 5]
    strict_slice x=[[1, 2], [3, 4]] starts=i64[1, 1] sizes=i64[2, 1] strides=i64[-1, 9]; axes=(-1, 0) -> [[4, 3]]
    strict_slice x=[1, 2] starts=i64[1] sizes=i64[3] strides=i64[0]; axes=(0,) -> [2, 2, 2]
    strict_slice x=[1, 2] starts=i64[-9] sizes=i64[0] strides=i64[-1]; axes=(0,) -> f32(0)
    strict_slice x=[1, 2] starts=i64[-1] sizes=i64[1] strides=i64[1]; axes=(0,) -> error: along axis 0 it takes 1 elements from -1 in steps of 1, of an extent of 2
    strict_slice x=[1, 2] starts=i64[1] sizes=i64[2] strides=i64[9223372036854775807]; axes=(0,) -> error: steps of 9223372036854775807
    strict_slice x=[1, 2] starts=i64[0] sizes=i64[-1] strides=i64[1]; axes=(0,) -> error: it takes -1 elements
    scatter_elements x=[1, 2, 3] i=i64[2, 0] u=[7, 8] -> [8, 2, 7]
    scatter_elements x=[1, 2, 3] i=i64[1, 1] u=[7, 8]; reduction='add' -> [1, 17, 3]
    scatter_elements x=[1, 2, 3] i=i64[1, 1] u=[7, 8]; reduction='mul' -> [1, 112, 3]
    scatter_elements x=[1, 2, 3] i=i64[1, 1] u=[7, 8]; reduction='max' -> [1, 8, 3]
    scatter_elements x=[1, 2, 3] i=i64[1, 1] u=[1, 8]; reduction='min' -> [1, 1, 3]
    scatter_elements x=bool[false, true, false] i=i64[0, 1] u=bool[true, false]; reduction='add' -> bool[true, true, false]
    scatter_elements x=bool[false, true, true] i=i64[0, 1] u=bool[true, false]; reduction='mul' -> bool[false, false, true]
    scatter_elements x=bool[false, true, true] i=i64[0, 1] u=bool[true, false]; reduction='max' -> bool[true, true, true]
    scatter_elements x=bool[false, true, true] i=i64[0, 1] u=bool[true, false]; reduction='min' -> bool[false, false, true]
    non_zero x=[[0, 1], [2, 0]] -> i64[[0, 1], [1, 0]]
    array_feature_extractor x=[[1, 2, 3]] i=i64[2, 0] -> [[3, 1]]
    array_feature_extractor x=[1, 2, 3] i=i64[[2, 0, 1]] -> [[3, 1, 2]]
    array_feature_extractor x=c64(3) i=i64[2, 0] -> c64(1, 2)
    array_feature_extractor x=c64(2, 3) i=i64[2, 0] -> c64(2, 2)
  )");
}

TEST(Move, OtherShapes) {
  check_ops(R"(
    transpose x=[[1, 2, 3], [4, 5, 6]] -> [[1, 4], [2, 5], [3, 6]]
    transpose x=[[[1, 2]], [[3, 4]]]; perm=(1, 0, 2) -> [[[1, 2], [3, 4]]]
    row_major x=[[1, 2, 3], [4, 5, 6]] -> [[1, 2, 3], [4, 5, 6]]
    row_major x=i8[1, -2] -> i8[1, -2]
    reshape x=[1, 2, 3, 4] shape=i64[2, -1] -> [[1, 2], [3, 4]]
    flatten x=[[[1], [2]]]; axis=2 -> [[1], [2]]
    squeeze x=[[1, 2]] axes=i64[0] -> [1, 2]
    unsqueeze x=[1, 2] axes=i64[1] -> [[1], [2]]
    one_element x=[[3]] -> 3
    same_extent x=[[1, 2]] y=[5, 6, 7]; axes=(0, 0) -> error: extent
    same_extent x=[[1, 2]] y=[5, 6]; axes=(1, 0) -> [[1, 2]]
    shape x=f32(2,3) -> i64[2, 3]
    shape x=f32(2,3,4); start=1 end=-1 -> i64[3]
    size x=f32(2,3) -> i64 6
    checked_length lengths=i64[1, 3] most=i64 3 -> i64[1, 3]
    bounded x=i64[-1, 3] most=i64 3 -> i64[-1, 3]
    bounded x=i64[1, 4] most=i64 3; message='of {} only {}' -> error: of 4 only 3
    bounded x=i64[-1, 3] most=i64 3; least=0 -> error: -1 is not in bounds; expected at most 3
    checked_int32 x=i64[2147483647, -2147483648] -> i32[2147483647, -2147483648]
    checked_int32 x=i64[0, 2147483648] -> error: 2147483648 is beyond what int32 holds
    checked_int32 x=i64 -2147483649 -> error: -2147483649 is beyond what int32 holds
    convert x=[1.5]; to=i8 -> i8[1]
  )");
}

// Ops whose values are tested elsewhere. These lines put them through the checks of every line.
TEST(Move, NothingThroughLayers) {
  check_ops(R"(
    rnn x=f32(2,1,3) w=f32(1,2,3) r=f32(1,2,2); hidden_size=2 -> f32(2,1,1,2)
    gru x=f32(2,1,3) w=f32(1,6,3) r=f32(1,6,2); hidden_size=2 -> f32(2,1,1,2)
    lstm x=f32(2,1,3) w=f32(1,8,3) r=f32(1,8,2); hidden_size=2 -> f32(2,1,1,2)
    einsum_sum x=[[1, 2], [3, 4]]; equation='ij->j' -> [4, 6]
    convert_text x=str['3']; to=f32 -> [3]
  )");
}

}  // namespace
}  // namespace rondel::test
