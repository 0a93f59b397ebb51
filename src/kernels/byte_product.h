#pragma once
#include "kernels/stop_check.h"
#include "kernels/workspace.h"

#include <cstdint>

/// Products of matrices of bytes, with exact sums that wrap in 32 bits. Internal to the integer
/// product and the integer convolution.
namespace rondel::kernels {

/// A row-major block of i8 or u8 elements.
struct Bytes {
  const void* data;
  bool is_signed;

  std::int32_t operator[](std::int64_t i) const {
    return is_signed ? std::int32_t{static_cast<const std::int8_t*>(data)[i]}
                     : std::int32_t{static_cast<const std::uint8_t*>(data)[i]};
  }
  Bytes operator+(std::int64_t offset) const {
    return {static_cast<const char*>(data) + offset, is_signed};
  }
};

/// Rows of bytes minus their zero points, and the sum of each row.
struct CenteredRows {
  std::int16_t* elements = nullptr;
  std::int32_t* sums = nullptr;
  std::int64_t count = 0, depth = 0;

  /// Elements from one row to the next: `depth`, made even with a zero.
  std::int64_t step() const { return depth + depth % 2; }
  void lay_out(Workspace&);
  /// Fills row i with `depth` elements minus `zero`.
  void fill(std::int64_t i, Bytes row, std::int32_t zero) const;
};

/// Elements of the buffer that `multiply_bytes` needs for products of this depth.
std::int64_t panel_size(std::int64_t depth);

/// c[m, n] = the sum over k of a[m, k] * (b[k, n] - zeros[n]), for all rows of a and n < columns.
/// Steps are elements from one row to the next.
void multiply_bytes(StopCheck&, const CenteredRows& a, Bytes b, std::int64_t b_step,
                    std::int64_t columns, const std::int32_t* zeros, std::int32_t* c,
                    std::int64_t c_step, std::int16_t* panel);

}  // namespace rondel::kernels
