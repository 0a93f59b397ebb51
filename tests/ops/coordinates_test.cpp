#include "ops/op_test.h"

#include <gtest/gtest.h>

namespace rondel::test {
namespace {

TEST(Coordinates, NameElementsAndSlices) {
  check_ops(R"(
    gather_nd x=[[1, 2], [3, 4]] indices=i64[[0, 1], [-1, 0]] -> [2, 3]
    gather_nd x=[[1, 2], [3, 4]] indices=i64[[1]] -> [[3, 4]]
    scatter_nd x=[[1, 2], [3, 4]] indices=i64[[0, 1], [1, 0]] updates=[7, 8] -> [[1, 7], [8, 4]]
    scatter_nd x=[[1, 2], [3, 4]] indices=i64[[1]] updates=[[7, 8]] -> [[1, 2], [7, 8]]
    scatter_nd x=[[1, 2], [3, 4]] indices=i64[[1], [-1]] updates=[[7, 8], [2, 3]]; reduction='add' -> [[1, 2], [12, 15]]
    scatter_nd x=[[1, 2], [3, 4]] indices=i64[[1], [-1]] updates=[[7, 8], [2, 3]]; reduction='mul' -> [[1, 2], [42, 96]]
  )");
}

TEST(Coordinates, Errors) {
  check_ops(R"(
    gather_nd x=[1, 2] indices=i64 0 -> error: indices are i64[]; expected coordinates along their last axis
    scatter_nd x=[1, 2] indices=i64 0 updates=1 -> error: indices are i64[]; expected coordinates along their last axis
    gather_nd x=[1, 2] indices=i64[[2]] -> error: index 2 is out of range for extent 2
  )");
}

}  // namespace
}  // namespace rondel::test
