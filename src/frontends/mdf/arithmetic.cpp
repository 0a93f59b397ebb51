#include "frontends/mdf/arithmetic.h"

#include "base/error.h"
#include "ir/text.h"

#include <algorithm>
#include <numbers>
#include <optional>
#include <span>

namespace rondel::mdf {
namespace {

const ir::Type& type_of(const ir::Builder& b, ValueId v) { return b.graph().value(v).type; }

bool is_scalar_constant(const ir::Builder& b, ValueId v) {
  const Tensor* t = b.graph().constant(v);
  return t != nullptr && t->rank() == 0;
}

bool is_whole(DType t) { return t == DType::i64 || t == DType::boolean; }

ValueId zero_like(ir::Builder& b, ValueId v) { return b.scalar(dtype_of(b, v), 0); }

/// v < 0.
ValueId is_negative(ir::Builder& b, ValueId v) { return b("less", {v, zero_like(b, v)}); }

ValueId is_zero(ir::Builder& b, ValueId v) { return b("equal", {v, zero_like(b, v)}); }

/// Whether a quotient that is truncated towards 0 is above the floor, by its remainder `rest`.
ValueId is_above_floor(ir::Builder& b, ValueId rest, ValueId y) {
  const ValueId differ = b("xor", {is_negative(b, rest), is_negative(b, y)});
  return b("and", {b("not", {is_zero(b, rest)}), differ});
}

ValueId floored_integer_quotient(ir::Builder& b, ValueId x, ValueId y) {
  const ValueId quotient = b("div", {x, y});
  const ValueId rest = b("sub", {x, b("mul", {quotient, y})});
  const ValueId less = b("sub", {quotient, b.scalar(dtype_of(b, x), 1)});
  return b("where", {is_above_floor(b, rest, y), less, quotient});
}

/// x // y as NumPy's floor_divide. The remainder is subtracted first, so that 1 // 0.1 is 9 (as
/// 0.1 is slightly more than a tenth). Division by 0 gives x / y; a zero has the sign of x / y.
ValueId floored_quotient(ir::Builder& b, ValueId x, ValueId y) {
  if (is_whole(dtype_of(b, x))) return floored_integer_quotient(b, x, y);
  const ValueId zero = zero_like(b, x), one = b.scalar(dtype_of(b, x), 1);
  const ValueId exact = b("div", {x, y});
  const ValueId rest = b("mod", {x, y}, {{"fmod", 1}});
  const ValueId towards_zero = b("div", {b("sub", {x, rest}), y});
  const ValueId whole = b(
      "where", {is_above_floor(b, rest, y), b("sub", {towards_zero, one}), towards_zero});
  const ValueId floor = b("floor", {whole});
  const ValueId above = b("greater", {b("sub", {whole, floor}), b.scalar(dtype_of(b, x), 0.5)});
  const ValueId nearest = b("where", {above, b("add", {floor, one}), floor});
  const ValueId quotient = b("where", {is_zero(b, whole), b("mul", {exact, zero}), nearest});
  return b("where", {is_zero(b, y), exact, quotient});
}

/// Whether v is an integer constant with a negative element. As an exponent, it gives fractions.
bool is_negative_constant(const ir::Builder& b, ValueId v) {
  const Tensor* t = b.graph().constant(v);
  if (t == nullptr || t->dtype() != DType::i64) return false;
  const Tensor packed = t->packed();
  return std::any_of(packed.data_as<std::int64_t>(), packed.data_as<std::int64_t>() + packed.size(),
                     [](std::int64_t i) { return i < 0; });
}

ValueId power(ir::Builder& b, ValueId x, ValueId y) {
  if (is_whole(dtype_of(b, x)) && is_whole(dtype_of(b, y))) {
    const ValueId base = as_number(b, x), exponent = as_number(b, y);
    return b("pow", {is_negative_constant(b, exponent) ? as_float(b, base) : base, exponent});
  }
  const auto [base, exponent] = promoted(b, x, y);
  return b("pow", {base, exponent});
}

ValueId product(ir::Builder& b, ValueId x, ValueId y) {
  const auto [p, q] = promoted(b, as_number(b, x), as_number(b, y));
  require(rank_of(b, p) > 0 && rank_of(b, q) > 0,
          "@ multiplies {} and {}; expected vectors or matrices", ir::to_text(type_of(b, p)),
          ir::to_text(type_of(b, q)));
  return b("mat_mul", {p, q});
}

ValueId bitwise(ir::Builder& b, std::string_view sign, ValueId x, ValueId y) {
  require(is_whole(dtype_of(b, x)) && is_whole(dtype_of(b, y)),
          "{} joins {} and {}; expected integers or truth values", sign, name(dtype_of(b, x)),
          name(dtype_of(b, y)));
  const auto [p, q] = promoted(b, x, y);
  const bool logical = dtype_of(b, p) == DType::boolean;
  if (sign == "&") return b(logical ? "and" : "bitwise_and", {p, q});
  if (sign == "|") return b(logical ? "or" : "bitwise_or", {p, q});
  return b(logical ? "xor" : "bitwise_xor", {p, q});
}

/// The values of scalars that are all i64 constants, as the extents of a shape are.
std::optional<std::vector<std::int64_t>> constant_integers(const ir::Builder& b,
                                                           std::span<const ValueId> scalars) {
  std::vector<std::int64_t> out;
  for (const ValueId v : scalars) {
    const Tensor* t = b.graph().constant(v);
    if (t == nullptr || t->dtype() != DType::i64 || t->rank() != 0) return std::nullopt;
    out.push_back(t->data_as<std::int64_t>()[0]);
  }
  return out;
}

}  // namespace

DType dtype_of(const ir::Builder& b, ValueId v) { return type_of(b, v).dtype(); }

Shape shape_of(const ir::Builder& b, ValueId v) {
  const ir::Type& t = type_of(b, v);
  if (!t.is_tensor() || !t.is_static())
    unsupported("a value of type {} has extents that only a run tells", ir::to_text(t));
  return t.static_shape();
}

std::int64_t rank_of(const ir::Builder& b, ValueId v) { return std::ssize(shape_of(b, v)); }

ValueId cast(ir::Builder& b, ValueId v, DType to) {
  if (dtype_of(b, v) == to) return v;
  return b("cast", {v}, {{"to", ir::Type::scalar(to)}});
}

ValueId as_number(ir::Builder& b, ValueId v) {
  const DType t = dtype_of(b, v);
  if (t == DType::i64 || t == DType::f64 || t == DType::f32) return v;
  return cast(b, v, is_float(t) ? DType::f64 : DType::i64);
}

ValueId as_float(ir::Builder& b, ValueId v) {
  return dtype_of(b, v) == DType::f32 ? v : cast(b, v, DType::f64);
}

ValueId as_bool(ir::Builder& b, ValueId v) {
  if (dtype_of(b, v) == DType::boolean) return v;
  return b("not", {b("equal", {v, b.scalar(dtype_of(b, v), 0)})});
}

DType promoted(DType a, DType b) {
  if (a == b) return a;
  if (is_float(a) || is_float(b)) return DType::f64;
  return DType::i64;
}

std::pair<ValueId, ValueId> promoted(ir::Builder& b, ValueId x, ValueId y) {
  DType t = promoted(dtype_of(b, x), dtype_of(b, y));
  if (dtype_of(b, x) == DType::f32 && is_scalar_constant(b, y)) t = DType::f32;
  if (dtype_of(b, y) == DType::f32 && is_scalar_constant(b, x)) t = DType::f32;
  return {cast(b, x, t), cast(b, y, t)};
}

ValueId binary(ir::Builder& b, std::string_view sign, ValueId x, ValueId y) {
  const bool truths = dtype_of(b, x) == DType::boolean && dtype_of(b, y) == DType::boolean;
  if (truths && (rank_of(b, x) > 0 || rank_of(b, y) > 0)) {
    // Python's bools are numbers, but NumPy's arrays of bools are not.
    if (sign == "+") return b("or", {x, y});
    if (sign == "*") return b("and", {x, y});
    require(sign != "-",
            "- of arrays of truth values; NumPy has none either: ^ tells where they differ");
  }
  if (sign == "&" || sign == "|" || sign == "^") return bitwise(b, sign, x, y);
  if (sign == "@") return product(b, x, y);
  if (sign == "**") return power(b, x, y);
  auto [p, q] = promoted(b, as_number(b, x), as_number(b, y));
  if (sign == "+") return b("add", {p, q});
  if (sign == "-") return b("sub", {p, q});
  if (sign == "*") return b("mul", {p, q});
  if (sign == "/") return b("div", {as_float(b, p), as_float(b, q)});
  if (sign == "%") return b("mod", {p, q});
  invariant(sign == "//", "there is no operator {}", sign);
  return floored_quotient(b, p, q);
}

ValueId compare(ir::Builder& b, std::string_view sign, ValueId x, ValueId y) {
  auto [p, q] = promoted(b, x, y);
  if (sign == "==") return b("equal", {p, q});
  if (sign == "!=") return b("not", {b("equal", {p, q})});
  p = as_number(b, p);
  q = as_number(b, q);
  if (sign == "<") return b("less", {p, q});
  if (sign == ">") return b("greater", {p, q});
  if (sign == "<=") return b("less_or_equal", {p, q});
  invariant(sign == ">=", "there is no comparison {}", sign);
  return b("greater_or_equal", {p, q});
}

ValueId arctan2(ir::Builder& b, ValueId y, ValueId x) {
  const auto number = [&](double v) { return b.scalar(dtype_of(b, x), v); };
  // The sign of a zero is the sign of 1 / v.
  const auto has_minus = [&](ValueId v) {
    return is_negative(b, b("where", {is_zero(b, v), b("div", {number(1), v}), v}));
  };
  const ValueId width = b("abs", {x}), height = b("abs", {y});
  const ValueId less = b("min", {width, height}), more = b("max", {width, height});
  const ValueId diagonal = b("where", {is_zero(b, more), number(0), number(1)});
  const ValueId slope = b("where", {b("equal", {less, more}), diagonal, b("div", {less, more})});
  ValueId a = b("atan", {slope});
  a = b("where", {b("greater", {height, width}), b("sub", {number(std::numbers::pi / 2), a}), a});
  a = b("where", {has_minus(x), b("sub", {number(std::numbers::pi), a}), a});
  return b("where", {has_minus(y), b("neg", {a}), a});
}

ValueId choose(ir::Builder& b, ValueId condition, ValueId then, ValueId otherwise) {
  const auto [p, q] = promoted(b, then, otherwise);
  return b("where", {as_bool(b, condition), p, q});
}

ValueId stacked(ir::Builder& b, std::vector<ValueId> items) {
  if (items.empty()) return b.constant(Tensor::zeros(DType::f64, {0}));
  if (const auto integers = constant_integers(b, items)) return b.integers(*integers);
  DType dtype = dtype_of(b, items[0]);
  const Shape shape = shape_of(b, items[0]);
  for (const ValueId v : items) {
    dtype = promoted(dtype, dtype_of(b, v));
    require(shape_of(b, v) == shape, "a list holds {} beside {}", ir::to_text(type_of(b, items[0])),
            ir::to_text(type_of(b, v)));
  }
  const ValueId axis = b.integers({0});
  for (ValueId& v : items) v = b("unsqueeze", {cast(b, v, dtype), axis});
  return items.size() == 1 ? items[0] : b("concat", items, {{"axis", std::int64_t{0}}});
}

ValueId fitted(ir::Builder& b, ValueId v, DType dtype, const Shape& shape) {
  v = cast(b, v, dtype);
  if (shape_of(b, v) == shape) return v;
  return b("expand", {v, b.integers({shape.begin(), shape.end()})});
}

}  // namespace rondel::mdf
