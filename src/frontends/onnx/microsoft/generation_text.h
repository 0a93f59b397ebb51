#pragma once
#include "formats/onnx/proto.h"

namespace rondel::onnx {

// The arithmetic of the generation ops around the decoder, as functions of ONNX's ops. B: prompts;
// R: rows of the decoder, one for each prompt and beam; T: tokens so far; V: words.
// Tokens, positions and masks are int32, scores float.

/// (ids [B,S]) -> mask [B,S], positions [B,S], the position after the prompt [B,1], and a mask
/// [B,S] that is 0 at the pads before the first word only: a later one may be the end of the text.
/// `pad`.
const pb::FunctionProto& prompt_function();
/// (x [B,...], [1, beams, 1, ...], i64[1] R) -> [R,...], each row once for each beam.
const pb::FunctionProto& repeated_function();
/// (logits [R,S,V]) -> the scores of the next token [R,V].
const pb::FunctionProto& last_function();
/// (sequences [R,T], max_length) -> trips after the first, i64[1].
const pb::FunctionProto& remaining_function();
/// (positions [R,1], mask [R,T]) -> the mask of the next trip [R,T+1].
const pb::FunctionProto& longer_function();

/// (past [2,R,N,T,D], mask [R,T+1]) -> the mask, with an extent that is seen to be that of the past
/// and one more. Native loops need to know this.
const pb::FunctionProto& as_long_function();
/// (past 0, past k) -> past k, with an extent on `axis` that is seen to be that of past 0. `after`:
/// the axis after it.
const pb::FunctionProto& alike_function();

// What changes scores: (scores [R,V], sequences [R,T], ...) -> scores.
/// (..., penalty): divides the positive scores of tokens that occur, multiplies negative ones.
const pb::FunctionProto& penalized_function();
/// Excludes tokens that would repeat `size` tokens in a row.
const pb::FunctionProto& unrepeated_function();
/// (..., min_length): excludes `eos` while the sequence is shorter.
const pb::FunctionProto& long_enough_function();
/// (scores, mask [V] or [R,V]): excludes words whose mask is 0.
const pb::FunctionProto& allowed_function();

/// (scores) -> the most probable tokens [R,1].
const pb::FunctionProto& likeliest_function();
/// (scores, filter value, 1 - top_p, how many of the last are kept) -> scores in rising order, with
/// the filter value where the probabilities so far are no more than 1 - top_p; their tokens.
const pb::FunctionProto& filtered_function();
/// (scores, filter value, top_p) -> scores in falling order, with the filter value where the
/// probabilities before are more than top_p; their tokens.
const pb::FunctionProto& filtered_custom_function();
/// (scores, tokens [R,V], seed) -> tokens [R,1], drawn with the probabilities that the scores are
/// logarithms of. The seed turns all draws by the same part of a circle.
const pb::FunctionProto& drawn_function();
/// (best [R,1], sequences, met [B,1]) -> tokens, sequences, met, whether to go on. `eos`, `pad`.
const pb::FunctionProto& continued_function();
/// (sequences [R,T], max_length) -> [R, max_length]. `pad`.
const pb::FunctionProto& padded_function();

// Native loops need to see that the rows of all states are as many: `B` and `R` are given, i64[1].
/// (max_length, beams, B, R) -> scores of the beams [R,1], scores [B,beams] and sequences
/// [B,beams,max_length] of the hypotheses (-inf: there is none; an impossible one has the lowest
/// number), done [B,1]. `pad`.
const pb::FunctionProto& first_beams_function();
/// (scores, beam scores, sequences, hypothesis scores, hypotheses, done, length penalty, beams, B,
/// R) -> tokens [R,1], rows [R] that they continue, and the next of these. `eos`, `pad`, `early`.
const pb::FunctionProto& beams_function();
/// (beam scores, sequences, hypothesis scores, hypotheses, done, length penalty, beams, kept) ->
/// sequences [B,kept,max_length], scores [B,kept]. `pad`.
const pb::FunctionProto& best_function();

}  // namespace rondel::onnx
