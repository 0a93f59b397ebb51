#include "ops/op_test.h"

#include <gtest/gtest.h>

namespace rondel::test {
namespace {

// Ops of ai.onnx.ml whose attributes can be written here; tests/python/ops/test_learned_models.py
// has the others.
TEST(Learned, Features) {
  check_ops(R"(
    binarizer x=[-1, 0, 2]; threshold=0.5 -> [0, 0, 1]
    binarizer x=i64[[0, 1, 2]]; threshold=0.5 -> i64[[0, 1, 1]]
    binarizer x=f64(0,2) -> f64(0,2)
    scaler x=[[1, 2], [3, 4]] -> [[1, 2], [3, 4]]
    normalizer x=[[1, -4], [0, 0]] -> [[1, -4], [0, 0]]
    normalizer x=[[1, -3], [0, 0]]; norm='L1' -> [[0.25, -0.75], [0, 0]]
    normalizer x=i64[[3, -4]]; norm='L2' -> [[0.6, -0.8]]
    normalizer x=f32(0,3) -> f32(0,3)
    normalizer x=[[1, 2]]; norm='L3' -> error: norm is 'L3'; expected MAX, L1 or L2
    imputer x=i64[[0, 1], [2, 0]]; imputed_value_int64s=(7, 8) -> i64[[7, 1], [2, 8]]
    imputer x=i32[[0, 1], [5, 5]]; imputed_value_int64s=(7,) replaced_value_int64=5 -> i32[[0, 1], [7, 7]]
    imputer x=[[0, 1]] -> error: imputed_value_floats is empty
    one_hot_encoder x=i64[2, 5, 1]; cats_int64s=(1, 2, 1) -> [[0, 1, 0], [0, 0, 0], [0, 0, 1]]
    one_hot_encoder x=f64[[1.5]]; cats_int64s=(1, 2) -> [[[1, 0]]]
    one_hot_encoder x=i32[2, 5]; cats_int64s=(1, 2) zeros=0 -> error: an element is no category, and zeros is 0
  )");
}

}  // namespace
}  // namespace rondel::test
