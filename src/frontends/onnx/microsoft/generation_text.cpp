#include "frontends/onnx/microsoft/generation_text.h"

#include "base/error.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <onnx/defs/parser.h>
#pragma GCC diagnostic pop

#include <string>

namespace rondel::onnx {
namespace {

/// A function of ONNX's text form, without its first line. Kept until the process ends.
const pb::FunctionProto* parsed_text(const std::string& text) {
  auto* f = new pb::FunctionProto;
  const std::string whole = R"(<domain: "rondel.generation", opset_import: ["" : 21]>)" + text;
  ::onnx::OnnxParser parser(whole.c_str());
  const auto status = parser.Parse(*f);
  invariant(status.IsOK(), "{}", status.ErrorMessage());
  return f;
}

/// What the sum of a text's scores is divided by, `length`; `t`, its tokens.
const char* const length_of_text = R"(
  of_sequences = Shape (sequences)
  t = Gather (of_sequences, one)
  t32 = Cast <to = 1> (t)
  by = Reshape (length_penalty, scalar)
  length = Pow (t32, by)
  lowest = Constant <value = float {-3.4028234663852886e38}> ()
)";

/// Texts of `t` tokens, `short` [B,N,T], as long as the hypotheses.
const char* const new_hypotheses = R"(
  of_hypotheses = Shape (hypotheses)
  most = Gather (of_hypotheses, two)
  positions = Range (zero, most, one)
  final = Sub (t, one)
  within = Min (positions, final)
  repeating = Gather <axis = 2> (short, within)
  is_token = Less (positions, t)
  pad64 = Constant <value_int : int = @pad> ()
  pad32 = Cast <to = 6> (pad64)
  new_hypotheses = Where (is_token, repeating, pad32)
)";

}  // namespace

const pb::FunctionProto& prompt_function() {
  static const auto* const f = parsed_text(R"(
prompt <pad> (ids) => (mask, positions, next, since_first) {
  pad64 = Constant <value_int : int = @pad> ()
  pad32 = Cast <to = 6> (pad64)
  is_pad = Equal (ids, pad32)
  is_word = Not (is_pad)
  mask = Cast <to = 6> (is_word)
  axis = Constant <value = int64 {1}> ()
  words = CumSum (mask, axis)
  one = Constant <value = int32 {1}> ()
  before = Sub (words, one)
  positions = Mul (before, mask)
  axes = Constant <value_ints = [1]> ()
  next = ReduceSum (mask, axes)
  since_first = Min (words, one)
})");
  return *f;
}

const pb::FunctionProto& repeated_function() {
  static const auto* const f = parsed_text(R"(
repeated (x, times, rows) => (y) {
  one = Constant <value_ints = [1]> ()
  single = Unsqueeze (x, one)
  several = Expand (single, times)
  rest = Shape <start = 1> (x)
  shape = Concat <axis = 0> (rows, rest)
  y = Reshape (several, shape)
})");
  return *f;
}

const pb::FunctionProto& last_function() {
  static const auto* const f = parsed_text(R"(
last (logits) => (scores) {
  end = Constant <value = int64 {-1}> ()
  wide = Gather <axis = 1> (logits, end)
  scores = Cast <to = 1> (wide)
})");
  return *f;
}

const pb::FunctionProto& remaining_function() {
  static const auto* const f = parsed_text(R"(
remaining (sequences, max_length) => (trips) {
  one = Constant <value_ints = [1]> ()
  most = Cast <to = 7> (max_length)
  most1 = Reshape (most, one)
  length = Shape <start = 1> (sequences)
  left = Sub (most1, length)
  trips = Sub (left, one)
})");
  return *f;
}

const pb::FunctionProto& longer_function() {
  static const auto* const f = parsed_text(R"(
longer (positions, mask) => (y) {
  one = Constant <value = int32 {1}> ()
  shape = Shape (positions)
  ones = Expand (one, shape)
  y = Concat <axis = 1> (mask, ones)
})");
  return *f;
}

