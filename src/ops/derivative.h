#pragma once
#include "ops/gradients.h"
#include "ops/wide.h"

#include <array>

/// Gradients of element-wise formulas. A formula is written once, as a generic function. The
/// meaning and the gradient of the op both follow from it:
///
///     constexpr auto softsign = [](auto&, auto x) { return x / (1 + abs(x)); };
///     .meaning = formula<1>(softsign), .gradient = derivative<1>(softsign)
namespace rondel::ops {

/// Appends the nodes of the derivative of `node`. The result of `node` itself is reused, not
/// computed again.
class Derivation {
 public:
  Derivation(ir::Builder& b, const ir::Node& node) : b_(b), node_(node) {}
  ir::Builder& builder() const { return b_; }
  const ir::Attributes& attributes() const { return node_.attributes; }
  ir::ValueId operator()(std::string_view op, std::vector<ir::ValueId> inputs);

 private:
  ir::Builder& b_;
  const ir::Node& node_;
};

/// A tensor in a formula, with its derivative by one of the node's inputs, times the adjoint of the
/// node's result. At the end of the formula this is the adjoint of that input.
struct Dual {
  Derivation* by = nullptr;
  ir::ValueId value = ir::ValueId::none;
  ir::ValueId adjoint = ir::ValueId::none;  ///< none: the tensor does not depend on the input
  bool is_literal = false;                  ///< a number in the formula, or an attribute
};
/// A tensor of bools in a formula.
struct DualCondition {
  Derivation* by;
  ir::ValueId value;
};

Dual literal(const Dual& like, double);
Dual attribute(Derivation&, std::string_view name, const Dual& like);

Dual operator-(const Dual&);
Dual operator+(const Dual&, const Dual&);
Dual operator-(const Dual&, const Dual&);
Dual operator*(const Dual&, const Dual&);
Dual operator/(const Dual&, const Dual&);
DualCondition operator<(const Dual&, const Dual&);
DualCondition operator<=(const Dual&, const Dual&);
inline DualCondition operator>(const Dual& a, const Dual& b) { return b < a; }
inline DualCondition operator>=(const Dual& a, const Dual& b) { return b <= a; }
Dual select(const DualCondition&, const Dual&, const Dual&);

// Operators with a number as one operand, as in a scalar program.
inline Dual operator+(const Dual& a, double b) { return a + literal(a, b); }
inline Dual operator+(double a, const Dual& b) { return literal(b, a) + b; }
inline Dual operator-(const Dual& a, double b) { return a - literal(a, b); }
inline Dual operator-(double a, const Dual& b) { return literal(b, a) - b; }
inline Dual operator*(const Dual& a, double b) { return a * literal(a, b); }
inline Dual operator*(double a, const Dual& b) { return literal(b, a) * b; }
inline Dual operator/(const Dual& a, double b) { return a / literal(a, b); }
inline Dual operator/(double a, const Dual& b) { return literal(b, a) / b; }
inline DualCondition operator<(const Dual& a, double b) { return a < literal(a, b); }
inline DualCondition operator<=(const Dual& a, double b) { return a <= literal(a, b); }
inline DualCondition operator>(const Dual& a, double b) { return a > literal(a, b); }
inline Dual select(const DualCondition& c, const Dual& a, double b) {
  return select(c, a, literal(a, b));
}

/// If a tensor equals a number (a kink), the derivative is 0. If two tensors are equal, each gets
/// half of the adjoint.
Dual max(const Dual&, const Dual&);
Dual min(const Dual&, const Dual&);
Dual abs(const Dual&);  ///< the derivative at 0 is 0

Dual exp(const Dual&);
Dual expm1(const Dual&);
Dual log(const Dual&);
Dual log1p(const Dual&);
Dual sqrt(const Dual&);
Dual erf(const Dual&);
Dual sigmoid(const Dual&);
Dual softplus(const Dual&);
Dual sin(const Dual&);
Dual cos(const Dual&);
Dual tan(const Dual&);
Dual asin(const Dual&);
Dual acos(const Dual&);
Dual atan(const Dual&);
Dual sinh(const Dual&);
Dual cosh(const Dual&);
Dual tanh(const Dual&);
Dual asinh(const Dual&);
Dual acosh(const Dual&);
Dual atanh(const Dual&);
Dual pow(const Dual&, const Dual&);

/// The adjoints of the inputs of a node whose only output is `f(derivation, inputs)`, element by
/// element and broadcast. Narrow floats are widened first, and the adjoints are rounded once.
using DualFormula = std::function<Dual(Derivation&, std::span<const Dual>)>;
std::vector<ir::ValueId> derive(ir::Builder&, const ir::Node&, ir::ValueId adjoint,
                                const DualFormula& f);

namespace detail {
template <class F, class Context, class X, std::size_t... k>
auto apply(const F& f, Context& c, std::span<const X> x, std::index_sequence<k...>) {
  return f(c, x[k]...);
}
}  // namespace detail

/// The meaning of a formula of N operands.
template <std::size_t N, class F> std::shared_ptr<const ir::Meaning> formula(F f) {
  return elementwise(wide([f](Emitter& e, std::span<const Ex> x) {
    return detail::apply(f, e, x, std::make_index_sequence<N>());
  }));
}
/// The gradient of a formula of N operands.
template <std::size_t N, class F> ir::GradientRule derivative(F f) {
  return [f](ir::Builder& b, const ir::Node& node, std::span<const ir::ValueId> adjoints) {
    return derive(b, node, adjoints[0], [&](Derivation& d, std::span<const Dual> x) {
      return detail::apply(f, d, x, std::make_index_sequence<N>());
    });
  };
}
/// The gradient of a formula that takes all operands as a list.
template <class F> ir::GradientRule derivative_of_all(F f) {
  return [f](ir::Builder& b, const ir::Node& node, std::span<const ir::ValueId> adjoints) {
    return derive(b, node, adjoints[0], f);
  };
}

}  // namespace rondel::ops
