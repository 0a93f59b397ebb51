#pragma once
#include "scalar/program.h"

/// Facts about primitives, for the verifier, the builder and the executors.
namespace rondel::scalar {

/// f32 and f64: the floats arithmetic is done in.
bool is_wide_float(DType);
/// Integers of a byte and more: the integers arithmetic is done in.
bool is_wide_integer(DType);
/// What `cast` goes between, besides f32 <-> f16 and f32 <-> bf16.
bool is_cast_type(DType);
/// Bytes a value takes in a register or buffer; a string counts as its address.
std::size_t value_bytes(DType);
/// Whether an instruction `op` may have the type `t`.
bool takes(Op op, DType t);
/// Whether a primitive `cast` goes from `from` to `to`.
bool casts(DType from, DType to);
bool is_unary(Op);
/// Two operands of the instruction's type; comparisons among them.
bool is_binary(Op);
bool is_comparison(Op);

/// Where each local array begins in the workspace; -1 for parameters.
std::vector<std::int64_t> local_offsets(const Program&);

}  // namespace rondel::scalar
