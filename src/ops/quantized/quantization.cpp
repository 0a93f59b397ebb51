#include "ops/quantized/quantization.h"

#include "base/error.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

constexpr std::size_t scale_at = 1, zero_at = 2;

void require_extent(const ir::Extent& given, std::int64_t wanted, std::int64_t axis,
                    std::string_view why) {
  require(!given.known() || given.value == wanted,
          "the scale has extent {} on axis {}; expected {}{}", given.value, axis, wanted, why);
}

/// Requires one scale for each index along the axis.
void require_per_axis(const ir::Type& x, const ir::Type& scale, std::int64_t axis) {
  const ir::Extent& n = x.extent(axis);
  if (n.known()) require_extent(scale.extent(0), n.value, 0, ", or one for the whole tensor");
}

void require_blocks(const ir::Type& x, const ir::Type& scale, std::int64_t axis,
                    std::int64_t block) {
  for (std::int64_t a = 0; a < x.rank(); ++a) {
    if (!x.extent(a).known()) continue;
    const std::int64_t n = x.extent(a).value;
    if (a == axis) require_extent(scale.extent(a), n / block + (n % block != 0), a, " blocks");
    else require_extent(scale.extent(a), n, a, "");
  }
}

void require_same_shape(const ir::Type& scale, const ir::Type& zero) {
  if (!scale.has_rank() || !zero.has_rank() || (has_one_scale(scale) && has_one_scale(zero)))
    return;
  require(scale.rank() == zero.rank(), "the scale is {} and the zero point {}; expected one shape",
          to_text(scale), to_text(zero));
  for (std::int64_t a = 0; a < scale.rank(); ++a) {
    const ir::Extent &s = scale.extent(a), &z = zero.extent(a);
    require(!s.known() || !z.known() || s.value == z.value,
            "the scale is {} and the zero point {}; expected one shape", to_text(scale),
            to_text(zero));
  }
}

}  // namespace

std::int64_t scaled_axis(const ir::Attributes& a, std::int64_t rank) {
  return rank == 1 ? 0 : normal_axis(a.i("axis", 1), rank);
}

bool has_one_scale(const ir::Type& t) {
  if (!t.has_rank()) return false;
  for (const ir::Extent& e : t.extents())
    if (!e.known() || e.value != 1) return false;
  return true;
}

bool has_blocks(const ir::Attributes& a, std::int64_t rank, std::int64_t scale_rank) {
  return a.i("block_size", 0) > 0 && scale_rank == rank && rank > 0;
}

Ex load_parameter(Emitter& e, std::size_t operand, const Indices& index) {
  const std::int64_t rank = static_cast<std::int64_t>(index.size()), own = e.rank(operand);
  const ir::Attributes& a = e.attributes();
  if (has_one_scale(e.input(operand)))
    return e.load(operand, Indices(static_cast<std::size_t>(own), e.builder().index(0)));
  const auto axis = static_cast<std::size_t>(scaled_axis(a, rank));
  if (!has_blocks(a, rank, own)) return e.load(operand, {index[axis]});
  Indices at = index;
  at[axis] = at[axis] / a.i("block_size", 0);
  return e.load(operand, at);
}

void require_granularity(const ir::TypeContext& c) {
  const ir::Type &x = c.input(0), &scale = c.input(scale_at);
  const std::int64_t block = c.attributes().i("block_size", 0);
  require(block >= 0, "block_size is {}; expected a positive number, or 0 for none", block);
  if (c.has(zero_at)) require_same_shape(scale, c.input(zero_at));
  if (!scale.has_rank() || has_one_scale(scale) || !x.has_rank()) return;
  const std::int64_t axis = x.rank() == 0 ? 0 : scaled_axis(c.attributes(), x.rank());
  if (has_blocks(c.attributes(), x.rank(), scale.rank()))
    return require_blocks(x, scale, axis, block);
  require(
      scale.rank() == 1 && x.rank() > 0,
      "a scale of type {} does not fit {}; expected a scalar, one scale per index of axis {}, or "
      "(with block_size) one per block",
      to_text(scale), to_text(x), axis);
  require_per_axis(x, scale, axis);
}

bool is_quantized(DType t) {
  return is_small_float(t) ? t != DType::f8e8m0 : is_integer(t) && file_bits(t) <= 16;
}

void require_scale(const ir::TypeContext& c, std::size_t k) {
  require_tensor(c, k);
  const DType t = c.input(k).dtype();
  require((is_float(t) && (!is_small_float(t) || t == DType::f8e8m0)) || t == DType::i32,
          "the scale is {}; expected a float of 16 bits and up, f8e8m0 or i32", name(t));
}

std::span<const DType> byte_dtypes() {
  static constexpr DType both[] = {DType::i8, DType::u8};
  return both;
}

void require_bytes(const ir::TypeContext& c) {
  for (const std::size_t k : {0U, 1U}) {
    require_dtypes(c, k, byte_dtypes());
    if (c.has(k + 2)) require_same_dtype(c, k, k + 2);
  }
}

DType arithmetic_type(DType t) { return is_float(t) && !is_small_float(t) ? t : DType::f32; }

}  // namespace rondel::ops
