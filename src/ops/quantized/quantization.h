#pragma once
#include "ops/meaning.h"

/// Shared by quantize_linear and dequantize_linear. Scale and zero point (inputs 1 and 2) are given
/// for the whole tensor (one element), for each index along `axis` (rank 1), or for each block of
/// `block_size` elements along `axis` (the same rank as the tensor).
namespace rondel::ops {

/// The scale or the zero point (input `operand`) for the element of x at `index`.
Ex load_parameter(Emitter&, std::size_t operand, const Indices& index);

/// The axis along which scales differ. For a tensor of rank 1 it is the only axis; the attribute
/// `axis` is ignored.
std::int64_t scaled_axis(const ir::Attributes&, std::int64_t rank);
/// Whether a scale of this type certainly applies to the whole tensor.
bool has_one_scale(const ir::Type&);
/// Whether each scale applies to a block of the tensor.
bool has_blocks(const ir::Attributes&, std::int64_t rank, std::int64_t scale_rank);

/// Requires that the types of scale and zero point fit the tensor, as far as they are known.
void require_granularity(const ir::TypeContext&);

/// Whether it is a float or integer format that values can be quantized to.
bool is_quantized(DType);
/// Requires that input k has a dtype that a scale can have.
void require_scale(const ir::TypeContext&, std::size_t k);

/// i8 and u8, which integer products take.
std::span<const DType> byte_dtypes();
/// Requires that inputs 0 and 1 are bytes, and that their zero points, if given as inputs 2 and 3,
/// have their dtypes.
void require_bytes(const ir::TypeContext&);

/// The type for arithmetic on `t`: f32 if `t` is an integer or a float of at most 8 bits, else `t`.
DType arithmetic_type(DType t);

}  // namespace rondel::ops
