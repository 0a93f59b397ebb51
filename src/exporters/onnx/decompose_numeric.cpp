#include "base/axis.h"
#include "base/error.h"
#include "exporters/onnx/decompositions.h"
#include "ops/compose.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rondel::exporters {
namespace {

using ir::ValueId;
using ops::as;
using ops::dtype_of;
using Values = std::vector<ValueId>;

ValueId scalar_shaped(ir::Builder& b, ValueId x) { return b("reshape", {x, b.integers({})}); }

/// Repeats the scales or zero points of blocks, so that x has one for each index along the axis.
ValueId expand_blocks(ir::Builder& b, ValueId x, ValueId blocks, std::int64_t axis,
                      std::int64_t size) {
  const ValueId zero = b.scalar<std::int64_t>(0), one = b.scalar<std::int64_t>(1);
  const ValueId n = b("gather", {b("shape", {x}), b.scalar(axis)});
  const ValueId block = b("div", {b("range", {zero, n, one}), b.scalar(size)});
  return b("gather", {blocks, block}, {{"axis", axis}});
}

/// A scale or zero point in dtype `t`, in a shape that broadcasts to x: one value for all, one for
/// each index of `axis`, or one for each block. `none` if its rank or the rank of x is not known.
ValueId scale_or_zero_point(ir::Builder& b, const ir::Node& n, std::size_t k, DType t) {
  const ir::Type x = b.graph().value(n.inputs[0]).type, s = b.graph().value(n.inputs[k]).type;
  if (!s.has_rank() || !x.has_rank()) return ValueId::none;
  const std::int64_t given = n.attributes.i("axis", 1), block = n.attributes.i("block_size", 0);
  const std::int64_t axis = x.rank() == 1 ? 0 : axis_from_front(given, x.rank());
  const ValueId value = as(b, n.inputs[k], t);
  const bool one = std::ranges::all_of(
      s.extents(), [](const ir::Extent& e) { return e.known() && e.value == 1; });
  if (one) return scalar_shaped(b, value);
  if (block > 0 && s.rank() == x.rank()) return expand_blocks(b, n.inputs[0], value, axis, block);
  ir::Ints after;
  for (std::int64_t a = axis + 1; a < x.rank(); ++a) after.push_back(a - axis);
  return after.empty() ? value : b("unsqueeze", {value, b.integers(after)});
}

DType asked(const ir::Attributes& a, const char* name, DType otherwise) {
  const ir::Type& t = a.type(name);
  return t.is_tensor() ? t.dtype() : otherwise;
}

/// x as a matrix with one element in each row.
ValueId as_column(ir::Builder& b, ValueId x) { return b("reshape", {x, b.integers({-1, 1})}); }

}  // namespace

/// Unique is the only op of ONNX that compares complex numbers. It gets the elements of both
/// operands as rows; two numbers are equal if Unique maps them to the same row.
Values equal_complex(ir::Builder& b, const ir::Node& n) {
  if (!is_complex(dtype_of(b, n.inputs[0]))) return {};
  const ValueId yes = b.scalar(true);  // Where is used because it broadcasts
  const ValueId x = b("where", {yes, n.inputs[0], n.inputs[1]}),
                y = b("where", {yes, n.inputs[1], n.inputs[0]});
  const ValueId all = b("concat", {as_column(b, x), as_column(b, y)}, {{"axis", std::int64_t{0}}});
  const ValueId which = b.add("unique", {all}, {{"axis", std::int64_t{0}}}, 3)[2];
  const ValueId halves = b("reshape", {which, b.integers({2, -1})});
  const auto half = [&](std::int64_t k) { return b("gather", {halves, b.scalar(k)}); };
  return {reshape_like(b, b("equal", {half(0), half(1)}), x)};
}

Values sum_as_adds(ir::Builder& b, const ir::Node& n) {
  ValueId sum = n.inputs[0];
  for (std::size_t k = 1; k < n.inputs.size(); ++k) sum = b("add", {sum, n.inputs[k]});
  return {sum};
}

Values relu_of_unsigned(ir::Builder& b, const ir::Node& n) {
  if (!is_unsigned_integer(dtype_of(b, n.inputs[0]))) return {};
  return n.inputs;
}

/// A u64 exponent reduced below 2^63, with the same power modulo 2^64: powers of odd numbers repeat
/// after 2^62 steps, and powers of even numbers are 0 from the 64th on.
ValueId below_two_63(ir::Builder& b, ValueId y) {
  const ValueId turn = b.scalar(std::uint64_t{1} << 62);
  const ValueId again = b("add", {b("mod", {y, turn}), turn});
  return b("where", {b("less", {y, turn}), y, again});
}

/// An integer exponent is cast to x's dtype. The power is computed in a wider dtype and wraps.
Values integer_power(ir::Builder& b, const ir::Node& n) {
  const DType own = dtype_of(b, n.inputs[0]);
  if (!is_integer(own)) return {};
  if (!is_integer(dtype_of(b, n.inputs[1])))
    return {as(b, b("pow", {as(b, n.inputs[0], DType::f64), as(b, n.inputs[1], DType::f64)}), own)};
  const DType wide = file_bits(own) <= 16 ? DType::i32 : DType::i64;
  ValueId power = as(b, n.inputs[1], own);
  if (own == DType::u64) power = below_two_63(b, power);
  return {as(b, b("pow", {as(b, n.inputs[0], wide), as(b, power, wide)}), own)};
}

