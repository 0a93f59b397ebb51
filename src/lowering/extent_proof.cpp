#include "lowering/extent_proof.h"

#include "ir/expression.h"
#include "ir/range.h"
#include "lowering/inequalities.h"

#include <array>
#include <deque>
#include <map>

namespace rondel::lowering {
namespace {

using ir::Expression;
using ir::Integer;
using ir::Integers;
using ir::Symbol;
using Factors = std::vector<Symbol>;

/// Limits on the work for one proof.
constexpr std::size_t most_products = 64;
constexpr int most_cases = 2000;
constexpr std::array steps_to_try{2, 3, 4, 100};
/// Larger bounds of factors say nothing of products, which then may be as large as integers can be.
constexpr std::int64_t largest_bound_of_factor = std::int64_t{1} << 32;

bool is_never_negative(Symbol factor) { return Integer(factor).at_least(0); }

Integer product_of(const Factors& factors) {
  Integer all = 1;
  for (const Symbol f : factors) all = all * Integer(f);
  return all;
}

/// What the form of a quotient says about it.
std::vector<AtMost> facts_of_quotient(const Integer& q, const Expression& e) {
  if (e.b.known()) return {{q, e.a, *e.b.number, 1}, {e.a - e.b + 1, q, 1, *e.b.number}};
  if (e.a.at_least(0) && e.b.at_least(1)) return {{q, e.a}, {q * e.b, e.a}, {0, q}};
  return {};
}

struct Search {
  int cases_left = most_cases;  ///< how many more may be looked at
  bool left_facts_out = false;  ///< because no more steps were to be taken
};

/// What is known in one case: inequalities, and facts of which nobody has asked yet which of their
/// lists holds.
class Case {
 public:
  Case(const FactsOfName& facts_of, int steps) : facts_of_(facts_of), steps_(steps) {}

  /// Adds the fact, or that there are at least `more` between its sides.
  void add(const AtMost& fact, std::int64_t more = 0) {
    if (!fact.a.known_or_symbolic() || !fact.b.known_or_symbolic()) return;
    Inequality row{.terms = {}, .constant = more};
    add_to(row, fact.a, fact.times_a);
    add_to(row, fact.b, -fact.times_b);
    rows_.add(std::move(row));
  }

  /// Whether nothing can be as it is in this case.
  bool is_impossible(Search& search) {
    while (rows_.have_solution()) {
      search.left_facts_out |= steps_ == 0 && !new_factors_.empty();
      if (steps_ == 0 || new_factors_.empty()) return split(search);
      --steps_;
      for (const Symbol factor : std::exchange(new_factors_, {})) meet(factor);
    }
    return true;
  }

 private:
  /// The same, looking at all cases of a fact that is still open.
  bool split(Search& search) {
    // Names lead to other names, so their facts come last.
    auto& open = open_maxima_.empty() ? open_names_ : open_maxima_;
    if (open.empty()) return false;
    const auto [of, fact] = open.front();
    open.pop_front();
    return std::ranges::all_of(fact, [&](const std::vector<AtMost>& list) {
      if (search.cases_left-- <= 0) return false;
      Case one = *this;
      for (const AtMost& i : list) one.add_of(of, i);
      return one.is_impossible(search);
    });
  }

  void add_to(Inequality& row, const Integer& i, std::int64_t times) {
    const auto add_term = [&](const Factors& factors, std::int64_t coefficient) {
      row.terms[number(factors)] += WideInteger(times) * coefficient;
    };
    if (i.known()) {
      row.constant += WideInteger(times) * *i.number;
    } else if (const Expression& e = i.symbol.expression(); e.kind == Expression::Kind::sum) {
      row.constant += WideInteger(times) * e.constant;
      for (const ir::Term& t : e.terms) add_term(t.factors, t.coefficient);
    } else {
      add_term({i.symbol}, 1);
    }
    std::erase_if(row.terms, [](const auto& term) { return term.second == 0; });
  }