const pb::FunctionProto& as_long_function() {
  static const auto* const f = parsed_text(R"(
as_long (past, mask) => (y) {
  one = Constant <value_ints = [1]> ()
  rows = Shape <start = 0, end = 1> (mask)
  length = Shape <start = 3, end = 4> (past)
  longer = Add (length, one)
  shape = Concat <axis = 0> (rows, longer)
  y = Reshape (mask, shape)
})");
  return *f;
}

const pb::FunctionProto& alike_function() {
  static const auto* const f = parsed_text(R"(
alike <axis, after> (first, past) => (y) {
  before = Shape <end : int = @axis> (past)
  length = Shape <start : int = @axis, end : int = @after> (first)
  rest = Shape <start : int = @after> (past)
  shape = Concat <axis = 0> (before, length, rest)
  y = Reshape (past, shape)
})");
  return *f;
}

const pb::FunctionProto& penalized_function() {
  static const auto* const f = parsed_text(R"(
penalized (scores, sequences, penalty) => (y) {
  scalar = Constant <value = int64[0] {}> ()
  by = Reshape (penalty, scalar)
  tokens = Cast <to = 7> (sequences)
  found = GatherElements <axis = 1> (scores, tokens)
  zero = Constant <value = float {0}> ()
  negative = Less (found, zero)
  more = Mul (found, by)
  less = Div (found, by)
  changed = Where (negative, more, less)
  y = ScatterElements <axis = 1> (scores, tokens, changed)
})");
  return *f;
}

const pb::FunctionProto& unrepeated_function() {
  static const auto* const f = parsed_text(R"(
unrepeated <size> (scores, sequences) => (y) {
  zero = Constant <value = int64 {0}> ()
  one = Constant <value = int64 {1}> ()
  n = Constant <value_int : int = @size> ()
  before = Sub (n, one)
  tokens = Cast <to = 7> (sequences)
  shape = Shape (tokens)
  t = Gather (shape, one)
  last = Sub (t, before)
  windows = Max (last, zero)
  starts = Range (zero, windows, one)
  offsets = Range (zero, before, one)
  axis1 = Constant <value_ints = [1]> ()
  axis2 = Constant <value_ints = [2]> ()
  column = Unsqueeze (starts, axis1)
  places = Add (column, offsets)
  seen = Gather <axis = 1> (tokens, places)
  end_places = Add (offsets, last)
  in_range = Max (end_places, zero)
  end = Gather <axis = 1> (tokens, in_range)
  end3 = Unsqueeze (end, axis1)
  equal = Equal (seen, end3)
  unequal = Not (equal)
  counted = Cast <to = 7> (unequal)
  differences = ReduceSum <keepdims = 0> (counted, axis2)
  repeats = Equal (differences, zero)
  next_places = Add (starts, before)
  next = Gather <axis = 1> (tokens, next_places)
  lowest = Constant <value = float {-3.4028234663852886e38}> ()
  highest = Constant <value = float {3.4028234663852886e38}> ()
  most = Where (repeats, lowest, highest)
  y = ScatterElements <axis = 1, reduction = "min"> (scores, next, most)
})");
  return *f;
}

const pb::FunctionProto& long_enough_function() {
  static const auto* const f = parsed_text(R"(
long_enough <eos> (scores, sequences, min_length) => (y) {
  zero = Constant <value = int64 {0}> ()
  one = Constant <value = int64 {1}> ()
  scalar = Constant <value = int64[0] {}> ()
  least64 = Cast <to = 7> (min_length)
  least = Reshape (least64, scalar)
  shape = Shape (sequences)
  t = Gather (shape, one)
  short = Less (t, least)
  of_scores = Shape (scores)
  v = Gather (of_scores, one)
  words = Range (zero, v, one)
  eos64 = Constant <value_int : int = @eos> ()
  is_eos = Equal (words, eos64)
  out = And (is_eos, short)
  lowest = Constant <value = float {-3.4028234663852886e38}> ()
  y = Where (out, lowest, scores)
})");
  return *f;
}

const pb::FunctionProto& allowed_function() {
  static const auto* const f = parsed_text(R"(
allowed (scores, mask) => (y) {
  zero = Constant <value = int32 {0}> ()
  out = Equal (mask, zero)
  lowest = Constant <value = float {-3.4028234663852886e38}> ()
  y = Where (out, lowest, scores)
})");
  return *f;
}

