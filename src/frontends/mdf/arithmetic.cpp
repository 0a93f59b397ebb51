#include "frontends/mdf/arithmetic.h"

#include "base/error.h"
#include "frontends/mdf/fold.h"
#include "ir/text.h"

#include <algorithm>
#include <limits>
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

bool is_never_negative(const Tensor& t) {
  if (t.dtype() != DType::i64) return false;
  const Tensor packed = t.packed();
  return std::all_of(packed.data_as<std::int64_t>(), packed.data_as<std::int64_t>() + packed.size(),
                     [](std::int64_t i) { return i >= 0; });
}

/// Whether a whole number is certainly not negative: by its type, its value, or the op that
/// computes it from such numbers. Looks at `depth` ops at most.
bool is_never_negative(const ir::Builder& b, ValueId v, int depth = 6) {
  const ir::Graph& g = b.graph();
  if (dtype_of(b, v) == DType::boolean) return true;
  if (const Tensor* t = g.constant(v)) return is_never_negative(*t);
  if (g.value(v).producer == ir::NodeId::none || depth == 0) return false;
  const ir::Node& n = g.node(g.value(v).producer);
  const std::string_view op = n.op->name;
  const auto input = [&](std::size_t k) { return is_never_negative(b, n.inputs[k], depth - 1); };
  if (op == "abs") return true;
  if (op == "cast") return is_whole(dtype_of(b, n.inputs[0])) && input(0);
  if (op == "add" || op == "mul") return input(0) && input(1);
  if (op == "max") return input(0) || input(1);
  return op == "mod" && !n.attributes.flag("fmod") && input(1);
}

ValueId power(ir::Builder& b, ValueId x, ValueId y) {
  if (is_whole(dtype_of(b, x)) && is_whole(dtype_of(b, y))) {
    const bool whole = is_never_negative(b, y);
    const ValueId base = as_number(b, x);
    return b("pow", {whole ? base : as_float(b, base), as_number(b, y)});
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

/// The value of a scalar constant, if it is a number.
std::optional<Number> constant_number(const ir::Builder& b, ValueId v) {
  if (!is_scalar_constant(b, v)) return std::nullopt;
  const Tensor* t = b.graph().constant(v);
  if (t->dtype() == DType::i64) return t->data_as<std::int64_t>()[0];
  if (t->dtype() == DType::f64) return t->data_as<double>()[0];
  return std::nullopt;
}

/// The op of a sign.
ValueId written(ir::Builder& b, std::string_view sign, ValueId x, ValueId y) {
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
  const auto p = constant_number(b, x), q = constant_number(b, y);
  if (p && q)
    if (const auto n = folded(sign, *p, *q))
      return std::visit([&](auto v) { return b.scalar(v); }, *n);
  return written(b, sign, x, y);
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
  const ValueId c = as_bool(b, condition);
  if (dtype_of(b, p) != DType::boolean) return b("where", {c, p, q});
  // ONNX Runtime has no Where of truth values.
  return b("or", {b("and", {c, p}), b("and", {b("not", {c}), q})});
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

std::optional<std::int64_t> reduced_elements(const ir::Builder& b, ValueId v,
                                             std::optional<std::int64_t> axis) {
  const ir::Type& t = type_of(b, v);
  if (!t.is_tensor() || !t.is_static()) return std::nullopt;
  const Shape shape = t.static_shape();
  if (!axis) return element_count(shape);
  const std::int64_t rank = std::ssize(shape), k = *axis < 0 ? *axis + rank : *axis;
  if (k < 0 || k >= rank) return std::nullopt;
  return shape[static_cast<std::size_t>(k)];
}

ValueId nan_of_nothing(ir::Builder& b, ValueId reduced, std::optional<std::int64_t> count) {
  if (count != 0) return reduced;
  const DType dtype = dtype_of(b, reduced);
  const ValueId nan = b.scalar(dtype, std::numeric_limits<double>::quiet_NaN());
  return fitted(b, nan, dtype, shape_of(b, reduced));
}

ValueId fitted(ir::Builder& b, ValueId v, DType dtype, const Shape& shape) {
  v = cast(b, v, dtype);
  if (shape_of(b, v) == shape) return v;
  return b("expand", {v, b.integers({shape.begin(), shape.end()})});
}

}  // namespace rondel::mdf
