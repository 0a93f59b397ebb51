#include "ops/op_test.h"

#include <gtest/gtest.h>

namespace rondel::test {
namespace {

TEST(ElementWise, Arithmetic) {
  check_ops(R"(
    add a=[1, 2] b=[[10], [20]] -> [[11, 12], [21, 22]]
    add a=i8[127] b=i8[1] -> i8[-128]
    add a=f16[2048] b=f16[1] -> f16[2048]
    add a=[] b=3 -> []
    sub a=u8[1] b=u8[2] -> u8[255]
    mul a=f64[1.5, -2] b=f64 2 -> f64[3, -4]
    div a=[1, -1, 0] b=[0, 0, 0] -> [inf, -inf, nan]
    div a=i32[7, -7, -2147483648] b=i32[2, 2, -1] -> i32[3, -3, -2147483648]
    div a=i32[7] b=i32[0] -> error: integer division by zero
    neg x=i8[-128, 5] -> i8[-128, -5]
    stop_gradient x=[1, -0] -> [1, -0]
    stop_gradient x=f16[2.5] -> f16[2.5]
    abs x=[-0.0, -2, nan] -> [0, 2, nan]
    abs x=i16[-3, 4] -> i16[3, 4]
    reciprocal x=[4, -0.5] -> [0.25, -2]
    sign x=[-3, 0, 2, nan] -> [-1, 0, 1, nan]
    sign x=u8[0, 9] -> u8[0, 1]
    floor x=[-1.5, 2.5] -> [-2, 2]
    ceil x=[-1.5, 2.5] -> [-1, 3]
    round x=[0.5, 1.5, 2.5, -2.5, -0.4] -> [0, 2, 2, -2, 0]
    fma a=[2] b=[3] c=[4] -> [10]
    sum x=[1, 2] y=[10] z=[[100], [200]] -> [[111, 112], [211, 212]]
    mean x=[1, 2] y=[3, 5] -> [2, 3.5]
    min x=[1, nan] y=[0, 1] -> [0, nan]
    max x=i64[1, 5] y=i64[3] z=i64[2, 9] -> i64[3, 9]
    clip x=[-2, 0.5, 7] min=-1 max=1 -> [-1, 0.5, 1]
    clip x=i8[-2, 5] min=none max=i8 3 -> i8[-2, 3]
    clip x=[5] min=3 max=1 -> [1]
    add a=[1, 2] b=[1, 2, 3] -> error: extents 2 and 3 of axis -1 do not broadcast
    add a=[1] b=i32[1] -> error: expected one dtype
    sqrt x=i32[4] -> error: input 0 is i32; expected one of f32, f64, f16, bf16
  )");
}

TEST(ElementWise, Remainders) {
  check_ops(R"(
    mod a=i32[-4, 7, 5, 4, -7, 8] b=i32[2, -3, 8, -2, 3, 5] -> i32[0, -2, 5, 0, 2, 3]
    mod a=i32[-4, 7, 5, 4, -7, 8] b=i32[2, -3, 8, -2, 3, 5]; fmod=1 -> i32[0, 1, 5, 0, -1, 3]
    mod a=[-4.3, 7.2, 5.0] b=[2.1, -3.4, 8.0]; fmod=1 -> [-0.1, 0.4, 5]
    mod a=[-4.3, 7.2, inf, 1, -1, 1] b=[2.1, -3.4, 2, 0, inf, inf] -> [2.0, -3.0, nan, nan, inf, 1]
    mod a=u8[250] b=u8[7] -> u8[5]
    mod a=i64[-9223372036854775808] b=i64[-1] -> i64[0]
    mod a=i64[1] b=i64[0] -> error: division by zero
    pow x=[1, 2, 3] y=[4, 5, 6] -> [1, 32, 729]
    pow x=i32[1, 2, 3] y=[4, 5, 6] -> i32[1, 32, 729]
    pow x=[1, 2, 3] y=i64[4, 5, 6] -> [1, 32, 729]
    pow x=i64[2, 1, -1, 2] y=i32[-1, -1, -3, 10] -> i64[0, 1, -1, 1024]
    pow x=[4] y=0.5 -> [2]
  )");
}

TEST(ElementWise, ComparisonAndLogic) {
  check_ops(R"(
    equal a=i64[1, 2] b=i64[1] -> bool[true, false]
    equal a=str['a', 'b'] b=str['a', 'c'] -> bool[true, false]
    equal a=bool[true, false] b=bool[true, true] -> bool[true, false]
    equal a=[nan] b=[nan] -> bool[false]
    greater a=[1, 2, nan] b=1 -> bool[false, true, false]
    less a=u64[18446744073709551615] b=u64[1] -> bool[false]
    greater_or_equal a=i32[1, 2] b=i32[2, 2] -> bool[false, true]
    less_or_equal a=f16[1, 3] b=f16[1, 2] -> bool[true, false]
    and a=bool[true, true] b=bool[true, false] -> bool[true, false]
    or a=bool[false, true] b=bool[false, false] -> bool[false, true]
    xor a=bool[true, true] b=bool[true, false] -> bool[false, true]
    not x=bool[true, false] -> bool[false, true]
    bitwise_and a=u8[12, 255] b=u8[10, 16] -> u8[8, 16]
    bitwise_or a=i32[12] b=i32[3] -> i32[15]
    bitwise_xor a=i64[6] b=i64[3] -> i64[5]
    bitwise_not x=i8[0, 5] -> i8[-1, -6]
    bit_shift x=u8[1, 2, 255] y=u8[1, 2, 9]; direction='LEFT' -> u8[2, 8, 0]
    bit_shift x=u8[16, 4] y=u8[1, 8]; direction='RIGHT' -> u8[8, 0]
    bit_shift x=i8[-16, -16, -16, 16] y=i8[2, 9, -1, -1]; direction='RIGHT' -> i8[-4, -1, -1, 0]
    bit_shift x=i8[-16, 3] y=i8[-1, 8]; direction='LEFT' -> i8[0, 0]
    bit_shift x=u8[1] y=u8[1]; direction='UP' -> error: direction is 'UP'; expected 'LEFT' or 'RIGHT'
    is_nan x=[1, nan, inf] -> bool[false, true, false]
    is_inf x=[1, inf, -inf, nan] -> bool[false, true, true, false]
    is_inf x=[inf, -inf]; detect_negative=0 -> bool[true, false]
    is_inf x=[inf, -inf]; detect_positive=0 -> bool[false, true]
    where c=bool[true, false] a=[1, 2] b=[[10], [20]] -> [[1, 10], [1, 20]]
    where c=bool[true, false] a=str['a', 'b'] b=str['x', 'y'] -> str['a', 'y']
    where c=bool[true] a=bool[false] b=bool[true] -> bool[false]
    and a=[1] b=[1] -> error: input 0 is f32; expected bool
  )");
}

TEST(ElementWise, Functions) {
  check_ops(R"(
    exp x=[0, 1, -inf] -> [1, 2.718282, 0]
    log x=[1, 2.718282, 0, -1] -> [0, 1, -inf, nan]
    sqrt x=[4, 2, -1] -> [2, 1.414214, nan]
    sin x=[0, 1, 100] -> [0, 0.841471, -0.506366]
    cos x=[0, 1, 100] -> [1, 0.540302, 0.862319]
    tan x=[0, 1] -> [0, 1.557408]
    asin x=[0, 0.5, 1, 2] -> [0, 0.523599, 1.570796, nan]
    acos x=[1, 0.5, -1] -> [0, 1.047198, 3.141593]
    atan x=[0, 1, -inf] -> [0, 0.785398, -1.570796]
    sinh x=[0, 1] -> [0, 1.175201]
    cosh x=[0, 1] -> [1, 1.543081]
    tanh x=[0, 1, -20] -> [0, 0.761594, -1]
    asinh x=[0, 1] -> [0, 0.881374]
    acosh x=[1, 2] -> [0, 1.316958]
    atanh x=[0, 0.5, 1] -> [0, 0.549306, inf]
    erf x=[0, 0.5, -3] -> [0, 0.5204999, -0.9999779]
    sigmoid x=[0, 1, -200, 200] -> [0.5, 0.731059, 0, 1]
    exp x=f64[1] -> f64[2.718281828459045]
  )");
}

TEST(ElementWise, Activations) {
  check_ops(R"(
    relu x=[-1, 0, 2, nan] -> [0, 0, 2, nan]
    relu x=i8[-1, 2] -> i8[0, 2]
    leaky_relu x=[-1, 2] -> [-0.01, 2]
    leaky_relu x=[-1, 2]; alpha=0.1 -> [-0.1, 2]
    elu x=[-1, 0, 1]; alpha=2.0 -> [-1.264241, 0, 1]
    selu x=[-1, 0, 1]; alpha=2.0 gamma=3.0 -> [-3.792723, 0, 3]
    celu x=[-1, 1]; alpha=2.0 -> [-0.786939, 1]
    hard_sigmoid x=[-10, 0, 10]; alpha=0.5 beta=0.6 -> [0, 0.6, 1]
    hard_swish x=[-4, 1, 4] -> [0, 0.666667, 4]
    softplus x=[0, 100, -100] -> [0.693147, 100, 0]
    softsign x=[1, -3] -> [0.5, -0.75]
    thresholded_relu x=[1, 1.5]; alpha=1.2 -> [0, 1.5]
    p_relu x=[[-1, 2], [-3, 4]] slope=[0.5, 1] -> [[-0.5, 2], [-1.5, 4]]
    p_relu x=[-1] slope=[[1], [2]] -> error: rank 2 does not broadcast to rank 1
    mish x=[0, 1] -> [0, 0.865098]
    swish x=[0, 1] -> [0, 0.731059]
    shrink x=[-2, 0.2, 2]; lambd=1.5 bias=1.5 -> [-0.5, 0, 0.5]
    gelu x=[0, 1, -1] -> [0, 0.841345, -0.158655]
    gelu x=[0, 1, -1]; approximate='tanh' -> [0, 0.841192, -0.158808]
    gelu x=[0]; approximate='fast' -> error: approximate is 'fast'
  )");
}

TEST(ElementWise, NarrowFloatsRoundOnce) {
  check_ops(R"(
    exp x=f16[1, 20] -> f16[2.718, inf]
    gelu x=bf16[1] -> bf16[0.84]
    add a=bf16[256] b=bf16[1] -> bf16[256]
    sigmoid x=f16[1] -> f16[0.731]
  )",
            2e-3);
}

}  // namespace
}  // namespace rondel::test