const pb::FunctionProto& likeliest_function() {
  static const auto* const f = parsed_text(R"(
likeliest (scores) => (tokens) {
  best = ArgMax <axis = 1> (scores)
  tokens = Cast <to = 6> (best)
})");
  return *f;
}

const pb::FunctionProto& filtered_function() {
  static const auto* const f = parsed_text(R"(
filtered (scores, filter, least, kept) => (y, tokens) {
  zero = Constant <value = int64 {0}> ()
  one = Constant <value = int64 {1}> ()
  words = Shape <start = 1, end = 2> (scores)
  sorted, tokens = TopK <axis = 1, largest = 0> (scores, words)
  probabilities = Softmax <axis = 1> (sorted)
  sums = CumSum (probabilities, one)
  unlikely = LessOrEqual (sums, least)
  scalar = Constant <value = int64[0] {}> ()
  v = Reshape (words, scalar)
  end = Sub (v, kept)
  places = Range (zero, v, one)
  before = Less (places, end)
  out = And (unlikely, before)
  y = Where (out, filter, sorted)
})");
  return *f;
}

const pb::FunctionProto& filtered_custom_function() {
  static const auto* const f = parsed_text(R"(
filtered_custom (scores, filter, most) => (y, tokens) {
  one = Constant <value = int64 {1}> ()
  words = Shape <start = 1, end = 2> (scores)
  sorted, tokens = TopK <axis = 1> (scores, words)
  probabilities = Softmax <axis = 1> (sorted)
  sums = CumSum <exclusive = 1> (probabilities, one)
  out = Greater (sums, most)
  y = Where (out, filter, sorted)
})");
  return *f;
}

const pb::FunctionProto& drawn_function() {
  static const auto* const f = parsed_text(R"(
drawn (scores, words, seed) => (tokens) {
  one = Constant <value = int64 {1}> ()
  last = Constant <value_ints = [-1]> ()
  axis = Constant <value_ints = [1]> ()
  scalar = Constant <value = int64[0] {}> ()
  probabilities = Softmax <axis = 1> (scores)
  sums = CumSum (probabilities, one)
  total = Gather <axis = 1> (sums, last)
  drawn = RandomUniformLike (total)
  seed0 = Reshape (seed, scalar)
  seed64 = Cast <to = 11> (seed0)
  golden = Constant <value = double {0.6180339887498949}> ()
  turns = Mul (seed64, golden)
  whole = Floor (turns)
  part64 = Sub (turns, whole)
  part = Cast <to = 1> (part64)
  turned = Add (drawn, part)
  below_turned = Floor (turned)
  unit = Sub (turned, below_turned)
  chosen = Mul (unit, total)
  reached = LessOrEqual (sums, chosen)
  inside = Less (sums, total)
  passed = And (reached, inside)
  counted = Cast <to = 7> (passed)
  place = ReduceSum (counted, axis)
  token = GatherElements <axis = 1> (words, place)
  tokens = Cast <to = 6> (token)
})");
  return *f;
}

const pb::FunctionProto& continued_function() {
  static const auto* const f = parsed_text(R"(
continued <eos, pad> (best, sequences, met) => (tokens, longer, now_met, go) {
  eos64 = Constant <value_int : int = @eos> ()
  eos32 = Cast <to = 6> (eos64)
  ends = Equal (best, eos32)
  now_met = Or (met, ends)
  pad64 = Constant <value_int : int = @pad> ()
  pad32 = Cast <to = 6> (pad64)
  tokens = Where (now_met, pad32, best)
  longer = Concat <axis = 1> (sequences, tokens)
  open = Not (now_met)
  open32 = Cast <to = 6> (open)
  rows = ReduceSum <keepdims = 0> (open32)
  zero = Constant <value = int32 {0}> ()
  go = Greater (rows, zero)
})");
  return *f;
}