  /// The number of a product as an unknown of the inequalities.
  std::size_t number(const Factors& factors) {
    const auto [at, is_new] = products_.try_emplace(factors, products_.size());
    const std::size_t n = at->second;
    if (!is_new || products_.size() > most_products) return n;
    if (std::ranges::all_of(factors, is_never_negative)) add({0, product_of(factors)});
    for (std::size_t k = 0; k < factors.size(); ++k) {
      if (k > 0 && factors[k] == factors[k - 1]) continue;
      const auto [met, is_new_factor] = known_.try_emplace(factors[k]);
      if (is_new_factor) new_factors_.push_back(factors[k]);
      for (const AtMost& i : std::vector(met->second)) add_times_rest(i, factors, k);
    }
    return n;
  }

  /// Adds what is certain about a factor.
  void meet(Symbol factor) {
    const Expression& e = factor.expression();
    const Integer self(factor);
    if (e.least) add_of(factor, {*e.least, self});
    if (e.most && *e.most <= largest_bound_of_factor) add_of(factor, {self, *e.most});
    else if (e.most) add({self, *e.most});
    switch (e.kind) {
      case Expression::Kind::name:
        for (const Fact& fact : facts_of_(factor)) add_fact(factor, fact);
        return;
      case Expression::Kind::excess:
        add_of(factor, {e.a, self});
        return add_fact(factor, {{{self, 0}, {e.a, 0}}, {{self, e.a}, {0, e.a}}});
      case Expression::Kind::quotient: return add_fact(factor, {facts_of_quotient(self, e)});
      case Expression::Kind::sum: return;
    }
  }

  void add_fact(Symbol of, const Fact& fact) {
    if (fact.size() > 1) {
      (of.is_name() ? open_names_ : open_maxima_).emplace_back(of, fact);
      return;
    }
    for (const std::vector<AtMost>& list : fact)
      for (const AtMost& i : list) add_of(of, i);
  }

  /// An inequality about a factor holds for products with it, too.
  void add_of(Symbol factor, const AtMost& i) {
    add(i);
    known_[factor].push_back(i);
    std::vector<Factors> all;
    for (const auto& [factors, n] : products_) all.push_back(factors);
    for (const Factors& factors : all)
      if (const auto at = std::ranges::find(factors, factor); at != factors.end())
        add_times_rest(i, factors, static_cast<std::size_t>(at - factors.begin()));
  }

  void add_times_rest(const AtMost& i, const Factors& factors, std::size_t k) {
    Factors rest = factors;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(k));
    if (!std::ranges::all_of(rest, is_never_negative)) return;
    const Integer others = product_of(rest);
    add({i.a * others, i.b * others, i.times_a, i.times_b});
  }

