#include "codegen/agree.h"
#include "scalar/op_facts.h"

namespace rondel::codegen {
namespace {

using scalar::Access;
using scalar::Builder;
using scalar::Ex;
using scalar::Op;

constexpr std::int64_t count = 600;

std::int32_t array(Builder& b, std::string name, DType t, Access access, std::int64_t n) {
  return b.buffer({.name = std::move(name), .dtype = t, .access = access, .extents = {n}});
}

/// Tests out[i] = f(inputs[i]...), for each of `extents` (-1: unknown at compile time).
void element_wise(const std::string& name, const std::vector<DType>& in, DType out,
                  const std::function<Ex(Builder&, std::vector<Ex>)>& f,
                  const std::vector<std::int64_t>& extents = {-1}) {
  for (const std::int64_t n : extents) {
    Builder b(name);
    std::vector<std::int32_t> ids;
    std::vector<Tensor> tensors;
    for (std::size_t i = 0; i < in.size(); ++i) {
      ids.push_back(array(b, "in", in[i], Access::in, n));
      tensors.push_back(edge_values(in[i], count, static_cast<std::uint32_t>(17 * i + 3)));
    }
    const auto to = array(b, "out", out, Access::out, n);
    tensors.push_back(Tensor::zeros(out, {count}));
    b.for_each(b.index(0), b.extent(to, 0), [&](Ex i) {
      std::vector<Ex> loaded;
      for (const auto id : ids) loaded.push_back(b.load(id, {i}));
      b.store(to, {i}, f(b, loaded));
    });
    EXPECT_EQ(agree(b.finish(), tensors), scalar::done);
  }
}

std::vector<DType> all_types() {
  std::vector<DType> types;
  for (int t = 0; t < dtype_count; ++t)
    if (static_cast<DType>(t) != DType::string) types.push_back(static_cast<DType>(t));
  return types;
}

TEST(Arithmetic, EveryUnaryOpOnEveryType) {
  for (int op = 0; op < scalar::op_count; ++op)
    for (const DType t : all_types())
      if (scalar::is_unary(static_cast<Op>(op)) && scalar::takes(static_cast<Op>(op), t))
        element_wise(fmt::format("{} {}", scalar::name(static_cast<Op>(op)), rondel::name(t)), {t},
                     t, [&](Builder& b, auto x) { return b.unary(static_cast<Op>(op), x[0]); });
}

TEST(Arithmetic, EveryBinaryOpOnEveryType) {
  for (int n = 0; n < scalar::op_count; ++n)
    for (const DType t : all_types()) {
      const Op op = static_cast<Op>(n);
      if (!scalar::is_binary(op) || !scalar::takes(op, t)) continue;
      const DType result = scalar::is_comparison(op) ? DType::boolean : t;
      element_wise(fmt::format("{} {}", scalar::name(op), rondel::name(t)), {t, t}, result,
                   [&](Builder& b, auto x) { return b.binary(op, x[0], x[1]); });
    }
}

TEST(Arithmetic, DivisionAndShiftsByConstants) {
  for (const DType t : arithmetic_types)
    for (const Op op : {Op::div, Op::rem, Op::shl, Op::shr})
      for (const std::int64_t c : {0, 1, 2, 3, 7, 8, 63, 64, -1, -3}) {
        if (!scalar::takes(op, t) || (c < 0 && !is_signed_integer(t) && !is_float(t))) continue;
        element_wise(fmt::format("{} {} by {}", scalar::name(op), rondel::name(t), c), {t}, t,
                     [&](Builder& b, auto x) { return b.binary(op, x[0], b.constant(t, c)); });
      }
}

TEST(Arithmetic, Fma) {
  for (const DType t : {DType::f32, DType::f64})
    element_wise("fma", {t, t, t}, t, [](Builder&, auto x) { return fma(x[0], x[1], x[2]); },
                 {-1, count});
}

/// An operand that `scale` takes: the significand and the sign of x, of a magnitude in [1, 2).
Ex of_magnitude_one(Ex x) {
  const bool is_f32 = x.type() == DType::f32;
  const DType bits = is_f32 ? DType::u32 : DType::u64;
  const auto number = [&](std::int64_t k) { return x.builder().constant_bits(bits, k); };
  const Ex kept = bitcast(bits, x) & number(is_f32 ? 0x807fffff : -0x7ff0000000000001);
  return bitcast(x.type(), kept | number(is_f32 ? 0x3f800000 : 0x3ff0000000000000));
}

// To subnormal results, which are rounded once, to 0 and to infinity.
TEST(Arithmetic, ScaleByPowersOfTwo) {
  for (const DType t : {DType::f32, DType::f64}) {
    const std::int64_t least = t == DType::f32 ? -150 : -1075, count_of_powers = -2 * least;
    element_wise("scale", {t, DType::u16}, t, [&](Builder& b, auto x) {
      const Ex n = b.cast(DType::i64, x[1]) % b.constant(DType::i64, count_of_powers);
      return scale(of_magnitude_one(x[0]), b.cast(t, n + b.constant(DType::i64, least)));
    });
    element_wise("scale of special values", {t, DType::i8}, t, [&](Builder& b, auto x) {
      const Ex special = select(abs(x[0]) < 1, x[0] * 0,
                                select(x[0] < 0, -1 / (x[0] * 0), x[0] - x[0] + 1));
      return scale(select(is_nan(x[0]), x[0], special), b.cast(t, x[1]));
    });
  }
}

TEST(Arithmetic, AProductAndASumStayTwo) {
  for (const DType t : {DType::f32, DType::f64})
    element_wise("mul add", {t, t, t}, t, [](Builder&, auto x) { return x[0] * x[1] + x[2]; },
                 {-1, count});
}

TEST(Arithmetic, SelectLoadAndStoreOfEveryType) {
  for (const DType t : all_types())
    element_wise("select", {DType::boolean, t, t}, t,
                 [](Builder&, auto x) { return select(x[0], x[1], x[2]); });
}

TEST(Arithmetic, EveryCast) {
  for (const DType from : all_types())
    for (const DType to : all_types())
      if (!is_complex(from) && !is_complex(to))
        element_wise(fmt::format("cast {} {}", rondel::name(from), rondel::name(to)), {from}, to,
                     [&](Builder& b, auto x) { return b.cast(to, x[0]); });
}

TEST(Arithmetic, EveryBitcast) {
  for (const DType from : all_types())
    for (const DType to : all_types())
      if (byte_size(from) == byte_size(to) && from != DType::boolean && to != DType::boolean)
        element_wise(fmt::format("bitcast {} {}", rondel::name(from), rondel::name(to)), {from}, to,
                     [&](Builder& b, auto x) { return b.bitcast(to, x[0]); });
}

TEST(Arithmetic, HalvesAndMinimaAndAbsolutes) {
  for (const DType t : {DType::f16, DType::bf16, DType::f32, DType::f64, DType::i32, DType::u8}) {
    element_wise("min", {t, t}, t, [](Builder&, auto x) { return min(x[0], x[1]); });
    element_wise("max", {t, t}, t, [](Builder&, auto x) { return max(x[0], x[1]); });
    element_wise("abs", {t}, t, [](Builder&, auto x) { return abs(x[0]); });
    element_wise("sum", {t, t, t}, t, [](Builder&, auto x) { return x[0] * x[1] - x[2]; });
    element_wise("nan", {t}, DType::boolean, [](Builder&, auto x) { return is_nan(x[0]); });
  }
}

TEST(Arithmetic, Constants) {
  for (const DType t : arithmetic_types)
    for (const double value : {0.0, 1.0, 100.0, 3.7})
      element_wise("constant", {t}, t,
                   [&](Builder& b, auto x) { return x[0] + b.constant(t, value); });
}

}  // namespace
}  // namespace rondel::codegen
