#include "ops/op_test.h"

#include <gtest/gtest.h>

namespace rondel::test {
namespace {

TEST(QuantizedProduct, OfBytes) {
  check_ops(R"(
    mat_mul_integer a=u8[[1, 2], [3, 4]] b=i8[[1, -1], [2, -2]] -> i32[[5, -5], [11, -11]]
    mat_mul_integer a=u8[[1, 2], [3, 4]] b=i8[[1, -1], [2, -2]] a0=u8 1 b0=i8[1] -> i32[[1, -3], [3, -13]]
    mat_mul_integer a=u8[[1, 2], [3, 4]] b=i8[[1, -1], [2, -2]] a0=u8[1, 2] -> i32[[2, -2], [5, -5]]
    mat_mul_integer a=u8[[1, 2], [3, 4]] b=i8[[1, -1], [2, -2]] a0=none b0=i8[1, -1] -> i32[[2, -2], [4, -4]]
    mat_mul_integer a=u8[[1, 2], [3, 4]] b=i8[[1, -1], [2, -2]] a0=u8[[1], [2]] b0=i8[[1, -1]] -> i32[[1, -1], [2, -2]]
    mat_mul_integer a=i8[1, -2] b=u8[3, 200] -> i32 -397
    mat_mul_integer a=i8[[[1, 2]], [[3, 4]]] b=u8[1, 255] -> i32[[511], [1023]]
    mat_mul_integer a=u8[[[1]], [[2]]] b=u8[[[3]], [[4]]] a0=u8[[[1]], [[1]]] -> i32[[[0]], [[4]]]
    mat_mul_integer a=u8(2,0) b=u8(0,3) -> i32(2,3)
    mat_mul_integer a=u8(0,2) b=u8(2,3) -> i32(0,3)
    mat_mul_integer a=u8(2,3) b=u8(2,3) -> error: inner extents 3 and 2 differ
    mat_mul_integer a=u8(2,3) b=u8(3,2) a0=u8[1, 2, 3] -> error: expected one element, or one for each row
    mat_mul_integer a=u8(2,3) b=u8(3,4) a0=none b0=u8[1, 2, 3] -> error: expected one element, or one for each column
    mat_mul_integer a=u8(2,3) b=u8(3,2) a0=i8 1 -> error: i8
    mat_mul_integer a=f32(2,3) b=u8(3,2) -> error: f32
  )");
}

TEST(QuantizedProduct, Convolution) {
  check_ops(R"(
    conv_integer x=u8[[[1, 2, 3]]] w=i8[[[1, -1]]] -> i32[[[-1, -1]]]
    conv_integer x=u8[[[1, 2, 3]]] w=i8[[[1, -1]]] x0=u8 1; pads=(1, 0) -> i32[[[0, -1, -1]]]
    conv_integer x=u8[[[1, 2]]] w=u8[[[1]], [[2]]] x0=none w0=u8[1, 0] -> i32[[[0, 0], [2, 4]]]
    conv_integer x=i8[[[1], [2]]] w=i8[[[3]], [[4]]]; group=2 -> i32[[[3], [8]]]
    conv_integer x=u8(0,1,3) w=u8(2,1,2) -> i32(0,2,2)
    conv_integer x=u8(1,0,3) w=u8(2,0,2) -> i32(1,2,2)
    conv_integer x=u8(1,1,3) w=u8(2,1,2) x0=u8[1, 2] -> error: scalar
    conv_integer x=u8(1,1,3) w=u8(2,1,2) x0=none w0=u8[1, 2, 3] -> error: w_zero_point has 3 elements for 2 channels
    conv_integer x=u8(1,1,3) w=u8(2,1,4) -> error: window
  )");
}

}  // namespace
}  // namespace rondel::test