  const FactsOfName& facts_of_;
  int steps_;  ///< how often facts about what facts are about may still be added
  Inequalities rows_;
  std::map<Factors, std::size_t> products_;
  std::map<Symbol, std::vector<AtMost>> known_;
  std::vector<Symbol> new_factors_;  ///< those of which nothing was added yet
  std::deque<std::pair<Symbol, Fact>> open_maxima_, open_names_;
};

/// All facts may be more than can be looked at, where a few do: those about a and b, and about what
/// these are about, come first.
bool follows(const Integer& a, const Integer& b, const FactsOfName& facts_of) {
  for (const int steps : steps_to_try) {
    Case all(facts_of, steps);
    all.add({b, a}, 1);
    Search search;
    if (all.is_impossible(search)) return true;
    if (!search.left_facts_out) return false;
  }
  return false;
}

/// The factors of a product, in order; none of a sum, and of what may be negative.
Factors factors_of(const Integer& i) {
  if (!i.symbolic()) return {};
  const Expression& e = i.symbol.expression();
  if (e.kind != Expression::Kind::sum || e.constant != 0 || e.terms.size() != 1 ||
      e.terms[0].coefficient != 1 || !std::ranges::all_of(e.terms[0].factors, is_never_negative))
    return {};
  Factors factors = e.terms[0].factors;
  std::ranges::sort(factors);
  return factors;
}

/// Whether each factor of one product certainly is at most one of the other: then no product of
/// what is known of them needs to be known.
bool factors_follow(const Integer& a, const Integer& b, const FactsOfName& facts_of) {
  const Factors all = factors_of(a), others = factors_of(b);
  Factors left, most;
  std::ranges::set_difference(all, others, std::back_inserter(left));
  std::ranges::set_difference(others, all, std::back_inserter(most));
  if (all.empty() || left.size() != most.size()) return false;
  do {
    if (std::ranges::equal(left, most, [&](Symbol x, Symbol y) {
          return certainly_at_most(Integer(x), Integer(y), facts_of);
        }))
      return true;
  } while (std::ranges::next_permutation(most).found);
  return false;
}

/// Whether each of the terms of a sum certainly is at most an equal share of b.
bool terms_follow(const Integer& a, const Integer& b, const FactsOfName& facts_of) {
  if (!a.symbolic() || !b.symbolic()) return false;
  const Expression &x = a.symbol.expression(), &y = b.symbol.expression();
  if (x.kind != Expression::Kind::sum || y.kind != Expression::Kind::sum || x.constant != 0)
    return false;
  const auto count = static_cast<std::int64_t>(x.terms.size());
  Integer share = y.constant / count;
  for (const ir::Term& t : y.terms) share = share + product_of(t.factors) * (t.coefficient / count);
  return count > 1 && share * count == b && std::ranges::all_of(x.terms, [&](const ir::Term& t) {
           return certainly_at_most(product_of(t.factors) * t.coefficient, share, facts_of);
         });
}

/// What the name certainly is at most, if a fact says so: the least number, or the first
/// expression.
Integer most_of(Symbol name, const FactsOfName& facts_of) {
  Integer most;
  for (const Fact& fact : facts_of(name)) {
    if (fact.size() != 1) continue;
    for (const AtMost& i : fact[0]) {
      if (!(i.a == Integer(name)) || i.times_a != 1 || i.times_b != 1) continue;
      if (i.b.known()) most = most.known() ? min(most, i.b) : i.b;
      else if (!most.known_or_symbolic()) most = i.b;
    }
  }
  return most;
}

/// Whether a is at most b with each name as large as a fact lets it be.
bool greatest_follows(const Integer& a, const Integer& b, const FactsOfName& facts_of) {
  const auto range_of = [&](Symbol name) -> std::optional<ir::Range> {
    const Integer most = most_of(name, facts_of);
    if (!most.known_or_symbolic()) return std::nullopt;
    return ir::Range{0, most};
  };
  return (ir::greatest(a, range_of) - b).at_most(0);
}

/// Whether a quotient certainly is at most another one because its dividend is at most, and its
/// divisor at least, that of the other.
bool quotient_follows(const Integer& a, const Integer& b, const FactsOfName& facts_of) {
  const auto is_quotient = [](const Integer& i) {
    if (!i.symbolic() || i.symbol.expression().kind != Expression::Kind::quotient) return false;
    return i.symbol.expression().a.at_least(0) && i.symbol.expression().b.at_least(1);
  };
  if (!is_quotient(a) || !is_quotient(b)) return false;
  const Expression &x = a.symbol.expression(), &y = b.symbol.expression();
  return certainly_at_most(x.a, y.a, facts_of) && certainly_at_most(y.b, x.b, facts_of);
}

}  // namespace

Fact at_most_largest(const Integer& a, const Integers& list) {
  Integers largest;  // what certainly is at most another one says nothing
  const auto is_at_most = [](const Integer& i, const Integer& other) {
    return (i - other).at_most(0);
  };
  for (const Integer& i : list) {
    if (std::ranges::any_of(largest, [&](const Integer& l) { return is_at_most(i, l); })) continue;
    std::erase_if(largest, [&](const Integer& l) { return is_at_most(l, i); });
    largest.push_back(i);
  }
  Fact fact;
  for (const Integer& i : largest) fact.push_back({{a, i}});
  return fact;
}

bool certainly_at_most(const Integer& a, const Integer& b, const FactsOfName& facts_of) {
  if ((a - b).at_most(0)) return true;
  if (!a.known_or_symbolic() || !b.known_or_symbolic()) return false;
  return greatest_follows(a, b, facts_of) || follows(a, b, facts_of) ||
         factors_follow(a, b, facts_of) || terms_follow(a, b, facts_of) ||
         quotient_follows(a, b, facts_of);
}

}  // namespace rondel::lowering
