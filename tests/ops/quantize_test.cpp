#include "ops/op_test.h"

#include <gtest/gtest.h>

namespace rondel::test {
namespace {

TEST(Quantize, Tensor) {
  check_ops(R"(
    quantize_linear x=[0, 2, 3, 1000, -254, -1000] scale=2 zero=u8 128 -> u8[128, 129, 130, 255, 1, 0]
    # ties go to the even integer, before the zero point is added
    quantize_linear x=[0.5, 1.5, 2.5, -0.5, -1.5] scale=1 zero=i8 1 -> i8[1, 3, 3, 1, -1]
    quantize_linear x=[3, 300] scale=1 -> u8[3, 255]
    quantize_linear x=[3, -40000] scale=1; output_dtype=i16 -> i16[3, -32768]
    quantize_linear x=[70000, -1] scale=1; output_dtype=u16 -> u16[65535, 0]
    quantize_linear x=[7.5, 9, -9, -1.5] scale=1; output_dtype=i4 -> i4[7, 7, -8, -2]
    quantize_linear x=[7.5, 99, -9] scale=1 zero=u4 1 -> u4[9, 15, 0]
    quantize_linear x=[1, 9, -9] scale=1; output_dtype=i2 -> i2[1, 1, -2]
    quantize_linear x=i32[10, 15, -1000] scale=2 zero=i8 0 -> i8[5, 8, -128]
    quantize_linear x=[nan, inf, -inf] scale=1 zero=i8 0 -> i8[0, 127, -128]
    quantize_linear x=(0,3) scale=1 -> u8(0,3)
  )");
}

TEST(Quantize, Floats) {
  check_ops(R"(
    quantize_linear x=[0, 1, 1.0625, 1000, -1000] scale=1; output_dtype=f8e4m3fn -> f8e4m3fn[0, 1, 1, 448, -448]
    quantize_linear x=[1000] scale=1; output_dtype=f8e4m3fn saturate=0 -> f8e4m3fn[nan]
    quantize_linear x=[100000, 3] scale=2; output_dtype=f8e5m2 -> f8e5m2[49152, 1.5]
    quantize_linear x=[0.4, 5.1, 99, -99] scale=1; output_dtype=f4e2m1 -> f4e2m1[0.5, 6, 6, -6]
    quantize_linear x=[99] scale=1; output_dtype=f4e2m1 saturate=0 -> f4e2m1[6]
    dequantize_linear x=f8e4m3fn[1, 448, -0.5] scale=2 -> [2, 896, -1]
    dequantize_linear x=f4e2m1[0.5, 6, -6] scale=f16 2 -> f16[1, 12, -12]
  )");
}

TEST(Quantize, PrecisionOfTheDivision) {
  // In f16, 1001 / 3 = 333.67 is rounded to 333.75, and 2049 to 2048.
  check_ops(R"(
    quantize_linear x=[2049] scale=2; output_dtype=i16 precision=f16 -> i16[1024]
    quantize_linear x=[2051] scale=2; output_dtype=i16 -> i16[1026]
    quantize_linear x=f16[1, 2] scale=f8e8m0 0.5; output_dtype=i8 -> i8[2, 4]
    quantize_linear x=f16[60000] scale=f16 1; output_dtype=u16 -> u16[60000]
  )");
}

TEST(Quantize, AxesAndBlocks) {
  check_ops(R"(
    quantize_linear x=[[1, 2], [3, 4]] scale=[1, 2] zero=u8[0, 10]; axis=1 -> u8[[1, 11], [3, 12]]
    quantize_linear x=[[1, 2], [3, 4]] scale=[1, 2]; axis=0 -> u8[[1, 2], [2, 2]]
    quantize_linear x=[[1, 2], [3, 4]] scale=[1, 2]; axis=-2 -> u8[[1, 2], [2, 2]]
    quantize_linear x=[1, 2, 3] scale=[1, 2, 3] -> u8[1, 1, 1]
    quantize_linear x=[[2, 4, 6], [8, 10, 12]] scale=[[1, 2], [2, 4]] zero=i8[[0, 1], [2, 3]]; axis=1 block_size=2 -> i8[[2, 4, 4], [6, 7, 6]]
    dequantize_linear x=u8[[1, 11], [3, 12]] scale=[1, 2] zero=u8[0, 10]; axis=1 -> [[1, 2], [3, 4]]
    dequantize_linear x=i8[[2, 4, 4], [6, 7, 6]] scale=[[1, 2], [2, 4]] zero=i8[[0, 1], [2, 3]]; axis=-1 block_size=2 -> [[2, 4, 6], [8, 10, 12]]
    dequantize_linear x=u4[1, 15, 3] scale=[2, 1]; block_size=2 -> [2, 30, 3]
    dequantize_linear x=i32[1000, -7] scale=0.5 -> [500, -3.5]
    dequantize_linear x=i8[1, 2] scale=f8e8m0 4; output_dtype=bf16 -> bf16[4, 8]
    dequantize_linear x=i2[1, -2] scale=[3] zero=i2[1] -> [0, -9]
  )");
}

TEST(Quantize, Errors) {
  check_ops(R"(
    quantize_linear x=(2,3) scale=[1, 2]; axis=1 -> error: the scale has extent 2 on axis 0; expected 3, or one for the whole tensor
    quantize_linear x=(2,3) scale=(2,3); axis=1 -> error: expected a scalar, one scale per index of axis 1, or (with block_size) one per block
    quantize_linear x=(2,4) scale=(2,3); axis=1 block_size=2 -> error: the scale has extent 3 on axis 1; expected 2 blocks
    quantize_linear x=(2,4) scale=(3,2); axis=1 block_size=2 -> error: the scale has extent 3 on axis 0; expected 2
    quantize_linear x=(2,3) scale=[1, 2, 3]; axis=2 -> error: axis 2 is outside [-2, 2) of a tensor of rank 2
    quantize_linear x=[1] scale=1 zero=u8 0; output_dtype=i8 -> error: output_dtype is i8 and the zero point u8
    quantize_linear x=[1] scale=1; output_dtype=i32 -> error: there is no quantization to i32
    quantize_linear x=(3,3) scale=[1, 2, 3] zero=u8[0, 1] -> error: the scale is f32[3] and the zero point u8[2]; expected one shape
    quantize_linear x=i8[1] scale=1 -> error: input 0 is i8; expected a float of 16 bits and up or i32
    dequantize_linear x=[1] scale=1 -> error: input 0 is f32
    dequantize_linear x=i8[1] scale=1 zero=u8 0 -> error: input 0 is i8 and input 2 is u8; expected one dtype
    dequantize_linear x=i8[1] scale=f8e8m0 1 -> error: give output_dtype?
    quantize_linear x=[1] scale=1; block_size=-1 -> error: block_size is -1
  )");
}

}  // namespace
}  // namespace rondel::test
