#include "ops/random/random.h"

#include "base/error.h"
#include "ops/compose.h"
#include "ops/positions.h"
#include "ops/type_rules.h"

#include <cmath>
#include <limits>

namespace rondel::ops {
namespace {

constexpr int rounds = 10;
constexpr std::int64_t multiplier_0 = 0xd2511f53, multiplier_1 = 0xcd9e8d57;
constexpr std::int64_t step_0 = 0x9e3779b9, step_1 = 0xbb67ae85;

/// The number of significand bits of `t`, including the implicit bit.
int precision_bits(DType t) {
  switch (t) {
    case DType::f64: return 53;
    case DType::f32: return 24;
    case DType::f16: return 11;
    default: return 8;
  }
}

Ex low_half(Ex x) { return cast(DType::u32, x); }
Ex high_half(Ex x) { return cast(DType::u32, x >> 32); }

}  // namespace

std::array<Ex, 4> philox(Ex key, Ex low, Ex high) {
  std::array<Ex, 4> c{low_half(low), high_half(low), low_half(high), high_half(high)};
  Ex key_0 = low_half(key), key_1 = high_half(key);
  for (int round = 0; round < rounds; ++round) {
    if (round > 0) {
      key_0 = key_0 + step_0;
      key_1 = key_1 + step_1;
    }
    const Ex a = cast(DType::u64, c[0]) * multiplier_0, b = cast(DType::u64, c[2]) * multiplier_1;
    c = {high_half(b) ^ c[1] ^ key_0, low_half(b), high_half(a) ^ c[3] ^ key_1, low_half(a)};
  }
  return c;
}

Ex random_u64(const std::array<Ex, 4>& block, std::size_t part) {
  return cast(DType::u64, block[2 * part]) | (cast(DType::u64, block[2 * part + 1]) << 32);
}

Ex unit_interval(DType t, const std::array<Ex, 4>& block, std::size_t part) {
  const int bits = precision_bits(t);
  const double unit = std::ldexp(1.0, -bits);
  if (t == DType::f64) return cast(t, random_u64(block, part) >> (64 - bits)) * unit;
  return cast(DType::f32, block[part] >> (32 - bits)) * unit;
}

std::array<Ex, 4> element_block(Emitter& e, std::size_t key, const Indices& index) {
  scalar::Builder& b = e.builder();
  const Ex i = linear_index(b, index, output_extents_of(e, 0));
  return philox(e.load(key, {}), cast(DType::u64, i), b.constant(DType::u64, std::int64_t{0}));
}

ir::ValueId draw_key(ir::Builder& b, const ir::Node& node) {
  return b("random_key", {}, {{"seed", node.attributes.f("seed", no_seed())}});
}

double no_seed() { return std::numeric_limits<double>::quiet_NaN(); }

DType drawn_dtype(const ir::Attributes& a, DType like) {
  const ir::Type& asked = a.type("dtype");
  return asked.is_tensor() ? asked.dtype() : like;
}

void draw_rule(ir::TypeContext& c) {
  require_dtype(c, 0, DType::u64);
  require_dtypes(c, 1, float_dtypes());
  require_same_dtype(c, 1, 2);
  for (const std::size_t k : {0, 1, 2}) require_rank(c, k, 0);
  require(c.has(3) != c.has(4), "expected either a shape or a tensor of that shape");
  const DType t = c.input(1).dtype();
  if (c.has(4)) {
    require_tensor(c, 4);
    c.holds_while();
    return c.output(0, with_dtype(c.input(4), t));
  }
  require_dtype(c, 3, DType::i64);
  require_rank(c, 3, 1);
  const ir::Type& shape = c.input(3);
  if (const auto extents = c.integers(3)) {
    for (const std::int64_t n : *extents) require(n >= 0, "extent {} is negative", n);
    c.output(0, ir::Type::tensor(t, std::span<const std::int64_t>(*extents)));
  } else if (shape.has_rank() && shape.extent(0).known()) {
    c.output(0, ir::Type::ranked(t, shape.extent(0).value));
  } else {
    c.output(0, ir::Type::unranked(t));
  }
}

}  // namespace rondel::ops
