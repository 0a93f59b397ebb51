#include "ir/extent.h"

#include "base/error.h"
#include "base/fork.h"
#include "ir/expression.h"
#include "ir/value_text.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <unordered_map>

namespace rondel::ir {
namespace {

using Wide = __int128;
using Kind = Expression::Kind;

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max(),
                       smallest = std::numeric_limits<std::int64_t>::min();
/// Limits on expressions: integers whose expressions are larger count as unknown.
constexpr std::size_t most_terms = 16, most_factors = 6, most_text = 400;
constexpr int most_depth = 12;
/// Of a quotient by a larger number no whole parts are taken out: what is left, a number below the
/// divisor times an extent, might not fit into 64 bits where the quotient does.
constexpr std::int64_t most_normal_divisor = std::int64_t{1} << 15;
/// The number of excesses and quotients of a sum that are expanded to find its bounds.
constexpr int most_cases = 5;

/// The intern table: all expressions, by text.
class Table {
 public:
  const Expression* intern(Expression e) {
    const std::lock_guard lock(mutex_);
    if (const auto it = known_.find(e.text); it != known_.end()) return it->second.get();
    auto made = std::make_unique<Expression>(std::move(e));
    if (made->kind == Kind::name) made->names = {Symbol(made.get())};
    const Expression* at = made.get();
    known_.emplace(at->text, std::move(made));
    return at;
  }

  static Table& get() {
    static Table& table = *new Table;  // never destroyed: code at process exit may use symbols
    return table;
  }

 private:
  ForkMutex mutex_;
  std::unordered_map<std::string_view, std::unique_ptr<const Expression>> known_;
};

/// Made when the library is loaded: a fork must not find it half made.
[[maybe_unused]] const Table& made_early = Table::get();

/// A sum under construction. `fits`: no number has exceeded 64 bits.
struct Sum {
  std::vector<Term> terms;
  std::int64_t constant = 0;
  bool fits = true;

