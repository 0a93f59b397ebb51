#include "ops/derivative.h"

namespace rondel::ops {
namespace {

using ir::ValueId;

/// The derivation of two operands, of which one may be a number without a derivation.
Derivation& derivation_of(const Dual& a, const Dual& b) { return a.by != nullptr ? *a.by : *b.by; }

ValueId plus_adjoint(Derivation& d, ValueId a, ValueId b) {
  if (a == ValueId::none) return b;
  return b == ValueId::none ? a : d("add", {a, b});
}
ValueId negative(Derivation& d, ValueId adjoint) {
  return adjoint == ValueId::none ? adjoint : d("neg", {adjoint});
}
/// An adjoint times a factor. The factor is only computed if there is an adjoint.
template <class Factor> ValueId times(Derivation& d, ValueId adjoint, const Factor& factor) {
  return adjoint == ValueId::none ? adjoint : d("mul", {adjoint, factor().value});
}

/// A value without an adjoint.
Dual value_of(Derivation& d, ValueId v) { return {&d, v}; }
Dual value_of(const Dual& x) { return {x.by, x.value}; }

/// op(x), whose derivative is slope(x, op(x)).
template <class Slope> Dual function(const Dual& x, std::string_view op, const Slope& slope) {
  Derivation& d = *x.by;
  const ValueId y = d(op, {x.value});
  return {&d, y, times(d, x.adjoint, [&] { return slope(value_of(x), value_of(d, y)); })};
}

/// The adjoint at the elements for which the condition holds, zeros elsewhere.
ValueId where(Derivation& d, ValueId condition, ValueId adjoint) {
  if (adjoint == ValueId::none) return adjoint;
  ir::Builder& b = d.builder();
  return d("where", {condition, adjoint, b.scalar(dtype_of(b, adjoint), 0)});
}

/// max or min. `first` says for which elements only a is the result, `second` for which only b is.
Dual extreme(std::string_view op, const Dual& a, const Dual& b, ValueId first, ValueId second) {
  Derivation& d = derivation_of(a, b);
  ValueId adjoint = plus_adjoint(d, where(d, first, a.adjoint), where(d, second, b.adjoint));
  if (!a.is_literal && !b.is_literal) {
    const ValueId both = plus_adjoint(d, a.adjoint, b.adjoint);
    const ValueId tie = d("equal", {a.value, b.value});
    const auto half = [&] { return literal(value_of(d, both), 0.5); };
    adjoint = plus_adjoint(d, adjoint, where(d, tie, times(d, both, half)));
  }
  return {&d, d(op, {a.value, b.value}), adjoint};
}

}  // namespace

ValueId Derivation::operator()(std::string_view op, std::vector<ValueId> inputs) {
  if (op == node_.op->name && node_.inputs == inputs) return node_.outputs[0];
  return b_(op, std::move(inputs));
}

Dual literal(const Dual& like, double x) {
  ir::Builder& b = like.by->builder();
  return {like.by, b.scalar(dtype_of(b, like.value), x), ValueId::none, true};
}
Dual attribute(Derivation& d, std::string_view name, const Dual& like) {
  return literal(like, d.attributes().f(name, 0.0));
}

Dual operator-(const Dual& x) {
  Derivation& d = *x.by;
  return {&d, d("neg", {x.value}), negative(d, x.adjoint)};
}
Dual operator+(const Dual& a, const Dual& b) {
  Derivation& d = derivation_of(a, b);
  return {&d, d("add", {a.value, b.value}), plus_adjoint(d, a.adjoint, b.adjoint)};
}
Dual operator-(const Dual& a, const Dual& b) {
  Derivation& d = derivation_of(a, b);
  return {&d, d("sub", {a.value, b.value}), plus_adjoint(d, a.adjoint, negative(d, b.adjoint))};
}
Dual operator*(const Dual& a, const Dual& b) {
  Derivation& d = derivation_of(a, b);
  const ValueId left = times(d, a.adjoint, [&] { return value_of(b); });
  return {&d, d("mul", {a.value, b.value}),
          plus_adjoint(d, left, times(d, b.adjoint, [&] { return value_of(a); }))};
}
Dual operator/(const Dual& a, const Dual& b) {
  Derivation& d = derivation_of(a, b);
  const ValueId quotient = d("div", {a.value, b.value});
  const ValueId left = a.adjoint == ValueId::none ? a.adjoint : d("div", {a.adjoint, b.value});
  const ValueId right = times(d, b.adjoint, [&] { return -(value_of(d, quotient) / value_of(b)); });
  return {&d, quotient, plus_adjoint(d, left, right)};
}
DualCondition operator<(const Dual& a, const Dual& b) {
  Derivation& d = derivation_of(a, b);
  return {&d, d("less", {a.value, b.value})};
}
DualCondition operator<=(const Dual& a, const Dual& b) {
  Derivation& d = derivation_of(a, b);
  return {&d, d("less_or_equal", {a.value, b.value})};
}
Dual select(const DualCondition& c, const Dual& a, const Dual& b) {
  Derivation& d = *c.by;
  const ValueId y = d("where", {c.value, a.value, b.value});
  if (a.adjoint == ValueId::none && b.adjoint == ValueId::none) return {&d, y};
  const auto or_zero = [&](const Dual& x) {
    return x.adjoint == ValueId::none ? literal(value_of(d, y), 0).value : x.adjoint;
  };
  return {&d, y, d("where", {c.value, or_zero(a), or_zero(b)})};
}

Dual max(const Dual& a, const Dual& b) {
  return extreme("max", a, b, (a > b).value, (b > a).value);
}
Dual min(const Dual& a, const Dual& b) {
  return extreme("min", a, b, (a < b).value, (b < a).value);
}
Dual abs(const Dual& x) {
  return function(x, "abs", [](const Dual& at, const Dual&) {
    return value_of(*at.by, (*at.by)("sign", {at.value}));
  });
}

Dual exp(const Dual& x) {
  return function(x, "exp", [](const Dual&, const Dual& y) { return y; });
}
Dual expm1(const Dual& x) { return exp(x) - 1; }
Dual log(const Dual& x) {
  return function(x, "log", [](const Dual& at, const Dual&) { return 1 / at; });
}
Dual log1p(const Dual& x) { return log(1 + x); }
Dual sqrt(const Dual& x) {
  return function(x, "sqrt", [](const Dual&, const Dual& y) { return 0.5 / y; });
}
Dual erf(const Dual& x) {
  constexpr double two_over_root_pi = 1.12837916709551257390;
  return function(x, "erf",
                  [](const Dual& at, const Dual&) { return two_over_root_pi * exp(-(at * at)); });
}
Dual sigmoid(const Dual& x) {
  return function(x, "sigmoid", [](const Dual&, const Dual& y) { return y * (1 - y); });
}
Dual softplus(const Dual& x) {
  return function(x, "softplus", [](const Dual& at, const Dual&) { return sigmoid(at); });
}
Dual sin(const Dual& x) {
  return function(x, "sin", [](const Dual& at, const Dual&) { return cos(at); });
}
Dual cos(const Dual& x) {
  return function(x, "cos", [](const Dual& at, const Dual&) { return -sin(at); });
}
Dual tan(const Dual& x) {
  return function(x, "tan", [](const Dual&, const Dual& y) { return 1 + y * y; });
}
Dual asin(const Dual& x) {
  return function(x, "asin",
                  [](const Dual& at, const Dual&) { return 1 / sqrt((1 - at) * (1 + at)); });
}
Dual acos(const Dual& x) {
  return function(x, "acos",
                  [](const Dual& at, const Dual&) { return -1 / sqrt((1 - at) * (1 + at)); });
}
Dual atan(const Dual& x) {
  return function(x, "atan", [](const Dual& at, const Dual&) { return 1 / (1 + at * at); });
}
Dual sinh(const Dual& x) {
  return function(x, "sinh", [](const Dual& at, const Dual&) { return cosh(at); });
}
Dual cosh(const Dual& x) {
  return function(x, "cosh", [](const Dual& at, const Dual&) { return sinh(at); });
}
Dual tanh(const Dual& x) {
  return function(x, "tanh", [](const Dual&, const Dual& y) {
    const Dual sum = 1 + y, difference = 1 - y;  // in this order, whatever the compiler
    return difference * sum;
  });
}
Dual asinh(const Dual& x) {
  return function(x, "asinh", [](const Dual& at, const Dual&) { return 1 / sqrt(at * at + 1); });
}
Dual acosh(const Dual& x) {
  return function(x, "acosh", [](const Dual& at, const Dual&) {
    const Dual above = at + 1, below = at - 1;
    return 1 / sqrt(below * above);
  });
}
Dual atanh(const Dual& x) {
  return function(x, "atanh", [](const Dual& at, const Dual&) {
    const Dual sum = 1 + at, difference = 1 - at;
    return 1 / (difference * sum);
  });
}

Dual pow(const Dual& x, const Dual& y) {
  Derivation& d = derivation_of(x, y);
  const ValueId z = d("pow", {x.value, y.value});
  const Dual base = value_of(x), zero = literal(base, 0);
  const DType t = dtype_of(d.builder(), x.value);  // the exponent may be an integer
  const Dual exponent = value_of(d, as(d.builder(), y.value, t));
  // x^0 is 1 for every x, and 0^y is 0 for every y > 0: the derivatives are 0.
  const ValueId left = times(d, x.adjoint, [&] {
    const DualCondition flat{&d, d("equal", {exponent.value, zero.value})};
    const Dual below = select(flat, literal(base, 1), exponent) - 1;
    return select(flat, zero, exponent * pow(base, below));
  });
  const ValueId right = times(d, y.adjoint, [&] {
    const DualCondition flat{&d, d("equal", {x.value, zero.value})};
    return select(flat, zero, log(select(flat, literal(base, 1), base)) * value_of(d, z));
  });
  return {&d, z, plus_adjoint(d, left, right)};
}

std::vector<ValueId> derive(ir::Builder& b, const ir::Node& node, ValueId adjoint,
                            const DualFormula& f) {
  Derivation d(b, node);
  std::vector<ValueId> result(node.inputs.size(), ValueId::none);
  const auto is_differentiable = [&](ValueId v) {
    return v != ValueId::none && is_float(dtype_of(b, v));
  };
  const DType t = scalar::compute_type(dtype_of(b, adjoint));
  std::vector<Dual> x;
  for (const ValueId v : node.inputs) x.push_back({&d, is_differentiable(v) ? as(b, v, t) : v});
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (!is_differentiable(node.inputs[k])) continue;
    x[k].adjoint = as(b, adjoint, t);
    const Dual y = f(d, x);
    x[k].adjoint = ValueId::none;
    if (y.adjoint == ValueId::none) continue;
    const ValueId narrowed = as(b, y.adjoint, dtype_of(b, node.inputs[k]));
    result[k] = summed_to(b, narrowed, node.inputs[k]);
  }
  return result;
}

}  // namespace rondel::ops
