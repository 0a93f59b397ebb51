// Random draws in standard ops: the same numbers as ops/random/random.h. Words of 32 bits are held
// in i64, because every runtime supports i64 and no operation here overflows it.
#include "exporters/onnx/decompositions.h"
#include "exporters/onnx/int64_arithmetic.h"
#include "ops/compose.h"
#include "ops/random/random.h"

#include <array>
#include <bit>
#include <cmath>
#include <numbers>

namespace rondel::exporters {
namespace {

using ir::ValueId;
using ops::as;
using ops::dtype_of;
using Values = std::vector<ValueId>;
using Words = std::array<ValueId, 4>;

constexpr std::int64_t rounds = 10, two_16 = 1 << 16, two_32 = std::int64_t{1} << 32;
constexpr std::int64_t multipliers[] = {0xd2511f53, 0xcd9e8d57}, steps[] = {0x9e3779b9, 0xbb67ae85};

struct Product {
  ValueId high, low;
};

/// The high and low word of x * m. The product is computed with the two halves of m.
Product product(const Int64Arithmetic& w, ValueId x, std::int64_t m) {
  const ValueId first = w.mul(x, m % two_16);
  const ValueId rest = w.add(w.div(first, two_16), w.mul(x, m / two_16));
  return {w.div(rest, two_16), w.add(w.mul(w.mod(rest, two_16), two_16), w.mod(first, two_16))};
}

/// One round of Philox4x32 on [go, c0, c1, c2, c3, key 0, key 1].
Values one_round(ir::Builder& b, std::span<const ValueId> p) {
  const Int64Arithmetic w(b);
  const ValueId *c = &p[2], *key = &p[6];
  const Product x = product(w, c[0], multipliers[0]), y = product(w, c[2], multipliers[1]);
  const auto next_key = [&](int k) { return w.mod(w.add(key[k], w(steps[k])), two_32); };
  return {p[1],       w.xor_(w.xor_(y.high, c[1]), key[0]),
          y.low,      w.xor_(w.xor_(x.high, c[3]), key[1]),
          x.low,      next_key(0),
          next_key(1)};
}

/// The block of random words for a key and a counter. All words of the counter have the same shape.
Words philox(ir::Builder& b, const std::array<ValueId, 2>& key, const Words& counter) {
  ir::LoopParts p;
  p.has_trips = true;
  p.states = 6;
  p.fixed.assign(6, 1);
  Values inputs{b.scalar(rounds)};
  inputs.insert(inputs.end(), counter.begin(), counter.end());
  inputs.insert(inputs.end(), key.begin(), key.end());
  const Values out = b.loop(p, inputs, one_round);
  return {out[0], out[1], out[2], out[3]};
}

ValueId shifted(ir::Builder& b, ValueId x, std::uint64_t bits, const char* way) {
  return b("bit_shift", {x, b.scalar(bits)}, {{"direction", std::string(way)}});
}

/// The two words of a u64, low word first.
std::array<ValueId, 2> words(ir::Builder& b, ValueId x) {
  const ValueId low = shifted(b, shifted(b, x, 32, "LEFT"), 32, "RIGHT");
  return {as(b, low, DType::i64), as(b, shifted(b, x, 32, "RIGHT"), DType::i64)};
}

ValueId u64_of(ir::Builder& b, ValueId low, ValueId high) {
  return b("bitwise_or", {as(b, low, DType::u64), shifted(b, as(b, high, DType::u64), 32, "LEFT")});
}

/// The blocks for the counters 0, 1, ... in a shape: i64[rank].
Words blocks(ir::Builder& b, ValueId key, ValueId shape) {
  const Int64Arithmetic w(b);
  const ValueId n = b("reduce_prod", {shape}, {{"keepdims", std::int64_t{0}}});
  const ValueId i = b("reshape", {w.below(n), shape}, {{"allowzero", std::int64_t{1}}});
  const ValueId none = w.mul(i, 0);
  return philox(b, words(b, key), {w.mod(i, two_32), w.div(i, two_32), none, none});
}

/// The number of significant bits of a random number in dtype `t`.
int digits(DType t) {
  return t == DType::f64 ? 53 : t == DType::f32 ? 24 : t == DType::f16 ? 11 : 8;
}

ValueId times(ir::Builder& b, ValueId x, double factor) {
  return b("mul", {x, b.scalar(dtype_of(b, x), factor)});
}

/// The upper 53 bits of words 2 * part and 2 * part + 1 of the block, as an integer.
ValueId bits_53(const Int64Arithmetic& w, const Words& block, std::size_t part) {
  return w.add(w.mul(block[2 * part + 1], 1 << 21), w.div(block[2 * part], 1 << 11));
}

/// The same as `unit_interval` of ops/random/random.h.
ValueId unit_interval(ir::Builder& b, DType t, const Words& block, std::size_t part) {
  const Int64Arithmetic w(b);
  const int kept = digits(t);
  if (t == DType::f64) return times(b, as(b, bits_53(w, block, part), t), std::ldexp(1.0, -kept));
  const ValueId whole = w.div(block[part], std::int64_t{1} << (32 - kept));
  return times(b, as(b, whole, DType::f32), std::ldexp(1.0, -kept));
}

/// A random number in (0, 1].
ValueId open_unit(ir::Builder& b, DType t, const Words& block) {
  const bool f64 = t == DType::f64;
  const ValueId whole = as(b, f64 ? bits_53(Int64Arithmetic(b), block, 0) : block[0], t);
  return times(b, b("add", {whole, b.scalar(t, 0.5)}), std::ldexp(1.0, f64 ? -53 : -32));
}

ValueId shape_of_draw(ir::Builder& b, const ir::Node& n) {
  return ir::has_input(n, 3) ? n.inputs[3] : b("shape", {n.inputs[4]});
}

ValueId multiply_add(ir::Builder& b, ValueId x, ValueId y, ValueId z) {
  return b("add", {b("mul", {x, y}), z});
}

/// Draws a key from ONNX's own generator, for a key that is derived from no inputs.
ValueId drawn_key(ir::Builder& b, double seed) {
  const ValueId drawn = b("random_uniform", {},
                          {{"shape", ir::Ints{2}},
                           {"dtype", ir::Type::scalar(DType::f64)},
                           {"high", static_cast<double>(two_32)},
                           {"seed", seed}});
  const ValueId parts = as(b, drawn, DType::i64);
  const auto word = [&](std::int64_t k) { return b("gather", {parts, b.scalar(k)}); };
  return u64_of(b, word(0), word(1));
}

}  // namespace

Values derive_random_key(ir::Builder& b, const ir::Node& n) {
  const double seed = n.attributes.f("seed", ops::no_seed());
  if (n.inputs.empty()) return {drawn_key(b, seed)};
  const Int64Arithmetic w(b);
  std::array<ValueId, 2> key{w(0), w(0)};
  for (std::size_t part = 0; part < n.inputs.size(); ++part) {
    const bool seeded = part == 1 && !std::isnan(seed);
    const ValueId low = seeded ? b.scalar(std::bit_cast<std::uint64_t>(seed))
                               : as(b, n.inputs[part], DType::u64);
    const auto [low_0, low_1] = words(b, low);
    const Words block = philox(b, key, {low_0, low_1, w(seeded ? 1 : 0), w(0)});
    key = {block[0], block[1]};
  }
  return {u64_of(b, key[0], key[1])};
}

Values uniform_draw(ir::Builder& b, const ir::Node& n) {
  const DType t = dtype_of(b, n.inputs[1]);
  const ValueId low = ops::wide_value(b, n.inputs[1]), high = ops::wide_value(b, n.inputs[2]);
  const ValueId unit = unit_interval(b, t, blocks(b, n.inputs[0], shape_of_draw(b, n)), 0);
  return {as(b, multiply_add(b, unit, b("sub", {high, low}), low), t)};
}

/// Box-Muller transform.
Values normal_draw(ir::Builder& b, const ir::Node& n) {
  const DType t = dtype_of(b, n.inputs[1]), wide = scalar::compute_type(t);
  const ValueId mean = ops::wide_value(b, n.inputs[1]), scale = ops::wide_value(b, n.inputs[2]);
  const Words block = blocks(b, n.inputs[0], shape_of_draw(b, n));
  const ValueId radius = b("sqrt", {times(b, b("log", {open_unit(b, wide, block)}), -2.0)});
  const ValueId turn = times(b, unit_interval(b, wide, block, 1), 2 * std::numbers::pi);
  const ValueId y = multiply_add(b, b("mul", {radius, b("cos", {turn})}), scale, mean);
  return {as(b, y, t)};
}

/// The index is the number of cumulative sums that are at most a random fraction of the last sum,
/// and below the last sum.
Values index_draw(ir::Builder& b, const ir::Node& n) {
  const ValueId sums = n.inputs[0];
  const std::int64_t count = n.attributes.i("count");
  const ValueId rows = b("gather", {b("shape", {sums}), b.integers({0})});
  const ValueId shape = b("concat", {rows, b.integers({count})}, {{"axis", std::int64_t{0}}});
  const ValueId unit = unit_interval(b, dtype_of(b, sums), blocks(b, n.inputs[1], shape), 0);
  const ValueId total = b("gather", {sums, b.integers({-1})}, {{"axis", std::int64_t{1}}});
  const ValueId part = b("unsqueeze", {b("mul", {unit, total}), b.integers({2})});
  const ValueId below = b("less", {sums, total});
  const ValueId passed = b("less_or_equal", {b("unsqueeze", {sums, b.integers({1})}), part});
  const ValueId counted = b("and", {passed, b("unsqueeze", {below, b.integers({1})})});
  const ValueId index = b("reduce_sum", {as(b, counted, DType::i64), b.integers({2})},
                          {{"keepdims", std::int64_t{0}}});
  return {as(b, index, n.attributes.type("dtype").dtype())};
}

}  // namespace rondel::exporters
