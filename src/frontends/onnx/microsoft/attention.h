#pragma once
#include "frontends/onnx/microsoft/parts.h"

/// What the attention ops share. q, k and v are [batch, heads, length, size], in at least f32.
namespace rondel::onnx {

/// [batch, length, heads * size] as [batch, length, heads, size].
ValueId split_heads(const Call&, ValueId x, std::int64_t heads);
/// The same as [batch, heads, length, size].
ValueId heads_apart(const Call&, ValueId x, std::int64_t heads);

/// The other way round.
ValueId heads_joined(const Call&, ValueId x);

/// Requires that the number of heads of queries is a multiple of that of keys and values.
void require_groups(std::int64_t heads, std::int64_t shared);
/// [batch, heads, length, n] as [batch, groups, heads of a group * length, n], where `k` has the
/// groups on axis 1: the queries that share a key are rows of one product, so that keys and values,
/// which may be long, are read as they are.
ValueId in_groups(const Call&, ValueId x, ValueId k);
/// The other way round, with the heads and the length of `q`.
ValueId in_heads(const Call&, ValueId x, ValueId q);

/// -inf, a scalar.
ValueId minus_infinity(const Call&, DType);
/// The softmax of each row. `maybe_masked`: a row may be -inf only; of such a row, the result and
/// the gradient are 0.
ValueId softmax(const Call&, ValueId scores, bool maybe_masked);

/// q @ k^T times the node's `scale`, or over the root of the size of a head if it has none or 0.
ValueId attention_scores(const Call&, ValueId q, ValueId k);

/// The projections of one input to queries, keys and values, as in Attention: `projected` is
/// [batch, length, sizes of q, k and v]. Masks, past and bias are read from the given inputs.
struct ProjectedAttention {
  ValueId projected = ValueId::none;
  ir::Ints sizes;  ///< of q, k and v; empty: three equal ones
  std::size_t mask = 0, past = 0;
  ValueId bias = ValueId::none;  ///< is added to the scores
};
/// The results of Attention: output and present, in the dtype `t`.
std::vector<ValueId> projected_attention(Call&, const ProjectedAttention&, DType t);

/// x with pairs of elements of each head turned by the angles whose cosines and sines are given.
/// The last axis of `cos` and `sin` has half as many elements as are turned; their other axes are
/// broadcast to those of x. `interleaved`: pairs are neighbours; else halves apart.
ValueId rotated(const Call&, ValueId x, ValueId cos, ValueId sin, bool interleaved);

// The rules of linear_attention.cpp.
std::vector<ValueId> linear_attention(Call&);
std::vector<ValueId> causal_convolution(Call&);

}  // namespace rondel::onnx
