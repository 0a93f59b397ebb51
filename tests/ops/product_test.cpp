#include "ops/op_test.h"

#include <gtest/gtest.h>

namespace rondel::test {
namespace {

TEST(MatMul, Shapes) {
  check_ops(R"(
    mat_mul a=[[1, 2], [3, 4]] b=[[5, 6], [7, 8]] -> [[19, 22], [43, 50]]
    mat_mul a=[1, 2] b=[[5, 6], [7, 8]] -> [19, 22]
    mat_mul a=[[1, 2], [3, 4]] b=[5, 6] -> [17, 39]
    mat_mul a=[1, 2] b=[3, 4] -> 11
    mat_mul a=[[[1, 2]], [[3, 4]]] b=[[1], [10]] -> [[[21]], [[43]]]
    mat_mul a=[[1, 2]] b=[[[1], [10]], [[2], [20]]] -> [[[21]], [[42]]]
    mat_mul a=[[[1, 2], [3, 4]], [[5, 6], [7, 8]]] b=[[1], [10]] -> [[[21], [43]], [[65], [87]]]
    mat_mul a=[[[[1, 2]], [[3, 4]]]] b=[[1, 0], [10, 1]] -> [[[[21, 2]], [[43, 4]]]]
    mat_mul a=[1, 2] b=[[[1], [10]], [[2], [20]]] -> [[21], [42]]
    mat_mul a=[[[[1, 2]]]] b=[[[1], [10]], [[2], [20]]] -> [[[[21]], [[42]]]]
    mat_mul a=[[1, 3], [2, 4]] b=[[5, 7], [6, 8]]; transpose_a=1 transpose_b=1 -> [[19, 22], [43, 50]]
    mat_mul a=i32[[2147483647, 1]] b=i32[[2], [0]] -> i32[[-2]]
    mat_mul a=u64[[1, 2]] b=u64[[3], [4]] -> u64[[11]]
    mat_mul a=f64[[0.5]] b=f64[[4]] -> f64[[2]]
    mat_mul a=f32(2,0) b=f32(0,2) -> [[0, 0], [0, 0]]
    mat_mul a=f32(8,64) b=f32(32,8) -> error: inner extents 64 and 32 differ
    mat_mul a=f32(2,3,4) b=f32(5,4,3) -> error: extents 2 and 5 of axis -1 do not broadcast
    mat_mul a=1 b=[1] -> error: rank 1 or more
  )");
}

TEST(MatMul, NarrowFloatsSumInSingle) {
  check_ops("mat_mul a=f16[[2048, 1, 1, 1]] b=f16[[1], [1], [1], [1]] -> f16[[2052]]");
}

TEST(Gemm, ScalesAndAdds) {
  check_ops(R"(
    gemm a=[[1, 2], [3, 4]] b=[[5, 6], [7, 8]] -> [[19, 22], [43, 50]]
    gemm a=[[1, 2], [3, 4]] b=[[5, 6], [7, 8]] c=[1, 2]; alpha=0.5 beta=2.0 -> [[11.5, 15], [23.5, 29]]
    gemm a=[[1, 3], [2, 4]] b=[[5, 7], [6, 8]] c=3; transA=1 transB=1 -> [[22, 25], [46, 53]]
    gemm a=i32[[1, 2]] b=i32[[3], [4]] c=i32[[1]] -> i32[[12]]
    gemm a=f32(2,3) b=f32(4,5) -> error: inner extents 3 and 4 differ
    gemm a=f32(2,3) b=f32(3,5) c=f32(4) -> error: extents 5 and 4 of axis -1 do not broadcast
  )");
}

TEST(Einsum, Equations) {
  check_ops(R"(
    einsum a=[[1, 2], [3, 4]] b=[[5, 6], [7, 8]]; equation='ij,jk->ik' -> [[19, 22], [43, 50]]
    einsum a=[[1, 2], [3, 4]] b=[[5, 6], [7, 8]]; equation='ij,jk' -> [[19, 22], [43, 50]]
    einsum a=[[1, 2], [3, 4]]; equation='ij->ji' -> [[1, 3], [2, 4]]
    einsum a=[[1, 2], [3, 4]]; equation='ii->i' -> [1, 4]
    einsum a=[[1, 2], [3, 4]]; equation='ij->i' -> [3, 7]
    einsum a=[[1, 2], [3, 4]]; equation='...->...' -> [[1, 2], [3, 4]]
    einsum a=[[[1, 2]], [[3, 4]]] b=[[1], [10]]; equation='...ij, jk -> ...ik' -> [[[21]], [[43]]]
    einsum a=[1, 2] b=[3, 4]; equation='i,i' -> 11
    einsum a=[[1, 2, 3]] b=[4, 5, 6]; equation='ij,j->i' -> [32]
    einsum a=[1, 2, 3] b=[[1, 4], [2, 5], [3, 6]]; equation='j,jk' -> [14, 32]
    einsum a=[[1, 2], [3, 4]] b=[[5, 6], [7, 8]]; equation='ji,kj->ki' -> [[23, 34], [31, 46]]
    einsum a=[[[1, 2], [3, 4]]] b=[[[5, 6], [7, 8]]]; equation='bij,bij->b' -> [70]
    einsum a=[[[1, 2], [3, 4]]] b=[[[5, 6], [7, 8]]]; equation='abi,cdi->dbca' -> [[[[17]], [[39]]], [[[23]], [[53]]]]
    einsum a=[[[1, 2]], [[3, 4]]] b=[[[5], [6]], [[7], [8]]]; equation='...ij,...jk->...ik' -> [[[17]], [[53]]]
    einsum a=i32[[1, 2], [3, 4]] b=i32[[5, 6], [7, 8]]; equation='ij,jk->ki' -> i32[[19, 43], [22, 50]]
    einsum a=[[0.1, 0.7, 0.3], [1.1, 0.2, 3.7]] b=[[0.3, 0.9], [5.1, 0.11], [0.77, 2.3]]; equation='ij,jk->ik' -> [[3.831, 0.857], [4.199, 9.522]]
    einsum a=(0,2) b=(2,3); equation='ij,jk->ik' -> (0,3)
    einsum a=(2,0) b=(0,3); equation='ij,jk->ik' -> (2,3)
    einsum a=[1, 2] b=[3, 4] c=[5]; equation='i,j,k->ijk' -> [[[15], [20]], [[30], [40]]]
    einsum a=[1, 2]; equation='ij->i' -> error: term 0 names 2 axes
    einsum a=[1, 2]; equation='i->j' -> error: the result has 'j', which no term has
  )");
}

TEST(Conv, Windows) {
  check_ops(R"(
    conv x=[[[1, 2, 3, 4]]] w=[[[1, 10]]] -> [[[21, 32, 43]]]
    conv x=[[[1, 2, 3, 4]]] w=[[[1, 10]]] b=[100] -> [[[121, 132, 143]]]
    conv x=[[[1, 2, 3, 4]]] w=[[[1, 10]]]; pads=(1, 1) -> [[[10, 21, 32, 43, 4]]]
    conv x=[[[1, 2, 3, 4]]] w=[[[1, 10]]]; strides=(2) -> [[[21, 43]]]
    conv x=[[[1, 2, 3, 4]]] w=[[[1, 10]]]; dilations=(2) -> [[[31, 42]]]
    conv x=[[[1, 2, 3, 4]]] w=[[[1, 1, 1]]]; auto_pad='SAME_UPPER' -> [[[3, 6, 9, 7]]]
    conv x=[[[1, 2, 3]]] w=[[[1, 10]]]; auto_pad='SAME_LOWER' -> [[[10, 21, 32]]]
    conv x=[[[1, 2, 3]]] w=[[[1, 10]]]; auto_pad='VALID' -> [[[21, 32]]]
    conv x=[[[1, 2], [3, 4]]] w=[[[1], [10]], [[2], [20]]] -> [[[31, 42], [62, 84]]]
    conv x=[[[1, 2], [3, 4]]] w=[[[5]], [[7]]]; group=2 -> [[[5, 10], [21, 28]]]
    conv x=[[[[1, 2], [3, 4]]]] w=[[[[1, 10], [100, 1000]]]] -> [[[[4321]]]]
    conv x=[[[[1, 2], [3, 4]]]] w=[[[[1]]]]; pads=(0, 1, 0, 0) -> [[[[0, 1, 2], [0, 3, 4]]]]
    conv x=f64[[[[[1, 2], [3, 4]]]]] w=f64[[[[[2]]]]] -> f64[[[[[2, 4], [6, 8]]]]]
    conv x=f16[[[1, 2]]] w=f16[[[3]]] -> f16[[[3, 6]]]
    conv x=bf16[[[1, 2]]] w=bf16[[[3]]] -> bf16[[[3, 6]]]
    conv x=f32(1,3,4) w=f32(1,2,2) -> error: x has 3 channels; w expects 2 of them
    conv x=f32(1,1,2) w=f32(1,1,3) -> error: a window that reaches over 3 does not fit into 2
    conv x=f32(1,1,4) w=f32(1,1,3); kernel_shape=(2) -> error: kernel_shape has 2 where w has 3
  )");
}

TEST(Pool, Windows) {
  check_ops(R"(
    max_pool x=[[[1, 3, 2, 4]]]; kernel_shape=(2) -> [[[3, 3, 4]]]
    max_pool x=[[[1, 3, 2, 4, 0]]]; kernel_shape=(2) strides=(2) ceil_mode=1 -> [[[3, 4, 0]]]
    max_pool x=[[[1, 3, 2, 4, 0]]]; kernel_shape=(2) strides=(2) -> [[[3, 4]]] & i64[[[1, 3]]]
    max_pool x=[[[[1, 2], [3, 4]]]]; kernel_shape=(2, 1) storage_order=1 -> [[[[3, 4]]]] & i64[[[[1, 3]]]]
    max_pool x=[[[1, 3, 2]]]; kernel_shape=(3) pads=(1, 1) -> [[[3, 3, 3]]]
    max_pool x=u8[[[1, 3, 2]]]; kernel_shape=(2) -> u8[[[3, 3]]]
    max_pool x=[[[1, 2, 3, 4]]]; kernel_shape=(2) dilations=(2) -> [[[3, 4]]]
    max_pool x=[[[5]]]; kernel_shape=(2) dilations=(5) pads=(3, 3) -> [[[0, 0]]] & i64[[[-1, -1]]]
    average_pool x=[[[1, 3, 2, 4]]]; kernel_shape=(2) -> [[[2, 2.5, 3]]]
    average_pool x=[[[1, 3, 2]]]; kernel_shape=(3) pads=(1, 1) -> [[[2, 2, 2.5]]]
    average_pool x=[[[1, 3, 2]]]; kernel_shape=(3) pads=(1, 1) count_include_pad=1 -> [[[1.333333, 2, 1.666667]]]
    average_pool x=[[[1, 3, 5]]]; kernel_shape=(2) strides=(2) ceil_mode=1 -> [[[2, 5]]]
    max_pool x=f32(2,3); kernel_shape=(2) -> error: expected rank 3
  )");
}

TEST(Pool, Undone) {
  check_ops(R"(
    max_unpool x=[[[1, 2]]] indices=i64[[[1, 2]]]; kernel_shape=(2,) strides=(2,) -> [[[0, 1, 2, 0]]]
    max_unpool x=[[[1, 2]]] indices=i64[[[1, 2]]] shape=i64[1, 1, 5]; kernel_shape=(2,) strides=(2,) -> [[[0, 1, 2, 0, 0]]]
    max_unpool x=[[[1], [2]]] indices=i64[[[0], [3]]]; kernel_shape=(2,) -> [[[1, 0], [0, 2]]]
    max_unpool x=f32(0,1,2) indices=i64(0,1,2); kernel_shape=(3,) pads=(1, 0) -> f32(0,1,3)
    max_unpool x=[[[1]]] indices=i64[[[2]]]; kernel_shape=(2,) -> error: index 2 is out of range for extent 2
    max_unpool x=f32(1,1,2) indices=i64(1,1,3); kernel_shape=(2,) -> error: differ in shape
    max_unpool x=f32(1,1,1) indices=i64(1,1,1); kernel_shape=(1,) pads=(1, 1) -> error: -1
  )");
}

TEST(Det, OfMatrices) {
  check_ops(R"(
    det x=[[1, 2], [3, 4]] -> -2
    det x=[[[0, 1], [1, 0]], [[2, 4], [1, 2]]] -> [-1, 0]
    det x=f64[[2, 0, 1], [1, 3, 2], [1, 1, 4]] -> f64 18
    det x=f16[[1, 2], [3, 4]] -> f16 -2
    det x=f32(3,0,0) -> [1, 1, 1]
    det x=f32(0,2,2) -> f32(0)
    det x=[[nan, 1], [1, 1]] -> nan
    det x=f32(2,3) -> error: matrices of 2 rows and 3 columns; expected square matrices
    det x=f32(2) -> error: expected square matrices in its last two axes
  )");
}

TEST(TopK, Orders) {
  check_ops(R"(
    top_k x=[[0, 1, 2, 3], [4, 7, 6, 5]] k=i64[3] -> [[3, 2, 1], [7, 6, 5]] & i64[[3, 2, 1], [1, 2, 3]]
    top_k x=[[0, 1, 2, 3], [4, 7, 6, 5]] k=i64[2]; largest=0 -> [[0, 1], [4, 5]] & i64[[0, 1], [0, 3]]
    top_k x=[[0, 5], [3, 1]] k=i64[1]; axis=0 -> [[3, 5]] & i64[[1, 0]]
    top_k x=i32[2, 2, 2] k=i64[2] -> i32[2, 2] & i64[0, 1]
    top_k x=[1, nan, 2] k=i64[2] -> [nan, 2] & i64[1, 2]
    top_k x=f16[1, 3] k=i64[1] -> f16[3] & i64[1]
    top_k x=[1, 2] k=i64[0] -> f32(0) & i64(0)
    top_k x=[1, 2] k=i64[3] -> error: k is 3, but the axis has only 2 elements
  )");
}

}  // namespace
}  // namespace rondel::test
