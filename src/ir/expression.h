#pragma once
#include "ir/extent.h"

/// The structure of symbols, for code that evaluates them in another arithmetic: the numbers of a
/// run, or values of a scalar program.
namespace rondel::ir {

/// A number times names, quotients and excesses.
struct Term {
  std::int64_t coefficient = 1;
  std::vector<Symbol> factors;  ///< one or more, none of them a sum; sorted, with repetitions
};

/// The normal form: a sum of products of things that are no sums or products. Excesses stand for
/// maxima and minima alike: max(a, b) is b + max(a - b, 0), and min(a, b) is a - max(a - b, 0).
struct Expression {
  enum class Kind : std::uint8_t {
    name,      ///< of an extent: 0 or more
    quotient,  ///< floor_div(a, b)
    excess,    ///< max(a, 0)
    sum,       ///< the terms and `constant`
  };
  Kind kind = Kind::name;
  bool own = false;  ///< a name of ours
  std::string name = {};
  Integer a = {}, b = {};
  std::vector<Term> terms = {};  ///< sorted
  std::int64_t constant = 0;

  std::string text = {};
  std::vector<Symbol> names = {};  ///< sorted; of a name nothing, since it is one itself
  int depth = 0;
  std::optional<std::int64_t> least = {}, most = {};  ///< where they are within 64 bits
};

/// The value of `e`, which is not unknown, in an arithmetic `A` with
///   number(std::int64_t), name(Symbol), add(x, y), multiply(x, y), maximum(x, y),
///   quotient(x, y, const Expression&): rounded down, 0 where y is 0; the expression has bounds.
template <class A> auto compute(const Integer& e, A& arithmetic) -> decltype(arithmetic.number(0)) {
  if (e.known()) return arithmetic.number(*e.number);
  const Expression& x = e.symbol.expression();
  switch (x.kind) {
    case Expression::Kind::name: return arithmetic.name(e.symbol);
    case Expression::Kind::quotient:
      return arithmetic.quotient(compute(x.a, arithmetic), compute(x.b, arithmetic), x);
    case Expression::Kind::excess:
      return arithmetic.maximum(compute(x.a, arithmetic), arithmetic.number(0));
    case Expression::Kind::sum: break;
  }
  std::optional<decltype(arithmetic.number(0))> sum;
  for (const Term& term : x.terms) {
    std::optional<decltype(arithmetic.number(0))> product;
    if (term.coefficient != 1) product = arithmetic.number(term.coefficient);
    for (const Symbol factor : term.factors) {
      const auto value = compute(Integer(factor), arithmetic);
      product = product ? arithmetic.multiply(*product, value) : value;
    }
    sum = sum ? arithmetic.add(*sum, *product) : *product;
  }
  return x.constant == 0 ? *sum : arithmetic.add(*sum, arithmetic.number(x.constant));
}

}  // namespace rondel::ir
