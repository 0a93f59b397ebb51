#include "ops/op_test.h"

#include <gtest/gtest.h>

namespace rondel::test {
namespace {

TEST(Dft, Directions) {
  check_ops(R"(
    dft x=f64[[1], [2], [3], [4]] -> f64[[10, 0], [-2, 2], [-2, 0], [-2, -2]]
    dft x=f64[[1], [2], [3], [4]]; onesided=1 -> f64[[10, 0], [-2, 2], [-2, 0]]
    dft x=f64[[10, 0], [-2, 2], [-2, 0], [-2, -2]]; inverse=1 -> f64[[1, 0], [2, 0], [3, 0], [4, 0]]
    dft x=f64[[10, 0], [-2, 2], [-2, 0]]; inverse=1 onesided=1 -> f64[[1], [2], [3], [4]]
    dft x=f64[[1], [2]] dft_length=i64 4 -> f64[[3, 0], [1, -2], [-1, 0], [1, 2]]
    dft x=f64[[1], [2], [3]] dft_length=i64 1 -> f64[[1, 0]]
    dft x=f64[[[1], [2]], [[3], [4]]] dft_length=none axis=i64 0 -> f64[[[4, 0], [6, 0]], [[-2, 0], [-2, 0]]]
    dft x=f32(0,4,1) -> f32(0,4,2)
    dft x=f32(4,3) -> error: expected 1 (real numbers) or 2 (complex ones)
    dft x=f32(4) -> error: expected [signal..., 1 or 2]
    dft x=f32(4,1) dft_length=i64 0 -> error: a transform of 0 elements
    dft x=f32(4,1) dft_length=none axis=i64 1 -> error: holds the real and imaginary parts
  )");
}

TEST(Stft, Frames) {
  check_ops(R"(
    stft signal=f64[[[1], [2], [3], [4]]] frame_step=i64 2 window=f64[1, 2] -> f64[[[[5, 0], [-3, 0]], [[11, 0], [-5, 0]]]]
    stft signal=f32(1,4,1) frame_step=i64 0 -> error: expected 1 or more
    stft signal=f32(1,4,1) frame_step=i64 1 window=f32(5) -> error: a frame has 5 elements
  )");
}

TEST(LpPool, Norms) {
  check_ops(R"(
    lp_pool x=[[[3, 4, 0, 0, 0]]]; kernel_shape=(2,) -> [[[5, 4, 0, 0]]]
    lp_pool x=[[[3, -4, 1]]]; kernel_shape=(2,) p=1 pads=(1, 0) -> [[[3, 7, 5]]]
    lp_pool x=[[[3, 4, 1]]]; kernel_shape=(2,) strides=(2,) ceil_mode=1 -> [[[5, 1]]]
    lp_pool x=[[[3, 4, 1]]]; kernel_shape=(2,) p=0 -> error: p is 0
  )");
}

TEST(RoiAlign, BinsOfRegions) {
  check_ops(R"(
    roi_align x=[[[[1, 2], [3, 4]]]] rois=[[0, 0, 2, 2]] batch_indices=i64[0]; output_height=2 output_width=2 -> [[[[1, 2], [3, 4]]]]
    roi_align x=[[[[1, 2], [3, 4]]]] rois=[[0, 0, 2, 2]] batch_indices=i64[1] -> error: region 0 is of batch element 1; there are 1
    max_roi_pool x=[[[[1, 2], [3, 4]]]] rois=[[0, 0, 0, 1, 1]]; pooled_shape=(1, 2) -> [[[[3, 4]]]]
    max_roi_pool x=[[[[1, 2], [3, 4]]]] rois=[[2, 0, 0, 1, 1]]; pooled_shape=(1, 2) -> error: region 0 is of batch element 2; there are 1
  )");
}

}  // namespace
}  // namespace rondel::test
