#pragma once
#include "kernels/unsized_kernel.h"

#include <cstdint>

/// Rows from maps (input 0): y is [1, n]. Of equal keys of a map, the last counts.
namespace rondel::kernels {

/// The values of the map's keys in the order of the vocabulary, a list of i64 or text; 0 or "" for
/// words that are no keys. A word may be there more than once.
UnsizedKernel values_of_vocabulary(const Tensor& vocabulary);

/// The values of a map from i64 to f32 or text as `to` (f32, i64 or text), in the order of the
/// keys.
UnsizedKernel values_by_key(DType to);
/// The same at the positions that the keys say, of `length`. Keys from there on are left out, keys
/// below 0 are an error. Between them are zeros; in text they are "0.f", as ONNX Runtime has them.
UnsizedKernel values_at_keys(DType to, std::int64_t length);

}  // namespace rondel::kernels
