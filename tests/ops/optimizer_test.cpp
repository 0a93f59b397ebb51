#include "ops/op_test.h"

#include <gtest/gtest.h>

/// The expected numbers come from the formulas in the ONNX documentation, computed in double.
namespace rondel::test {
namespace {

TEST(Optimizers, FollowOnnx) {
  check_ops(R"(
    adam r=0.5 t=i64 0 x=[1, 2] g=[-0.5, 1] v=[0.25, 0] h=[0.5, 1]; alpha=0.5 beta=0.75 epsilon=0.0009765625 norm_coefficient=0.25 norm_coefficient_post=0.125 -> [0.875, 1.463833] & [0, 0.75] & [0.390625, 1.3125]
    adam r=0.5 t=i64 3 x=[1, 2] g=[-0.5, 1] v=[0.25, 0] h=[0.5, 1]; alpha=0.5 beta=0.75 epsilon=0.0009765625 norm_coefficient=0.25 norm_coefficient_post=0.125 -> [0.875, 1.5013305] & [0, 0.75] & [0.390625, 1.3125]
    adam r=0.5 t=i64 1 x=[1, 2] y=[3] g=[-0.5, 1] gy=[4] v=[0.25, 0] vy=[0] h=[0.5, 1] hy=[1]; alpha=0.5 beta=0.75 epsilon=0.0009765625 -> [1.0943518, 1.7502439] & [2.541374] & [-0.125, 0.5] & [2] & [0.4375, 1] & [4.75]
    adagrad r=0.5 t=i64 0 x=[1, 2] g=[-0.5, 1] h=[0.5, 1]; decay_factor=0.25 epsilon=0.0009765625 norm_coefficient=0.25 -> [1.1664499, 1.5842001] & [0.5625, 3.25]
    adagrad r=0.5 t=i64 3 x=[1, 2] g=[-0.5, 1] h=[0.5, 1]; decay_factor=0.25 epsilon=0.0009765625 norm_coefficient=0.25 -> [1.0951142, 1.7624001] & [0.5625, 3.25]
    adagrad r=0.5 t=i64 1 x=[1, 2] y=[3] g=[-0.5, 1] gy=[4] h=[0.5, 1] hy=[1]; epsilon=0.0009765625 -> [1.28835, 1.6466906] & [2.5150436] & [0.75, 2] & [17]
    momentum r=0.5 t=i64 0 x=[1, 2] g=[-0.5, 1] v=[0.25, 0]; alpha=0.75 beta=0.25 mode='standard' norm_coefficient=0.25 -> [1.03125, 1.25] & [-0.0625, 1.5]
    momentum r=0.5 t=i64 0 x=[1, 2] g=[-0.5, 1] v=[0.25, 0]; alpha=0.75 beta=0.25 mode='nesterov' norm_coefficient=0.25 -> [1.1484375, 0.6875] & [-0.0625, 1.5]
    momentum r=0.5 t=i64 3 x=[1, 2] g=[-0.5, 1] v=[0.25, 0]; alpha=0.75 beta=0.25 mode='standard' norm_coefficient=0.25 -> [0.9375, 1.8125] & [0.125, 0.375]
    momentum r=0.5 t=i64 3 x=[1, 2] g=[-0.5, 1] v=[0.25, 0]; alpha=0.75 beta=0.25 mode='nesterov' norm_coefficient=0.25 -> [1.078125, 1.109375] & [0.125, 0.375]
    momentum r=0.5 t=i64 1 x=[1, 2] y=[3] g=[-0.5, 1] gy=[4] v=[0.25, 0] vy=[0]; alpha=0.75 beta=1.0 mode='standard' norm_coefficient=0.0 -> [1.15625, 1.5] & [1] & [-0.3125, 1] & [4]
  )");
}

TEST(Optimizers, RateAndCountMayHaveOneAxis) {
  check_ops(R"(
    momentum r=[0.5] t=i64[1] x=1 g=-0.5 v=0.25; alpha=0.5 beta=1.0 mode='standard' norm_coefficient=0.0 -> 1.1875 & -0.375
    adam r=f64[0.5] t=i64[0] x=[1] g=[2] v=[0] h=[0]; alpha=0.5 beta=0.75 epsilon=0.5 -> [0.6666667] & [1] & [1]
  )");
}

TEST(Optimizers, Errors) {
  check_ops(R"(
    adam r=0.5 t=i64 0 x=[1] g=[2] v=[0] -> error: 3 tensors are given; expected 4 for each variable: its value, its gradient and 2 states
    adagrad r=0.5 t=i64 0 x=[1] g=[2] -> error: 2 tensors are given; expected 3 for each variable: its value, its gradient and a state
    adagrad r=[0.5, 1] t=i64 0 x=[1] g=[2] h=[0] -> error: [2]
    adagrad r=0.5 t=i64 0 x=[1, 2] g=[2, 3, 4] h=[0, 1] -> error: 3
    momentum r=0.5 t=i64 0 x=[1] g=f64[2] v=[0]; alpha=0.0 beta=1.0 mode='standard' norm_coefficient=0.0 -> error: f64
    momentum r=0.5 t=i64 0 x=[1] g=[2] v=[0]; alpha=0.0 beta=1.0 mode='heavy' norm_coefficient=0.0 -> error: mode is 'heavy'; expected 'standard' or 'nesterov'
  )");
}

}  // namespace
}  // namespace rondel::test
