// Weights of a few bits, in blocks with a scale each.
#include "frontends/onnx/microsoft/parts.h"

namespace rondel::onnx {
namespace {

/// The numbers of `bits` bits that each byte of x holds along the last axis, the lowest first.
ValueId unpacked(const Call& c, ValueId x, std::int64_t bits) {
  if (bits == 8) return x;
  const auto rank = c.rank(x);
  if (!rank || *rank == 0)
    unsupported(
        "numbers of {} bits in {}; expected a known rank, and an axis along which they are "
        "packed",
        bits, ir::to_text(c.type(x)));
  const auto in_byte = static_cast<std::size_t>(8 / bits);
  Tensor shifts(DType::u8, {static_cast<std::int64_t>(in_byte)});
  for (std::size_t k = 0; k < in_byte; ++k)
    shifts.data_as<std::uint8_t>()[k] = static_cast<std::uint8_t>(k *
                                                                  static_cast<std::size_t>(bits));
  const auto mask = static_cast<std::uint8_t>((1 << bits) - 1);
  const ValueId shifted = c.one("BitShift", {unsqueezed(c, x, {-1}), c.constant(std::move(shifts))},
                                {{"direction", std::string("RIGHT")}});
  const ValueId parts = c.one("BitwiseAnd", {shifted, c.constant(Tensor::scalar(mask))});
  ir::Ints shape(static_cast<std::size_t>(*rank), 0);
  shape.back() = -1;
  return reshaped(c, parts, shape);
}

/// The length of a block: a power of 2 from 16 on.
std::int64_t block_size(const Call& c) {
  const std::int64_t size = count(c, "block_size");
  if (size < 16 || (size & (size - 1)) != 0) refuse_attribute(c, "block_size");
  return size;
}

/// The shape of MatMulNBits' weights: N rows of K numbers in blocks.
struct BlockShape {
  std::int64_t rows, columns, size, bits;
  std::int64_t blocks() const { return (columns + size - 1) / size; }
  /// The number of bytes that hold `n` numbers.
  std::int64_t bytes(std::int64_t n) const { return (n * bits + 7) / 8; }
};

/// One zero point for each block [N, blocks, 1]: in bytes like the weights, or as floats; else the
/// middle of the range.
ValueId block_zero_points(Call& c, const BlockShape& s, DType t) {
  if (!c.has(3)) return c.number(t, static_cast<double>(std::int64_t{1} << (s.bits - 1)));
  if (dtype_of(c, c.in(3)) != DType::u8)
    return unsqueezed(c, cast(c, with_shape(c, 3, {s.rows, s.blocks()}, true), t), {2});
  const ValueId rows = unpacked(c, with_shape(c, 3, {s.rows, s.bytes(s.blocks())}, true), s.bits);
  const ValueId used = sliced(c, rows, c.integers({0}), c.integers({s.blocks()}), 1);
  return unsqueezed(c, cast(c, used, t), {2});
}

/// The block of each column, i64[K], which input g_idx gives for the columns or, as ONNX Runtime
/// allows, for whole blocks.
ValueId blocks_of_columns(Call& c, const BlockShape& s) {
  constexpr std::size_t k = 4;
  require_rank(c, k, 1);
  const ir::Extent given = c.type(c.in(k)).extent(0);
  const std::int64_t whole = s.blocks() * s.size;
  const std::string wanted = whole == s.columns
                                 ? fmt::format("{} elements", whole)
                                 : fmt::format("{} or {} elements", s.columns, whole);
  require(!given.known() || given.value == s.columns || given.value == whole, "{}; expected {}",
          input_text(c, k), wanted);
  if (!given.known()) {
    const auto has = [&](std::int64_t n) {
      return c.one("Equal", {extent(c, c.in(k), 0), c.integers({n})});
    };
    require_in_run(c, c.one("Or", {has(s.columns), has(whole)}),
                   fmt::format("'g_idx' has in the run not {}", wanted));
  }
  const ValueId blocks = cast(c, c.in(k), DType::i64);
  const ValueId used = given.value == s.columns
                           ? blocks
                           : sliced(c, blocks, c.integers({0}), c.integers({s.columns}), 0);
  return bounded(c, used, c.integer(s.blocks() - 1), "g_idx has {}; expected 0 to {}", 0);
}

/// The weights [N, K] as floats: (B - zero_point) * scale, block by block.
ValueId dequantized_blocks(Call& c, const BlockShape& s, DType t) {
  const ValueId numbers = cast(
      c, unpacked(c, with_shape(c, 1, {s.rows, s.blocks(), s.bytes(s.size)}), s.bits), t);
  const ValueId zero = block_zero_points(c, s, t);
  const ValueId scale = unsqueezed(c, cast(c, with_shape(c, 2, {s.rows, s.blocks()}, true), t),
                                   {2});
  if (!c.has(4)) {
    const ValueId blocks = times(c, minus(c, numbers, zero), scale);
    return sliced(c, reshaped(c, blocks, {s.rows, -1}), c.integers({0}), c.integers({s.columns}),
                  1);
  }
  const ValueId block_of = blocks_of_columns(c, s);
  const auto by_column = [&](ValueId v) {
    const ValueId rows = c.one("Squeeze", {v, c.integers({2})});
    return c.one("Gather", {rows, block_of}, {{"axis", std::int64_t{1}}});
  };
  const ValueId all = sliced(c, reshaped(c, numbers, {s.rows, -1}), c.integers({0}),
                             c.integers({s.columns}), 1);
  const ValueId centered = minus(c, all, c.has(3) ? by_column(zero) : zero);
  return times(c, centered, by_column(scale));
}

/// A @ B^T + bias. `accuracy_level` says how far A may be rounded; it is not rounded at all.
std::vector<ValueId> mat_mul_n_bits(Call& c) {
  const std::int64_t bits = integer(c, "bits");
  if (bits != 2 && bits != 4 && bits != 8) refuse_attribute(c, "bits");
  const BlockShape s{count(c, "N"), count(c, "K"), block_size(c), bits};
  refuse_unless(c, "weight_prepacked", std::int64_t{0});
  const ValueId a = wide_in(c, 0);
  const ValueId weights = dequantized_blocks(c, s, dtype_of(c, a));
  const ValueId y = c.one("MatMul", {a, transposed(c, weights, {1, 0})});
  return {as_first(c, c.has(5) ? plus(c, y, wide(c, with_shape(c, 5, {s.rows}))) : y)};
}

/// The 16 numbers that MatMulBnb4's weights are made of: as floats of 4 bits, and at quantiles of
/// the normal distribution (bitsandbytes).
constexpr float fp4[] = {
    0.0F,  5.208333333e-03F,  0.66666667F,  1.0F,  0.33333333F,  0.5F,  0.16666667F,  0.25F,
    -0.0F, -5.208333333e-03F, -0.66666667F, -1.0F, -0.33333333F, -0.5F, -0.16666667F, -0.25F};
constexpr float nf4[] = {-1.0F,
                         -0.6961928009986877F,
                         -0.5250730514526367F,
                         -0.39491748809814453F,
                         -0.28444138169288635F,
                         -0.18477343022823334F,
                         -0.09105003625154495F,
                         0.0F,
                         0.07958029955625534F,
                         0.16093020141124725F,
                         0.24611230194568634F,
                         0.33791524171829224F,
                         0.44070982933044434F,
                         0.5626170039176941F,
                         0.7229568362236023F,
                         1.0F};

/// A @ W^T, where W [N, K] is a list of numbers of 4 bits, the high ones first, in blocks that have
/// a scale each.
std::vector<ValueId> mat_mul_bnb4(Call& c) {
  const std::int64_t rows = count(c, "N"), columns = count(c, "K"), size = count(c, "block_size"),
                     kind = c.attributes.i("quant_type");
  if (kind != 0 && kind != 1) refuse_attribute(c, "quant_type");
  refuse_unless(c, "training_mode", std::int64_t{0});
  refuse_unless(c, "transB", std::int64_t{1});
  const ValueId a = wide_in(c, 0), bytes = reshaped(c, c.in(1), {-1, 1});
  const DType t = dtype_of(c, a);
  const ValueId low_first = reshaped(c, unpacked(c, bytes, 4), {-1, 2});
  const ValueId places = c.one("Gather", {low_first, c.integers({1, 0})},
                               {{"axis", std::int64_t{1}}});
  const std::int64_t blocks = (rows * columns + size - 1) / size;
  const std::int64_t held = 2 * ((rows * columns + 1) / 2);
  const ValueId table = c.constant(Tensor::from<float>({16}, std::span(kind == 0 ? fp4 : nf4)));
  const ValueId numbers = c.one(
      "Gather", {cast(c, table, t), cast(c, reshaped(c, places, {held}), DType::i32)});
  const ValueId full = c.one("Pad", {numbers, c.integers({0, blocks * size - held})});
  const ValueId scales = reshaped(c, cast(c, c.in(2), t), {blocks, 1});
  const ValueId list = reshaped(c, times(c, reshaped(c, full, {blocks, size}), scales), {-1});
  const ValueId used = sliced(c, list, c.integers({0}), c.integers({rows * columns}), 0);
  const ValueId weights = reshaped(c, used, {rows, columns});
  return {as_first(c, c.one("MatMul", {a, transposed(c, weights, {1, 0})}))};
}

/// Requires that input k is as long on the axis as ceil(n * factor / divisor), where n is the
/// length of input `of`.
void require_length(const Call& c, std::size_t k, std::size_t of, std::int64_t axis,
                    std::int64_t factor, std::int64_t divisor) {
  if (!c.has(k)) return;
  const ir::Extent given = c.type(c.in(k)).extent(axis), whole = c.type(c.in(of)).extent(axis);
  if (given.known() && whole.known()) {
    const std::int64_t wanted = (whole.value * factor + divisor - 1) / divisor;
    require(given.value == wanted, "{}; expected {} on axis {} beside {}", input_text(c, k), wanted,
            axis, input_text(c, of));
    return;
  }
  const ValueId elements = times(c, extent(c, c.in(of), axis), c.integer(factor));
  const ValueId wanted = c.one("Div",
                               {plus(c, elements, c.integer(divisor - 1)), c.integer(divisor)});
  require_in_run(c, c.one("Equal", {extent(c, c.in(k), axis), wanted}),
                 fmt::format("{} and {}: their lengths on axis {} do not agree", input_text(c, k),
                             input_text(c, of), axis));
}

/// Slices of quantised data along gather_axis, as floats: data and zero points of 4 bits, or of
/// `bits` and packed in bytes along the last axis, with one scale for each block along
/// quantize_axis.
std::vector<ValueId> gather_block_quantized(Call& c) {
  const std::int64_t rank = known_rank(c, 0), bits = integer(c, "bits");
  const auto axis_of = [&](std::string_view name) {
    const std::int64_t axis = integer(c, name);
    require(axis >= -rank && axis < rank, "attribute '{}' = {}; the data have {} axes", name, axis,
            rank);
    return axis < 0 ? axis + rank : axis;
  };
  const std::int64_t from = axis_of("gather_axis"), along = axis_of("quantize_axis");
  if (bits != 2 && bits != 4 && bits != 8) refuse_attribute(c, "bits");
  if (from == along) refuse_attribute(c, "gather_axis");
  const DType held = dtype_of(c, c.in(0));
  if (held == DType::u8 && along != rank - 1) refuse_attribute(c, "quantize_axis");
  const bool packed = held == DType::u8 && bits < 8;
  const std::int64_t size = block_size(c);
  for (const std::size_t k : {2U, 3U}) {
    require_rank(c, k, rank);
    for (std::int64_t a = 0; a < rank; ++a)
      if (a != along) require_extent_of(c, k, a, 0, a);
  }
  require_length(c, 2, 0, along, packed ? 8 / bits : 1, size);
  require_length(c, 3, 2, along, packed ? bits : 1, packed ? 8 : 1);
  const auto numbers = [&](std::size_t k) {
    return held == DType::u8 ? unpacked(c, c.in(k), bits) : c.in(k);
  };
  const auto chosen = [&](ValueId v) { return c.one("Gather", {v, c.in(1)}, {{"axis", from}}); };
  const ValueId scale = chosen(c.in(2));
  ValueId zero = ValueId::none;
  if (c.has(3)) {
    const ValueId blocks = extent(c, c.in(2), rank - 1);
    const ValueId all = numbers(3);
    zero = chosen(held == DType::u8 ? sliced(c, all, c.integers({0}), blocks, rank - 1) : all);
  } else if (held == DType::u8) {
    const auto middle = static_cast<std::uint8_t>(1 << (bits - 1));
    zero = c.one("Expand", {c.constant(Tensor::scalar(middle)), c.one("Shape", {scale})});
  }
  const std::int64_t moved = known_rank(c, 1) - 1;
  return {c.one("DequantizeLinear", {chosen(numbers(0)), scale, zero},
                {{"axis", along > from ? along + moved : along}, {"block_size", size}})};
}

}  // namespace

std::span<const Rule> microsoft_few_bits_rules() {
  static constexpr Rule rules[] = {
      microsoft_rule("MatMulNBits", mat_mul_n_bits),
      microsoft_rule("MatMulBnb4", mat_mul_bnb4),
      microsoft_rule("GatherBlockQuantized", gather_block_quantized),
  };
  return rules;
}

}  // namespace rondel::onnx