  bool is_number() const { return terms.empty(); }
  void add(std::int64_t v) { fits = fits && !__builtin_add_overflow(constant, v, &constant); }
  void add(Term term) {
    const auto at = std::ranges::lower_bound(terms, term.factors, {}, &Term::factors);
    if (at == terms.end() || at->factors != term.factors) {
      if (term.coefficient != 0) terms.insert(at, std::move(term));
      return;
    }
    fits = fits && !__builtin_add_overflow(at->coefficient, term.coefficient, &at->coefficient);
    if (at->coefficient == 0) terms.erase(at);
  }
  void add(const Sum& more, std::int64_t times) {
    fits = fits && more.fits;
    std::int64_t product = 0;
    fits = fits && !__builtin_mul_overflow(more.constant, times, &product);
    add(product);
    for (const Term& t : more.terms) {
      fits = fits && !__builtin_mul_overflow(t.coefficient, times, &product);
      add(Term{product, t.factors});
    }
  }
};

Sum sum_of(const Integer& i) {
  if (i.known()) return {{}, *i.number, true};
  const Expression& e = i.symbol.expression();
  if (e.kind == Kind::sum) return {e.terms, e.constant, true};
  return {{{1, {i.symbol}}}, 0, true};
}

Sum times(const Sum& a, std::int64_t b) {
  Sum result;
  result.add(a, b);
  return result;
}

Sum plus(Sum a, const Sum& b, std::int64_t times_b = 1) {
  a.add(b, times_b);
  return a;
}

// Bounds.

using Bound = std::optional<Wide>;

Bound least_of(const Sum&, int cases);
Bound most_of(const Sum& s, int cases) {
  const Bound b = least_of(times(s, -1), cases);
  return b ? Bound(-*b) : std::nullopt;
}

/// The bounds of a product of names, quotients and excesses.
Bound least_of(const std::vector<Symbol>& factors) {
  if (factors.size() == 1) return factors[0].expression().least;
  Wide product = 1;
  for (const Symbol f : factors) {
    const auto least = f.expression().least;
    if (!least || *least < 0) return std::nullopt;
    product = std::min<Wide>(product * *least, largest);  // still a bound, if not the best
  }
  return product;
}
Bound most_of(const std::vector<Symbol>& factors) {
  return factors.size() == 1 ? Bound(factors[0].expression().most) : std::nullopt;
}

Wide floor_of(Wide a, Wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

Bound higher(Bound a, Bound b) { return !a ? b : !b ? a : std::max(a, b); }
Bound lower(Bound a, Bound b) { return a && b ? std::min(a, b) : std::nullopt; }

/// A lower bound: the sum of the lower bounds of the terms.
Bound by_terms(const Sum& s) {
  Wide least = s.constant;
  for (const Term& t : s.terms) {
    const Bound b = t.coefficient > 0 ? least_of(t.factors) : most_of(t.factors);
    if (!b) return std::nullopt;
    least += *b * t.coefficient;  // at most 2^126, a few times
    if (least > (Wide{1} << 125) || least < -(Wide{1} << 125)) return std::nullopt;
  }
  return least;
}

/// A lower bound. A sum with an excess is the maximum or, if its coefficient is negative, the
/// minimum of two sums without it. A sum with a quotient by a number is bounded by a sum without
/// the quotient.
Bound least_of(const Sum& s, int cases) {
  if (!s.fits) return std::nullopt;
  Bound best = by_terms(s);
  for (std::size_t i = 0; cases > 0 && i < s.terms.size(); ++i) {
    const Term& t = s.terms[i];
    if (t.factors.size() != 1) continue;
    const Expression& x = t.factors[0].expression();
    Sum rest = s;
    rest.terms.erase(rest.terms.begin() + static_cast<std::ptrdiff_t>(i));
    if (x.kind == Kind::excess) {
      const Bound without = least_of(rest, cases - 1),
                  with = least_of(plus(rest, sum_of(x.a), t.coefficient), cases - 1);
      return higher(best, t.coefficient > 0 ? higher(without, with) : lower(without, with));
    }
    if (x.kind == Kind::quotient && x.b.known()) {
      const std::int64_t by = *x.b.number;
      Sum around = plus(times(rest, by), sum_of(x.a), t.coefficient);
      if (t.coefficient > 0) around.add(Sum{{}, 1 - by, true}, t.coefficient);
      const Bound least = least_of(around, cases - 1);
      return higher(best, least ? Bound(-floor_of(-*least, by)) : std::nullopt);
    }
  }
  return best;
}

std::optional<std::int64_t> narrow(Bound b) {
  if (!b || *b < smallest || *b > largest) return std::nullopt;
  return static_cast<std::int64_t>(*b);
}

// Text.

std::string operand_text(const Integer& i) {
  const bool plain = i.known() ? *i.number >= 0
                               : i.symbol.expression().kind != Kind::quotient &&
                                     i.symbol.expression().kind != Kind::sum;
  return plain ? to_text(i) : "(" + to_text(i) + ")";
}

std::string text_of(const Term& t, bool first) {
  std::string text = t.coefficient < 0 ? (first ? "-" : " - ") : (first ? "" : " + ");
  const std::string number = std::to_string(t.coefficient);
  bool more = t.coefficient != 1 && t.coefficient != -1;
  if (more) text += t.coefficient < 0 ? number.substr(1) : number;
  for (const Symbol f : t.factors) {
    const bool alone = t.factors.size() == 1 && !more && t.coefficient == 1;
    text += (more ? " * " : "") + (alone ? f.text() : operand_text(Integer(f)));
    more = true;
  }
  return text;
}

std::string text_of(const Expression& e) {
  switch (e.kind) {
    case Kind::name:
      if (e.own) return "$" + e.name;
      return is_word(e.name, symbol_marks) && !(e.name.front() >= '0' && e.name.front() <= '9')
                 ? e.name
                 : quoted(e.name);
    case Kind::quotient: return operand_text(e.a) + " / " + operand_text(e.b);
    case Kind::excess: return "max(" + to_text(e.a) + ", 0)";
    case Kind::sum: break;
  }
  std::string text;
  for (const Term& t : e.terms) text += text_of(t, text.empty());
  if (e.constant == 0) return text;
  const std::string number = std::to_string(e.constant);
  return text + (e.constant < 0 ? " - " + number.substr(1) : " + " + number);
}

// Construction.

void add_names(Expression& e, const Integer& part) {
  if (!part.symbolic()) return;
  for (const Symbol name : part.symbol.names()) e.names.push_back(name);
  e.depth = std::max(e.depth, part.symbol.expression().depth + 1);
}

Integer intern(Expression e) {
  add_names(e, e.a);
  add_names(e, e.b);
  for (const Term& t : e.terms) {
    if (t.factors.size() > most_factors) return {};
    for (const Symbol f : t.factors) add_names(e, Integer(f));
  }
  std::ranges::sort(e.names);
  e.names.erase(std::ranges::unique(e.names).begin(), e.names.end());
  if (e.depth > most_depth || e.terms.size() > most_terms) return {};
  e.text = text_of(e);
  if (e.kind != Kind::name && e.text.size() > most_text) return {};
  return Integer(Symbol(Table::get().intern(std::move(e))));
}

Integer integer_of(Sum s) {
  if (!s.fits) return {};
  if (s.is_number()) return s.constant;
  const bool one = s.terms.size() == 1 && s.constant == 0 && s.terms[0].coefficient == 1;
  if (one && s.terms[0].factors.size() == 1) return Integer(s.terms[0].factors[0]);
  Expression e{.kind = Kind::sum, .terms = std::move(s.terms), .constant = s.constant};
  const Sum same{e.terms, e.constant, true};
  e.least = narrow(least_of(same, most_cases));
  e.most = narrow(most_of(same, most_cases));
  return intern(std::move(e));
}

std::int64_t magnitude(std::int64_t v) { return v == smallest ? largest : std::abs(v); }

/// The greatest common divisor of all coefficients; 0 if there are none.
std::int64_t common_factor(const Sum& s) {
  std::int64_t g = 0;
  for (const Term& t : s.terms) g = std::gcd(g, magnitude(t.coefficient));
  return g;
}

/// Divides the coefficients, which must be multiples of `by`, and the constant, which is rounded
/// down.
Sum divided(Sum s, std::int64_t by) {
  for (Term& t : s.terms) t.coefficient /= by;
  s.constant = static_cast<std::int64_t>(floor_of(s.constant, by));
  return s;
}

Integer raw_quotient(const Integer& a, const Integer& b) {
  if (!a.known() && !a.symbolic()) return {};
  if (!b.known() && !b.symbolic()) return {};
  Expression e{.kind = Kind::quotient, .a = a, .b = b};
  const Sum dividend = sum_of(a);
  const Bound least = least_of(dividend, most_cases), most = most_of(dividend, most_cases);
  if (b.known()) {
    if (least) e.least = narrow(floor_of(*least, *b.number));
    if (most) e.most = narrow(floor_of(*most, *b.number));
  } else if (a.at_least(0) && b.at_least(0)) {
    e.least = 0;
    e.most = narrow(most);
  }
  if (e.least && e.least == e.most) return *e.least;
  return intern(std::move(e));
}

/// The quotient by a number above 1, rounded down.
Integer quotient_by(const Sum& dividend, std::int64_t by) {
  const Bound least = least_of(dividend, most_cases), most = most_of(dividend, most_cases);
  if (least && most && floor_of(*least, by) == floor_of(*most, by))
    return static_cast<std::int64_t>(floor_of(*least, by));
  if (by > most_normal_divisor) return raw_quotient(integer_of(dividend), by);
  Sum whole, rest;
  for (const Term& t : dividend.terms) {
    const auto q = static_cast<std::int64_t>(floor_of(t.coefficient, by));
    if (q != 0) whole.add(Term{q, t.factors});
    if (t.coefficient != q * by) rest.add(Term{t.coefficient - q * by, t.factors});
  }
  whole.add(static_cast<std::int64_t>(floor_of(dividend.constant, by)));
  rest.add(dividend.constant - static_cast<std::int64_t>(floor_of(dividend.constant, by)) * by);
  if (rest.is_number()) return integer_of(whole);
  if (const std::int64_t g = std::gcd(common_factor(rest), by); g > 1) {
    rest = divided(rest, g);
    by /= g;
    if (by == 1) return integer_of(plus(whole, rest));
  }
  // (a / n + m) / k is (a + m n) / (n k).
  if (rest.terms.size() == 1 && rest.terms[0].coefficient == 1 &&
      rest.terms[0].factors.size() == 1) {
    const Expression& inner = rest.terms[0].factors[0].expression();
    std::int64_t both = 0;
    if (inner.kind == Kind::quotient && inner.b.known() &&
        !__builtin_mul_overflow(by, *inner.b.number, &both)) {
      const Sum shifted = plus(sum_of(inner.a), Sum{{}, *inner.b.number, true}, rest.constant);
      if (shifted.fits) return integer_of(whole) + quotient_by(shifted, both);
    }
  }
  return integer_of(whole) + raw_quotient(integer_of(rest), by);
}

/// The quotient by a single product, if it divides every term. The caller ensures that it is not 0.
std::optional<Sum> exact_quotient(const Sum& a, const Sum& b) {
  if (b.constant != 0 || b.terms.size() != 1 || a.constant != 0) return std::nullopt;
  Sum result;
  for (const Term& t : a.terms) {
    if (t.coefficient % b.terms[0].coefficient != 0 ||
        !std::ranges::includes(t.factors, b.terms[0].factors))
      return std::nullopt;
    Term left{t.coefficient / b.terms[0].coefficient, {}};
    std::ranges::set_difference(t.factors, b.terms[0].factors, std::back_inserter(left.factors));
    if (left.factors.empty()) result.add(left.coefficient);
    else result.add(std::move(left));
  }
  return result;
}

bool unknown(const Integer& i) { return !i.known() && !i.symbolic(); }

/// max(a, 0)
Integer excess(const Integer& a) {
  if (unknown(a)) return {};
  if (a.at_least(0)) return a;
  if (a.at_most(0)) return 0;
  Sum s = sum_of(a);
  // The normal form has only one of max(a, 0) and max(-a, 0) = max(a, 0) - a.
  if (s.terms[0].coefficient < 0) {
    const Integer other = -a;
    return excess(other) - other;
  }
  if (const std::int64_t g = std::gcd(common_factor(s), magnitude(s.constant)); g > 1)
    return excess(integer_of(divided(s, g))) * g;
  Expression e{.kind = Kind::excess, .a = a};
  e.least = 0;
  e.most = a.symbol.expression().most;
  return intern(std::move(e));
}

struct ConstantArithmetic {
  const ValueOfName& value_of;
  using Value = std::optional<std::int64_t>;

  static Value number(std::int64_t v) { return v; }
  Value name(Symbol s) const { return value_of(s); }
  static Value add(Value a, Value b) {
    std::int64_t sum = 0;
    return a && b && !__builtin_add_overflow(*a, *b, &sum) ? Value(sum) : std::nullopt;
  }
  static Value multiply(Value a, Value b) {
    std::int64_t result = 0;
    return a && b && !__builtin_mul_overflow(*a, *b, &result) ? Value(result) : std::nullopt;
  }
  static Value maximum(Value a, Value b) { return a && b ? Value(std::max(*a, *b)) : std::nullopt; }
  static Value quotient(Value a, Value b, const Expression&) {
    if (!a || !b) return std::nullopt;
    if (*b == 0) return 0;
    return narrow(floor_of(*a, *b));
  }
};

}  // namespace

Symbol Symbol::named(std::string_view name) {
  invariant(!name.empty(), "an extent has an empty name");
  return intern({.name = std::string(name), .least = 0, .most = largest}).symbol;
}

Symbol Symbol::own(std::string_view name) {
  return intern({.own = true, .name = std::string(name), .least = 0, .most = largest}).symbol;
}

bool Symbol::is_name() const { return expression_->kind == Kind::name; }
const std::string& Symbol::name() const { return expression_->name; }
const std::string& Symbol::text() const {
  static const std::string none;
  return expression_ != nullptr ? expression_->text : none;
}
std::span<const Symbol> Symbol::names() const { return expression_->names; }
bool Symbol::is_of_models() const {
  return std::ranges::none_of(names(), [](Symbol s) { return s.expression().own; });
}

bool Integer::at_least(std::int64_t v) const {
  if (known()) return *number >= v;
  return symbolic() && symbol.expression().least && *symbol.expression().least >= v;
}

bool Integer::at_most(std::int64_t v) const {
  if (known()) return *number <= v;
  return symbolic() && symbol.expression().most && *symbol.expression().most <= v;
}

Integer operator+(const Integer& a, const Integer& b) {
  if (unknown(a) || unknown(b)) return {};
  return integer_of(plus(sum_of(a), sum_of(b)));
}

Integer operator-(const Integer& a, const Integer& b) {
  if (unknown(a) || unknown(b)) return {};
  return integer_of(plus(sum_of(a), sum_of(b), -1));
}

Integer operator-(const Integer& a) {
  return unknown(a) ? Integer() : integer_of(times(sum_of(a), -1));
}

Integer operator*(const Integer& a, const Integer& b) {
  if (unknown(a) || unknown(b)) return {};
  const Sum x = sum_of(a), y = sum_of(b);
  if (x.is_number()) return integer_of(times(y, x.constant));
  if (y.is_number()) return integer_of(times(x, y.constant));
  if (x.terms.size() * y.terms.size() > 4 * most_terms) return {};
  Sum result;
  for (const Term& t : x.terms)
    for (const Term& u : y.terms) {
      Term both;
      result.fits = result.fits &&
                    !__builtin_mul_overflow(t.coefficient, u.coefficient, &both.coefficient);
      std::ranges::merge(t.factors, u.factors, std::back_inserter(both.factors));
      result.add(std::move(both));
    }
  result.add(Sum{x.terms, 0, true}, y.constant);
  result.add(Sum{y.terms, 0, true}, x.constant);
  std::int64_t constant = 0;
  result.fits = result.fits && !__builtin_mul_overflow(x.constant, y.constant, &constant);
  result.add(constant);
  return integer_of(std::move(result));
}

Integer floor_div(const Integer& a, const Integer& b) {
  if (unknown(a) || unknown(b)) return {};
  if (b == 0 || a == 0) return 0;
  if (b.known()) {
    if (*b.number == 1) return a;
    if (*b.number == smallest) return {};
    if (*b.number < 0) return floor_div(-a, -*b.number);
    return quotient_by(sum_of(a), *b.number);
  }
  Sum dividend = sum_of(a), divisor = sum_of(b);
  if (b.at_least(1))
    if (const auto exact = exact_quotient(dividend, divisor)) return integer_of(*exact);
  const std::int64_t g = std::gcd(std::gcd(common_factor(dividend), magnitude(dividend.constant)),
                                  std::gcd(common_factor(divisor), magnitude(divisor.constant)));
  if (g <= 1) return raw_quotient(a, b);
  return raw_quotient(integer_of(divided(dividend, g)), integer_of(divided(divisor, g)));
}

Integer ceil_div(const Integer& a, std::int64_t b) { return floor_div(a - 1, b) + 1; }

Integer max(const Integer& a, const Integer& b) { return b + excess(a - b); }
Integer min(const Integer& a, const Integer& b) { return a - excess(a - b); }

Integer product(std::span<const Extent> extents) {
  Integer all = 1;
  for (const Extent& e : extents) {
    if (e.known() && e.value == 0) return 0;
    all = all * e;
  }
  return all;
}

std::string to_text(const Integer& i) {
  return i.known() ? std::to_string(*i.number) : i.symbolic() ? i.symbol.text() : "?";
}

namespace {

struct Substitution {
  const std::function<Integer(Symbol)>& of_name;

