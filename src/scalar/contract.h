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

/// c = a * b, as `Contract` in program.h defines it: one accumulator per element, k ascending.
/// `fused`: one fma per step for floats. c must not overlap a or b. Returns false if `stop` was set
/// before c was complete. Throws Error(internal) if the extents do not match.
bool contract(const Matrix& a, const Matrix& b, const Matrix& c, bool fused,
              const std::atomic<std::int32_t>& stop);

struct Product {
  Matrix a, b, c;
};

/// The three matrices of a contract instruction. `views` has one view per buffer of the program,
/// locals included; `leading` has the values of the instruction's operands.
Product operands_of(const Program&, const Contract&, const View* views,
                    const std::int64_t* leading);

}  // namespace rondel::scalar
