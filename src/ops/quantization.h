#pragma once
#include "ops/meaning.h"

/// Shared by quantize_linear and dequantize_linear. Scale and zero point (inputs 1 and 2) are given
/// for the whole tensor (one element), for each index of `axis` (rank 1), or for each block of
/// `block_size` elements along it (the tensor's own rank).
namespace rondel::ops {

/// The scale or the zero point (input `operand`) for the element of x at `index`.
Ex load_parameter(Emitter&, std::size_t operand, const Indices& index);

/// The axis that scales go along. A tensor of rank 1 has one axis, so `axis` is not read.
std::int64_t scaled_axis(const ir::Attributes&, std::int64_t rank);
/// Whether one scale of this type certainly is for the whole tensor.
bool has_one_scale(const ir::Type&);
/// Whether scales are for blocks of a tensor.
bool has_blocks(const ir::Attributes&, std::int64_t rank, std::int64_t scale_rank);

/// Checks that scale and zero point fit the tensor, as far as types tell.
void require_granularity(const ir::TypeContext&);

/// The float formats and integers that values are quantized to.
bool is_quantized(DType);
/// Requires input k to be of a type that a scale can have.
void require_scale(const ir::TypeContext&, std::size_t k);

/// The type of arithmetic for `t`: f32 where `t` is an integer or a float of at most 8 bits.
DType arithmetic_type(DType t);

}  // namespace rondel::ops
