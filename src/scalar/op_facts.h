#pragma once
#include "scalar/program.h"

/// Facts about primitives, for the verifier, the builder and the executors.
namespace rondel::scalar {

/// f32 and f64: the floats that support arithmetic.
bool is_wide_float(DType);
/// Integers of at least 8 bits: the integers that support arithmetic.
bool is_wide_integer(DType);
/// The types among which `cast` converts, besides f32 <-> f16 and f32 <-> bf16.
bool is_cast_type(DType);
/// Bytes a value takes in a register or buffer; a string counts as its address.
std::size_t value_bytes(DType);
/// Whether `op` supports the instruction type `t`.
bool takes(Op op, DType t);
/// Whether the primitive `cast` converts `from` to `to`.
bool casts(DType from, DType to);
bool is_unary(Op);
/// Whether the op has two operands of the instruction's type; includes comparisons.
bool is_binary(Op);
bool is_comparison(Op);

/// The byte offset of each local array in the workspace; -1 for parameters.
std::vector<std::int64_t> local_offsets(const Program&);

}  // namespace rondel::scalar
