#include "ops/op_test.h"

#include <gtest/gtest.h>

namespace rondel::test {
namespace {

TEST(TransposedWindows, Sums) {
  check_ops(R"(
    sum_of_windows x=[[[[1, 2], [3, 4]]]] extents=i64[3]; begins=(0,) dilations=(1,) strides=(1,) -> [[[1, 5, 4]]]
    sum_of_windows x=[[[[1, 2], [3, 4]]]] extents=i64[2]; begins=(1,) dilations=(1,) strides=(1,) -> [[[5, 4]]]
    sum_of_windows x=[[[[1, 2], [3, 4]]]] extents=i64[6]; begins=(-1,) dilations=(2,) strides=(2,) -> [[[0, 1, 0, 5, 0, 4]]]
    sum_of_windows x=i32[[[[1, 2], [3, 4]]]] extents=i64[0]; begins=(0,) dilations=(1,) strides=(1,) -> i32(1,1,0)
    sum_of_windows x=[[[[[[1, 2]], [[3, 4]]]]]] extents=i64[1, 3]; begins=(0, 0) dilations=(1, 1) strides=(1, 1) -> [[[[1, 5, 4]]]]
    sum_of_windows x=f32(0,1,2,2) extents=i64[3]; begins=(0,) dilations=(1,) strides=(1,) -> f32(0,1,3)
    sum_of_windows x=f32(1,1,2,2) extents=i64[3]; begins=(0,) dilations=(1,) strides=(0,) -> error: strides has 0
  )");
}

TEST(TransposedWindows, Neighbours) {
  check_ops(R"(
    neighbour_sum x=[[1, 2, 4]]; after=1 axis=-1 before=0 -> [[3, 6, 4]]
    neighbour_sum x=[[1, 2, 4]]; after=1 axis=1 before=5 -> [[3, 7, 7]]
    neighbour_sum x=f16[[1, 2], [4, 8]]; after=0 axis=0 before=1 -> f16[[1, 2], [5, 10]]
    neighbour_sum x=f32(0,2); after=1 axis=0 before=1 -> f32(0,2)
    neighbour_sum x=[1]; after=-1 axis=0 before=1 -> error: after is -1; expected 0 or more
    lrn x=[[[1], [2], [4]]]; alpha=1.0 beta=1.0 size=2 -> [[[0.2857143], [0.18181818], [0.44444445]]]
    lrn x=f64[[1, 2, 4]]; alpha=3.0 beta=0.5 bias=0.0 size=3 -> f64[[0.4472136, 0.4364358, 0.8944272]]
    lrn x=f32(0,3,2); size=3 -> f32(0,3,2)
    lrn x=[[1]]; size=0 -> error: size is 0; expected 1 or more
  )");
}

}  // namespace
}  // namespace rondel::test