const pb::FunctionProto& padded_function() {
  static const auto* const f = parsed_text(R"(
padded <pad> (sequences, max_length) => (y) {
  one = Constant <value_ints = [1]> ()
  most64 = Cast <to = 7> (max_length)
  most = Reshape (most64, one)
  length = Shape <start = -1> (sequences)
  missing = Sub (most, length)
  none = Constant <value_ints = [0]> ()
  last = Constant <value_ints = [-1]> ()
  pads = Concat <axis = 0> (none, missing)
  pad64 = Constant <value_int : int = @pad> ()
  pad32 = Cast <to = 6> (pad64)
  y = Pad (sequences, pads, pad32, last)
})");
  return *f;
}

const pb::FunctionProto& first_beams_function() {
  static const auto* const f = parsed_text(R"(
first_beams <pad> (max_length, n, prompts, rows) => (scores, hypothesis_scores, hypotheses, done) {
  zero = Constant <value = int64 {0}> ()
  one = Constant <value = int64 {1}> ()
  ones = Constant <value_ints = [1]> ()
  n1 = Reshape (n, ones)
  by_beam = Concat <axis = 0> (prompts, n1)
  numbers = Range (zero, n, one)
  others = Greater (numbers, zero)
  nothing = Constant <value = float {0}> ()
  far = Constant <value = float {-1e9}> ()
  start = Where (others, far, nothing)
  start2 = Expand (start, by_beam)
  row_column = Concat <axis = 0> (rows, ones)
  scores = Reshape (start2, row_column)
  whole = Constant <value = float {1}> ()
  infinity = Div (whole, nothing)
  least = Neg (infinity)
  hypothesis_scores = Expand (least, by_beam)
  most64 = Cast <to = 7> (max_length)
  most = Reshape (most64, ones)
  by_token = Concat <axis = 0> (by_beam, most)
  pad64 = Constant <value_int : int = @pad> ()
  pad32 = Cast <to = 6> (pad64)
  hypotheses = Expand (pad32, by_token)
  column = Concat <axis = 0> (prompts, ones)
  no = Constant <value = bool {0}> ()
  done = Expand (no, column)
})");
  return *f;
}