  static Integer number(std::int64_t v) { return v; }
  Integer name(Symbol s) const { return of_name(s); }
  static Integer add(const Integer& x, const Integer& y) { return x + y; }
  static Integer multiply(const Integer& x, const Integer& y) { return x * y; }
  static Integer maximum(const Integer& x, const Integer& y) { return max(x, y); }
  static Integer quotient(const Integer& x, const Integer& y, const Expression&) {
    return floor_div(x, y);
  }
};

}  // namespace

Integer substitute(const Integer& i, const std::function<Integer(Symbol)>& of_name) {
  if (unknown(i)) return i;
  Substitution names{of_name};
  return compute(i, names);
}

Integer substitute(const Integer& i, Symbol name, const Integer& by) {
  return substitute(i, [&](Symbol s) { return s == name ? by : Integer(s); });
}

std::optional<std::int64_t> evaluate(const Integer& i, const ValueOfName& value_of) {
  if (unknown(i)) return std::nullopt;
  ConstantArithmetic numbers{value_of};
  return compute(i, numbers);
}

std::optional<std::int64_t> evaluate(const Extent& e, const ValueOfName& value_of) {
  const auto value = evaluate(Integer(e), value_of);
  return value && *value >= 0 ? value : std::nullopt;
}

}  // namespace rondel::ir
