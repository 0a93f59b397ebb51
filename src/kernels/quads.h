#pragma once
#include "kernels/quad.h"

#include <array>
#include <cstdint>

/// Makes quads of bytes. As `multiply_panel` takes i8 on one side and u8 on the other, elements of
/// the other type change their sign bit: they become 128 more (u8) or less (i8), and so do their
/// zero points.
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
  const std::uint8_t* bytes() const { return static_cast<const std::uint8_t*>(data); }
};

/// What is added to elements when they become i8 or u8.
inline std::int32_t added_as_i8(Bytes b) { return b.is_signed ? 0 : -128; }
inline std::int32_t added_as_u8(Bytes b) { return b.is_signed ? 128 : 0; }

/// A quad of four equal bytes.
inline Quad quad_of(std::int32_t byte) {
  return static_cast<Quad>(static_cast<std::uint32_t>(byte) * 0x01010101U);
}

constexpr std::int64_t quads_of(std::int64_t bytes) { return bytes / 4 + (bytes % 4 != 0); }

/// to[i] = elements 4i to 4i + 3 of a row of `count`, then zeros.
void quads_of_row(const std::uint8_t* row, std::int64_t count, bool change_sign, Quad* to);
/// to[i] = element i of each of four rows; 0 for a row that is null.
void quads_of_rows(const std::array<const std::uint8_t*, 4>& rows, std::int64_t count,
                   bool change_sign, Quad* to);
/// Panels of `width` columns of a matrix, `width` a power of 2 from 8 on: row q of panel p, at
/// to[(p * quads_of(depth) + q) * width], has elements 4q to 4q + 3 of columns p * width and on.
/// Elements beyond the matrix are 0. `step`: from one row to the next.
void quads_of_columns(const std::uint8_t* x, std::int64_t step, std::int64_t depth,
                      std::int64_t columns, std::int64_t width, bool change_sign, Quad* to);
/// As `quads_of_row`, of a row of ones.
void quads_of_ones(std::int64_t count, Quad* to);
/// The sum of `count` elements.
std::int32_t sum_of(Bytes, std::int64_t count);

}  // namespace rondel::kernels
