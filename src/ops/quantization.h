#pragma once
#include "ops/meaning.h"

/// What quantize_linear and dequantize_linear share: scale and zero point (inputs 1 and 2) are
/// given for the whole tensor (one element), for each index of `axis` (rank 1), or for each block
/// of `block_size` elements along it (the tensor's own rank).
namespace rondel::ops {

/// The scale or zero point of the element at `index`.
Ex load_granule(Emitter&, std::size_t operand, const Indices& index);

/// Checks that scale and zero point fit the tensor, as far as types tell.
void require_granularity(const ir::TypeContext&);

/// The float formats and integers that values are quantized to.
bool is_quantized(DType);
/// Requires input k to be of a type that a scale can have.
void require_scale(const ir::TypeContext&, std::size_t k);

/// The type that arithmetic asked for in `t` is done in: f32 where `t` has none of its own.
DType arithmetic_type(DType t);

}  // namespace rondel::ops
