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
    compress x=[[1, 2], [3, 4], [5, 6]] condition=bool[false, true, true]; axis=0 -> [[3, 4], [5, 6]]
    compress x=[[1, 2], [3, 4]] condition=bool[false, true]; axis=-1 -> [[2], [4]]
    compress x=[[1, 2], [3, 4]] condition=bool[false, true, true] -> [2, 3]
    compress x=[1, 2] condition=bool[true, false, false]; axis=0 -> [1]
    compress x=[1, 2] condition=bool[false, false, true]; axis=0 -> error: index 2 is out of range for extent 2
    compress x=f32(0,2) condition=bool[true, false]; axis=1 -> f32(0,1)
    compress x=[[1, 2]] condition=bool[true]; axis=2 -> error: axis 2 is outside [-2, 2)
    array_feature_extractor x=[[1, 2, 3]] i=i64[2, 0] -> [[3, 1]]
    array_feature_extractor x=[1, 2, 3] i=i64[[2, 0, 1]] -> [[3, 1, 2]]
    array_feature_extractor x=c64(3) i=i64[2, 0] -> c64(1, 2)
    array_feature_extractor x=c64(2, 3) i=i64[2, 0] -> c64(2, 2)
  )");
}

TEST(Move, BoxesThatDoNotOverlap) {
  check_ops(R"(
    non_max_suppression boxes=[[[0, 0, 1, 1], [0, 0, 1, 0.9], [0, 2, 1, 3]]] scores=[[[0.5, 0.9, 0.7]]] most=i64 3 iou=0.5 -> i64[[0, 0, 1], [0, 0, 2]]
    non_max_suppression boxes=[[[1, 1, 0, 0], [0, 0, 1, 0.9], [0, 2, 1, 3]]] scores=[[[0.5, 0.5, 0.5]]] most=i64[9] iou=[1] -> i64[[0, 0, 0], [0, 0, 1], [0, 0, 2]]
    non_max_suppression boxes=[[[0, 0, 1, 1], [3, 0, 1, 1]]] scores=[[[0.5, nan], [0.2, 0.3]]] most=i64[9] iou=none least=0.25; center_point_box=1 -> i64[[0, 0, 0], [0, 1, 1]]
    non_max_suppression boxes=[[[0, 0, 1, 1]]] scores=[[[nan]]] most=i64 1 -> i64[[0, 0, 0]]
    non_max_suppression boxes=f32(1,2,4) scores=f32(1,1,2) -> i64(0,3)
    non_max_suppression boxes=f32(0,2,4) scores=f32(0,1,2) most=i64 1 -> i64(0,3)
    non_max_suppression boxes=f32(1,2,4) scores=f32(1,1,2) most=i64 -1 -> error: max_output_boxes_per_class is -1; expected 0 or more
    non_max_suppression boxes=f32(1,2,4) scores=f32(1,1,2) most=i64 1 iou=1.5 -> error: iou_threshold is 1.5; expected 0 to 1
    non_max_suppression boxes=f32(1,2,4) scores=f32(1,1,2) most=i64 1 iou=0 least=nan -> error: score_threshold is NaN
    non_max_suppression boxes=f32(1,2,3) scores=f32(1,1,2) -> error: expected [batch, n, 4]
    non_max_suppression boxes=f32(1,2,4) scores=f32(1,1,3) -> error: boxes have 2 boxes and scores 3
    non_max_suppression boxes=f32(1,2,4) scores=f32(1,1,2); center_point_box=2 -> error: center_point_box is 2; expected 0 or 1
  )");
}

TEST(Move, Reversed) {
  check_ops(R"(
    reverse_sequence x=[[1, 2], [3, 4], [5, 6]] lengths=i64[3, 2] -> [[5, 4], [3, 2], [1, 6]]
    reverse_sequence x=[[1, 2, 3], [4, 5, 6]] lengths=i64[0, 3]; batch_axis=0 time_axis=-1 -> [[1, 2, 3], [6, 5, 4]]
    reverse_sequence x=f32(0,2) lengths=i64[0, 0] -> f32(0,2)
    reverse_sequence x=f32(0,2) lengths=i64[0, 1] -> error: sequence length 1 is out of bounds; expected 0 to 0
    reverse_sequence x=f32(2,2) lengths=i64[-1, 1] -> error: sequence length -1 is out of bounds; expected 0 to 2
    reverse_sequence x=f32(2,2) lengths=i64[1] -> error: there are 1 sequence lengths for 2 sequences along axis 1
    reverse_sequence x=f32(2,2) lengths=i64[1, 1]; batch_axis=0 -> error: batch_axis and time_axis are both axis 0
    reverse_sequence x=f32(2) lengths=i64[1, 1] -> error: expected rank 2 or more
  )");
}