namespace {

/// A Range of u64: start + i * delta for each i below the count. A count of 2^63 or more is an
/// error, as it is in our own op, and so is a delta of 0.
ValueId unsigned_range(ir::Builder& b, ValueId start, ValueId limit, ValueId delta) {
  const auto number = [&](std::uint64_t v) { return b.scalar(v); };
  const ValueId still = b("equal", {delta, number(0)});
  const ValueId distance = b("sub", {b("sub", {limit, start}), number(1)});
  const ValueId last = b("div", {distance, b("where", {still, number(1), delta})});
  const ValueId most = number(std::numeric_limits<std::int64_t>::max());
  const ValueId count = b("where", {b("less", {last, most}), b("add", {last, number(1)}), most});
  const ValueId made = b("where", {b("less", {start, limit}), count, number(0)});
  const ValueId i = b("range", {b.scalar<std::int64_t>(0), as(b, made, DType::i64),
                                as(b, b("not", {still}), DType::i64)});
  return b("add", {start, b("mul", {as(b, i, DType::u64), delta})});
}

}  // namespace

Values range_of_scalars(ir::Builder& b, const ir::Node& n) {
  Values scalars;
  for (const ValueId v : n.inputs) scalars.push_back(scalar_shaped(b, v));
  if (dtype_of(b, scalars[0]) == DType::u64)
    return {unsigned_range(b, scalars[0], scalars[1], scalars[2])};
  return b.add(n.op->name, scalars, n.attributes);
}

/// The sum, which wraps, divided by the number of elements; 0 if there are none.
Values integer_mean(ir::Builder& b, const ir::Node& n) {
  const DType own = dtype_of(b, n.inputs[0]);
  if (!is_integer(own)) return {};
  const bool axes = ir::has_input(n, 1);
  const Tensor* known = axes ? b.graph().constant(n.inputs[1]) : nullptr;
  if (axes && known == nullptr) return {};
  if ((!axes || known->size() == 0) && n.attributes.flag("noop_with_empty_axes")) return {};
  const ValueId shape = b("shape", {n.inputs[0]});
  const ValueId extents = axes && known->size() > 0 ? b("gather", {shape, n.inputs[1]}) : shape;
  const ValueId count = b("reduce_prod", {extents}, {{"keepdims", std::int64_t{0}}});
  const ValueId sum = b("reduce_sum", n.inputs, n.attributes);
  const ValueId divisor = as(b, b("max", {count, b.scalar<std::int64_t>(1)}), own);
  return {b("div", {sum, divisor})};
}

/// The remainder of floats with the sign of the divisor, of the one with the sign of the dividend.
/// A remainder of 0 has the divisor's sign, too.
Values floored_remainder(ir::Builder& b, const ir::Node& n) {
  const DType t = dtype_of(b, n.inputs[0]);
  if (!is_float(t) || n.attributes.flag("fmod")) return {};
  const ValueId divisor = n.inputs[1], zero = b.scalar(t, 0.0);
  const ValueId r = b("mod", n.inputs, {{"fmod", std::int64_t{1}}});
  const ValueId negative = b("less", {divisor, zero});
  const ValueId unlike = b("xor", {b("less", {r, zero}), negative});
  const ValueId moved = b("where", {unlike, b("add", {r, divisor}), r});
  const ValueId signed_zero = b("where", {negative, b.scalar(t, -0.0), zero});
  return {b("where", {b("equal", {r, zero}), signed_zero, moved})};
}

/// saturate(round(x / scale) + zero): integers are rounded before the zero point is added.
Values quantize(ir::Builder& b, const ir::Node& n) {
  const DType scale_type = dtype_of(b, n.inputs[1]);
  DType in = asked(n.attributes, "precision", scale_type);
  if (!is_float(in) || is_small_float(in)) in = DType::f32;
  const DType to = ir::has_input(n, 2) ? dtype_of(b, n.inputs[2])
                                       : asked(n.attributes, "output_dtype", DType::u8);
  const DType wide = scalar::compute_type(in);
  const ValueId scale = scale_or_zero_point(b, n, 1, in);
  const ValueId zero = ir::has_input(n, 2) ? scale_or_zero_point(b, n, 2, wide) : ValueId::none;
  if (scale == ValueId::none || (ir::has_input(n, 2) && zero == ValueId::none)) return {};
  ValueId y = as(b, b("div", {as(b, n.inputs[0], in), scale}), wide);
  if (is_integer(to)) y = b("round", {y});
  if (zero != ValueId::none) y = b("add", {y, zero});
  if (is_integer(to)) {
    const int bits = file_bits(to) - (is_unsigned_integer(to) ? 0 : 1);
    const double most = std::ldexp(1.0, bits) - 1;
    const double least = is_unsigned_integer(to) ? 0 : -most - 1;
    y = b("clip", {y, b.scalar(wide, least), b.scalar(wide, most)});
  }
  return {b("convert", {y},
            {{"to", ir::Type::scalar(to)}, {"saturate", n.attributes.i("saturate", 1)}})};
}

/// (x - zero) * scale.
Values dequantize(ir::Builder& b, const ir::Node& n) {
  const DType to = asked(n.attributes, "output_dtype", dtype_of(b, n.inputs[1]));
  const DType wide = scalar::compute_type(to);
  const ValueId scale = scale_or_zero_point(b, n, 1, wide);
  if (scale == ValueId::none) return {};
  ValueId x = as(b, n.inputs[0], wide);
  if (ir::has_input(n, 2)) {
    const ValueId zero = scale_or_zero_point(b, n, 2, wide);
    if (zero == ValueId::none) return {};
    x = b("sub", {x, zero});
  }
  return {as(b, b("mul", {x, scale}), to)};
}

}  // namespace rondel::exporters