const pb::FunctionProto& beams_function() {
  static const auto* const f = parsed_text(std::string() + R"(
beams <eos, pad, early>
  (scores, beam_scores, sequences, hypothesis_scores, hypotheses, done, length_penalty, n, prompts, rows)
  => (tokens, kept_rows, next_scores, longer, next_hypothesis_scores, next_hypotheses, now_done, go) {
  zero = Constant <value = int64 {0}> ()
  one = Constant <value = int64 {1}> ()
  two = Constant <value = int64 {2}> ()
  axis1 = Constant <value_ints = [1]> ()
  axis2 = Constant <value_ints = [2]> ()
  column = Concat <axis = 0> (prompts, axis1)
  row_column = Concat <axis = 0> (rows, axis1)
  list = Constant <value_ints = [-1]> ()
  scalar = Constant <value = int64[0] {}> ()
  first = Constant <value_ints = [0]> ()
  n1 = Reshape (n, list)
  twice = Add (n1, n1)

  sums = Add (scores, beam_scores)
  of_scores = Shape (sums)
  v = Gather (of_scores, one)
  per_prompt = Mul (n1, v)
  by_prompt = Concat <axis = 0> (prompts, per_prompt)
  flat = Reshape (sums, by_prompt)
  top, places = TopK <axis = 1> (flat, twice)
  beam = Div (places, v)
  begins = Mul (beam, v)
  token = Sub (places, begins)
  count = Reshape (prompts, scalar)
  numbers = Range (zero, count, one)
  starts1 = Mul (numbers, n)
  starts = Reshape (starts1, column)
  row = Add (starts, beam)
  eos64 = Constant <value_int : int = @eos> ()
  is_eos = Equal (token, eos64)

  best = Slice (top, first, n1, axis1)
  best_eos = Slice (is_eos, first, n1, axis1)
  best_row = Slice (row, first, n1, axis1)
  open = Not (done)
  ends = And (best_eos, open)
)" + length_of_text + R"(
  per_token = Div (best, length)
  ended = Max (per_token, lowest)
  whole = Constant <value = float {1}> ()
  nothing = Constant <value = float {0}> ()
  infinity = Div (whole, nothing)
  least = Neg (infinity)
  new_scores = Where (ends, ended, least)
  short = Gather <axis = 0> (sequences, best_row)
)" + new_hypotheses + R"(
  all_scores = Concat <axis = 1> (hypothesis_scores, new_scores)
  all_hypotheses = Concat <axis = 1> (hypotheses, new_hypotheses)
  next_hypothesis_scores, kept = TopK <axis = 1> (all_scores, n1)
  kept3 = Unsqueeze (kept, axis2)
  next_hypotheses = GatherND <batch_dims = 1> (all_hypotheses, kept3)

  after = Mul (n, two)
  order = Range (zero, after, one)
  late = Add (order, after)
  key = Where (is_eos, late, order)
  _, chosen = TopK <axis = 1, largest = 0> (key, n1)
  next_best = GatherElements <axis = 1> (top, chosen)
  next_token = GatherElements <axis = 1> (token, chosen)
  next_row = GatherElements <axis = 1> (row, chosen)
  kept_scores = Where (done, nothing, next_best)
  next_scores = Reshape (kept_scores, row_column)
  token32 = Cast <to = 6> (next_token)
  kept_tokens = Where (done, pad32, token32)
  tokens = Reshape (kept_tokens, row_column)
  row_of_beam = Where (done, zero, next_row)
  kept_rows = Reshape (row_of_beam, rows)
  continued = Gather <axis = 0> (sequences, kept_rows)
  longer = Concat <axis = 1> (continued, tokens)

  worst_place = Sub (n, one)
  worst1 = Gather <axis = 1> (next_hypothesis_scores, worst_place)
  worst = Reshape (worst1, column)
  full = Greater (worst, least)
  scores_in_order = Reshape (top, list)
  window = Add (starts, order)
  seen = Gather (scores_in_order, window)
  best_seen = ReduceMax (seen, axis1)
  possible = Div (best_seen, length)
  enough = GreaterOrEqual (worst, possible)
  early64 = Constant <value_int : int = @early> ()
  early = Cast <to = 9> (early64)
  stops = Or (enough, early)
  finished = And (full, stops)
  now_done = Or (done, finished)
  still_open = Not (now_done)
  open32 = Cast <to = 6> (still_open)
  prompts_left = ReduceSum <keepdims = 0> (open32)
  zero32 = Constant <value = int32 {0}> ()
  go = Greater (prompts_left, zero32)
})");
  return *f;
}

const pb::FunctionProto& best_function() {
  static const auto* const f = parsed_text(std::string() + R"(
best <pad>
  (beam_scores, sequences, hypothesis_scores, hypotheses, done, length_penalty, n, k)
  => (y, scores) {
  one = Constant <value = int64 {1}> ()
  scalar = Constant <value = int64[0] {}> ()
  list = Constant <value_ints = [-1]> ()
  axis2 = Constant <value_ints = [2]> ()
  n1 = Reshape (n, list)
  k1 = Reshape (k, list)
)" + length_of_text + R"(
  per_token = Div (beam_scores, length)
  ended = Max (per_token, lowest)
  by_beam = Concat <axis = 0> (list, n1)
  ended2 = Reshape (ended, by_beam)
  whole = Constant <value = float {1}> ()
  nothing = Constant <value = float {0}> ()
  infinity = Div (whole, nothing)
  least = Neg (infinity)
  new_scores = Where (done, least, ended2)
  t1 = Reshape (t, list)
  by_token = Concat <axis = 0> (list, n1, t1)
  short = Reshape (sequences, by_token)
  zero = Constant <value = int64 {0}> ()
  two = Constant <value = int64 {2}> ()
)" + new_hypotheses + R"(
  all_scores = Concat <axis = 1> (hypothesis_scores, new_scores)
  all_hypotheses = Concat <axis = 1> (hypotheses, new_hypotheses)
  kept_scores, places = TopK <axis = 1> (all_scores, k1)
  impossible = LessOrEqual (kept_scores, lowest)
  scores = Where (impossible, least, kept_scores)
  places3 = Unsqueeze (places, axis2)
  y = GatherND <batch_dims = 1> (all_hypotheses, places3)
})");
  return *f;
}

}  // namespace rondel::onnx