// The update of a cache of keys or values.
TEST(Move, StoredAlongSequences) {
  check_ops(R"(
    tensor_scatter x=[[1, 2, 3], [4, 5, 6]] update=[[7, 8], [9, 0]] at=i64[1, 0]; axis=1 -> [[1, 7, 8], [9, 0, 6]]
    tensor_scatter x=[[1, 2, 3], [4, 5, 6]] update=[[7, 8], [9, 0]] at=none; axis=-1 -> [[7, 8, 3], [9, 0, 6]]
    tensor_scatter x=[[[1, 2], [3, 4]]] update=[[[5, 6]]] at=i64[1] -> [[[1, 2], [5, 6]]]
    tensor_scatter x=[[1, 2, 3]] update=[[7, 8]] at=i64[2]; axis=1 mode='circular' -> [[8, 2, 7]]
    tensor_scatter x=[[1, 2, 3]] update=[[7, 8]] at=i64[-7]; axis=1 mode='circular' -> [[8, 2, 7]]
    tensor_scatter x=[[1, 2, 3]] update=[[7, 8]] at=i64[9223372036854775807]; axis=1 mode='circular' -> [[1, 7, 8]]
    tensor_scatter x=f32(1,0) update=f32(1,0) at=i64[5]; axis=1 mode='circular' -> f32(1,0)
    tensor_scatter x=f32(2,3) update=f32(2,0) at=i64[3, 0]; axis=1 -> f32(2,3)
    tensor_scatter x=[[1, 2, 3]] update=[[7, 8]] at=i64[2]; axis=1 -> error: write index 2 is out of bounds; expected 0 to 1, so that the update fits
    tensor_scatter x=[[1, 2, 3]] update=[[7, 8]] at=i64[-1]; axis=1 -> error: write index -1 is out of bounds
    tensor_scatter x=f32(1,2) update=f32(1,3) at=none; axis=1 -> error: does not fit into x f32[1, 2] along axis 1
    tensor_scatter x=f32(1,2) update=f32(2,2) at=none; axis=1 -> error: differ on axis 0
    tensor_scatter x=f32(1,2) update=f32(1,2) at=i64[0, 0]; axis=1 -> error: there are 2 write indices for a batch of 1
    tensor_scatter x=f32(1,2) update=f32(1,2) at=none; axis=0 -> error: which is the batch axis
    tensor_scatter x=f32(1,2) update=f32(1,2) at=none; axis=1 mode='ring' -> error: mode is 'ring'; expected linear or circular
  )");
}

TEST(Move, SameBits) {
  check_ops(R"(
    bit_cast x=[1, -2]; to=i32 -> i32[1065353216, -1073741824]
    bit_cast x=i32[1065353216]; to=f32 -> [1]
    bit_cast x=i8[-1, 3]; to=u8 -> u8[255, 3]
    bit_cast x=u4[15, 3]; to=i4 -> i4[-1, 3]
    bit_cast x=i4[-1, 3]; to=u4 -> u4[15, 3]
    bit_cast x=i2[-1, 1]; to=u2 -> u2[3, 1]
    bit_cast x=u8[0, 7]; to=bool -> bool[false, true]
    bit_cast x=bool[false, true]; to=i8 -> i8[0, 1]
    bit_cast x=f64(0,2); to=i64 -> i64(0,2)
    bit_cast x=c64(2); to=i64 -> i64(2)
    bit_cast x=[1]; to=i64 -> error: f32 has 32 bits and i64 has 64; expected equal widths
    bit_cast x=str['a']; to=i64 -> error: expected numbers or bools
  )");
}

TEST(Move, OtherShapes) {
  check_ops(R"(
    transpose x=[[1, 2, 3], [4, 5, 6]] -> [[1, 4], [2, 5], [3, 6]]
    transpose x=[[[1, 2]], [[3, 4]]]; perm=(1, 0, 2) -> [[[1, 2], [3, 4]]]
    row_major x=[[1, 2, 3], [4, 5, 6]] -> [[1, 2, 3], [4, 5, 6]]
    row_major x=i8[1, -2] -> i8[1, -2]
    reshape x=[1, 2, 3, 4] shape=i64[2, -1] -> [[1, 2], [3, 4]]
    reshape x=f32(0,6) shape=i64[0, -1, 4] -> error: 6 elements cannot be divided into extents whose product is 4
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
