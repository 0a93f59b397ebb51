#pragma once
#include "scalar/program.h"

/// The matrix product of `Contract`, in its plain form: the reference for every faster one.
namespace rondel::scalar {

/// A matrix seen through strides, in elements.
struct Matrix {
  void* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t rows = 0, columns = 0;
  std::int64_t row_stride = 0, column_stride = 0;
};

/// c = a * b with the meaning program.h gives: one accumulator an element, k ascending. `fused`:
/// one fma a step for floats. c must not overlap a or b. False when `stop` ended it before c was
/// complete. Throws Error (internal) on unlike extents.
bool contract(const Matrix& a, const Matrix& b, const Matrix& c, bool fused,
              const std::atomic<std::int32_t>& stop);

struct Product {
  Matrix a, b, c;
};

/// The three matrices of a contract instruction. `views` has one a buffer of the program, locals
/// included; `leading` the values of the instruction's operands.
Product operands_of(const Program&, const Contract&, const View* views,
                    const std::int64_t* leading);

}  // namespace rondel::scalar
