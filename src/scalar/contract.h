#pragma once
#include "scalar/program.h"

/// The matrix product of `Contract`, in its plain form: the reference for all faster
/// implementations.
namespace rondel::scalar {

/// A matrix with strides, in elements.
struct Matrix {
  void* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t rows = 0, columns = 0;
  std::int64_t row_stride = 0, column_stride = 0;
};

/// Which products have elements that are dot products: sums over the last axes of both operands,
/// of which one is a single row. These are products of a row with a transposed matrix (c has one
/// row), and products of a matrix that is not transposed with a vector. They are fused, and all
/// their operands are f32 or all f64.
///
/// A dot product is summed in interleaved parts, so that its elements can be read as vectors: part
/// i of n takes k = i, i + n, ... ascending and starts from 0. Then part i + n/2 is added to part
/// i for all i < n/2, then part i + n/4 for i < n/4, and so on, until part 0 is the sum.
enum class DotProducts : std::uint8_t { never, if_one_row, always };
DotProducts dot_products(const Program&, const Contract&);

/// The size of all parts of a sum, a cache line; n is the number of elements of this size.
inline constexpr std::size_t bytes_of_parts = 64;

struct Product {
  Matrix a, b, c;
  bool in_parts = false;  ///< the elements are dot products
};

/// c = a * b, as `Contract` in program.h defines it. `fused`: one fma per step for floats. c must
/// not overlap a or b. Returns false if `stop` was set before c was complete. Throws
/// Error(internal) if the extents do not match.
bool contract(const Product&, bool fused, const std::atomic<std::int32_t>& stop);

/// The three matrices of a contract instruction. `views` has one view per buffer of the program,
/// locals included; `leading` has the values of the instruction's operands.
Product operands_of(const Program&, const Contract&, const View* views,
                    const std::int64_t* leading);

}  // namespace rondel::scalar
