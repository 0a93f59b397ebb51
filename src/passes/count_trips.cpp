#include "passes/count_trips.h"

#include "base/cancellation.h"
#include "ir/clone.h"
#include "ir/loop_editor.h"
#include "ir/name_of.h"
#include "passes/bounded_integers.h"
#include "passes/expressions.h"
#include "passes/linear_forms.h"
#include "passes/loop_body.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

/// Values of a body that are asked whether they change; a condition with more is left alone.
constexpr std::size_t most_values = 1000;

enum class Relation : std::uint8_t { less, less_or_equal, greater, greater_or_equal, differs };

Relation mirrored(Relation r) {
  if (r == Relation::less) return Relation::greater;
  if (r == Relation::greater) return Relation::less;
  if (r == Relation::less_or_equal) return Relation::greater_or_equal;
  return r == Relation::greater_or_equal ? Relation::less_or_equal : r;
}

Relation negated(Relation r) {
  if (r == Relation::less) return Relation::greater_or_equal;
  if (r == Relation::greater) return Relation::less_or_equal;
  return r == Relation::less_or_equal ? Relation::greater : Relation::less;
}

/// A part of a condition: a value, or its negation.
struct Part {
  ValueId value;
  bool negative = false;
  bool operator==(const Part&) const = default;
};

/// The comparison that a part of a condition makes, if it is one.
struct Comparison {
  ValueId left, right;
  Relation relation;
};

std::optional<Comparison> comparison(const Graph& g, const Part& p) {
  const NodeId n = g.value(p.value).producer;
  if (n == NodeId::none) return std::nullopt;
  const Node& node = g.node(n);
  const std::string_view op = node.op->name;
  if (op == "equal")
    return p.negative ? std::optional(Comparison{node.inputs[0], node.inputs[1], Relation::differs})
                      : std::nullopt;
  Relation r{};
  if (op == "less") r = Relation::less;
  else if (op == "less_or_equal") r = Relation::less_or_equal;
  else if (op == "greater") r = Relation::greater;
  else if (op == "greater_or_equal") r = Relation::greater_or_equal;
  else return std::nullopt;
  // The negation of a comparison of floats is true of NaN.
  if (!is_integer(g.value(node.inputs[0]).type.dtype())) return std::nullopt;
  return Comparison{node.inputs[0], node.inputs[1], p.negative ? negated(r) : r};
}

/// The operands if the part is itself a conjunction, or the negation of a part; else none.
std::vector<Part> split(const Graph& g, const Part& p) {
  const NodeId n = g.value(p.value).producer;
  if (n == NodeId::none) return {};
  const Node& node = g.node(n);
  const bool is_negation = node.op->name == "not";
  if (!is_negation && node.op->name != (p.negative ? "or" : "and")) return {};
  std::vector<Part> parts;
  for (const ValueId v : node.inputs) {
    if (!is_one_element(g, v)) return {};
    parts.push_back({v, p.negative != is_negation});
  }
  return parts;
}

/// The parts of a conjunction, each once.
std::vector<Part> parts_of(const Graph& g, ValueId condition) {
  std::vector<Part> parts, pending{{condition}}, seen;
  while (!pending.empty()) {
    Part p = pending.back();
    pending.pop_back();
    p.value = reshaped_from(g, p.value);
    if (std::ranges::count(seen, p) > 0) continue;
    seen.push_back(p);
    const std::vector<Part> operands = split(g, p);
    if (operands.empty()) parts.push_back(p);
    pending.insert(pending.end(), operands.rbegin(), operands.rend());
  }
  return parts;
}

bool is_true(const Graph& g, const Part& p) {
  const Tensor* t = g.constant(p.value);
  return t != nullptr && t->size() == 1 && t->dtype() == DType::boolean &&
         (*t->data_as<std::uint8_t>() != 0) != p.negative;
}

/// A comparison of a linear function of the trip index with an integer that does not change. As
/// long as it holds, the loop goes on.
struct Test {
  LinearForm form;  ///< modulo the size of `dtype`
  DType dtype;      ///< of the values that the form gives: an integer that may be converted then
  std::int64_t step;
  Relation relation;
  ValueId bound;
  DType compared;         ///< the dtype of both sides of the comparison
  std::string text = {};  ///< "'i' < 'n'"
  bool has_step_of_one() const { return step == 1 || step == -1; }
};

/// Counts the trips of one loop.
class Counter {
 public:
  Counter(Graph& g, NodeId n, Remarks* remarks)
      : g_(g), n_(n), remarks_(remarks, g, n), editor_(g, n), outside_(g, g.node(n).region),
        copy_(g, g), numbers_(outside_) {
    outside_.insert_before(n);
    outside_.source(g.node(n).source);
  }

  bool run() {
    if (!parts().has_go || (parts().has_trips && !is_one_element(g_, input(parts().trips_at()))))
      return false;
    initial_ = parts_of(g_, input(parts().go_at()));
    divide_condition();
    if (tests_.empty() && (!rest_.empty() || !parts().has_trips)) return false;
    const bool can_drop = rest_.empty() && (tests_begin() || can_choose());
    if (tests_.empty() && !can_drop) return false;
    for (const Test& t : tests_) remarks_.done([&] { return t.text + " became the trip count"; });
    if (can_drop && tests_.empty()) remarks_.done([] { return "the condition is always true"; });
    set_limits(can_drop);
    return true;
  }

 private:
  const ir::LoopParts& parts() const { return editor_.parts(); }
  const ir::Region& body() const { return g_.region(parts().body); }
  ValueId input(std::size_t k) const { return g_.node(n_).inputs[k]; }
  bool is_outside(ValueId v) const { return !g_.encloses(parts().body, g_.value(v).region); }

  // What the body's condition consists of.

  void divide_condition() {
    for (const Part& p : parts_of(g_, body().results[0])) {
      // In a trip, the condition that decided on it is true.
      if ((p.value == body().params[1] && !p.negative) || is_true(g_, p)) continue;
      const auto c = comparison(g_, p);
      auto test = c ? test_of(*c) : std::nullopt;
      if (test && can_count(*test) && !hides_count(*test)) {
        test->text = text_of(*c);
        tests_.push_back(*std::move(test));
        continue;
      }
      rest_.push_back(p);
      remarks_.left([&] { return why_not(p, c, test); });
    }
  }

  std::string text_of(const Comparison& c) const {
    constexpr const char* signs[] = {"<", "<=", ">", ">=", "!="};
    return fmt::format("{} {} {}", ir::name_of(g_, c.left),
                       signs[static_cast<std::size_t>(c.relation)], ir::name_of(g_, c.right));
  }

  /// Why a part of the condition stays.
  std::string why_not(const Part& p, const std::optional<Comparison>& c,
                      const std::optional<Test>& test) const {
    if (!c)
      return fmt::format("the condition {} stays: it compares no integers",
                         ir::name_of(g_, p.value));
    const std::string stays = text_of(*c) + " stays: ";
    if (!test) return stays + "only one side may change, and by the same number in each trip";
    if (!can_count(*test)) return stays + "the count would not be exact for every bound";
    return stays + "the loop around this one would not know the count before";
  }

  /// Whether the value can be computed before the loop.
  bool is_invariant(ValueId v) {
    if (v == ValueId::none || is_outside(v) || g_.constant(v) != nullptr) return true;
    if (const auto at = invariant_.find(v); at != invariant_.end()) return at->second;
    if (invariant_.size() == most_values) return false;
    invariant_[v] = false;
    const NodeId n = g_.value(v).producer;
    if (n == NodeId::none || g_.value(v).region != parts().body) return false;
    const Node& node = g_.node(n);
    const bool is = node.regions.empty() && !node.op->random && !is_costly(node) &&
                    std::ranges::all_of(node.inputs, [&](ValueId x) { return is_invariant(x); }) &&
                    cannot_fail(g_, n);
    return invariant_[v] = is;
  }

  std::optional<LinearForm> form(ValueId v, DType t) {
    return linear_form(g_, v, body().params[0], bits(t),
                       [&](ValueId x) { return is_invariant(x); });
  }

  std::optional<Test> test_of(Comparison c) {
    if (is_invariant(c.left)) c = {c.right, c.left, mirrored(c.relation)};
    const auto is_counted = [&](ValueId v) {
      const DType t = g_.value(v).type.dtype();
      return is_one_element(g_, v) && has_forms(t) && t != DType::u64;
    };
    if (!is_counted(c.left) || !is_counted(c.right) || !is_invariant(c.right)) return std::nullopt;
    const DType compared = g_.value(c.left).type.dtype();
    for (ValueId v = c.left; v != ValueId::none; v = converted_exactly(v)) {
      const DType t = g_.value(v).type.dtype();
      if (auto found = form(v, t)) {
        const std::int64_t step = signed_number(found->factor, bits(t));
        if (step == 0) return std::nullopt;
        return Test{*std::move(found), t, step, c.relation, c.right, compared};
      }
    }
    return std::nullopt;
  }

  /// Whether the count would be known only inside of another loop, while the loop has a count that
  /// may be known before: room for what the loop makes is reserved for a known count.
  bool hides_count(const Test& t) const {
    if (!parts().has_trips || !is_in_loop(g_, g_.node(n_).region)) return false;
    const auto known = integer_constant(g_, input(parts().trips_at()));
    if (known && *known >= ir::largest_listed) return false;
    const auto is_from_loop = [&](ValueId v) {
      return g_.constant(v) == nullptr && is_in_loop(g_, g_.value(v).region);
    };
    return is_from_loop(t.bound) || std::ranges::any_of(t.form.terms, [&](const auto& term) {
             return is_from_loop(term.value);
           });
  }

  static std::int64_t signed_number(std::uint64_t word, int bits) {
    return static_cast<std::int64_t>(word << (64 - bits)) >> (64 - bits);
  }

  /// The value that `v` is in a dtype with more bits, which holds all values of its own.
  ValueId converted_exactly(ValueId v) const {
    const ValueId made = reshaped_from(g_, v);
    const NodeId n = g_.value(made).producer;
    if (n == NodeId::none || g_.node(n).op->name != "convert") return ValueId::none;
    const ValueId from = g_.node(n).inputs[0];
    const DType to = g_.value(made).type.dtype(), t = g_.value(from).type.dtype();
    const bool is_exact = has_forms(t) && has_forms(to) && bits(t) < bits(to) &&
                          (is_signed_integer(to) || is_unsigned_integer(t));
    return is_exact && is_one_element(g_, from) ? from : ValueId::none;
  }

  // The number of trips that a test allows.

  /// The last bound, in the direction of the step, that the value reaches if it steps by one and
  /// does not wrap around.
  static std::int64_t last_bound(const Test& t) {
    const bool strict = t.relation == Relation::less || t.relation == Relation::greater;
    if (t.step > 0) return strict ? most_of(t.dtype) : most_of(t.dtype) - 1;
    return strict ? least_of(t.dtype) : least_of(t.dtype) + 1;
  }

  /// Whether the count is exact.
  bool can_count(const Test& t) const {
    if (t.relation == Relation::differs) return t.has_step_of_one() && t.dtype == t.compared;
    const bool is_upwards = t.relation == Relation::less || t.relation == Relation::less_or_equal;
    if (is_upwards != (t.step > 0)) return false;
    if (t.has_step_of_one()) return true;
    // The bound must be known, and all numbers small enough to be added.
    const auto bound = integer_constant(g_, reshaped_from(g_, t.bound));
    const bool is_small = bits(t.dtype) < 64 || t.form.terms.empty();
    constexpr std::int64_t large = std::int64_t{1} << 61;
    const auto is_in = [](std::int64_t v) { return v > -large && v < large; };
    if (!bound || !is_small || !is_in(*bound) || !is_in(t.step) ||
        !is_in(as_number(t.form.constant, t.dtype)))
      return false;
    const std::int64_t last = last_bound(t);
    return t.step > 0 ? *bound <= last - t.step + 1 : *bound >= last - t.step - 1;
  }

  BoundedInteger bound_of(const Test& t) {
    const auto known = integer_constant(g_, reshaped_from(g_, t.bound));
    return known ? BoundedArithmetic::number(*known) : numbers_.of(invariant(t.bound));
  }

  /// How often the test holds from a value on, before it is false. Not positive: it is false.
  BoundedInteger times(const Test& t, const BoundedInteger& from) {
    const BoundedInteger bound = bound_of(t);
    const bool up = t.step > 0;
    if (t.relation == Relation::differs)
      return up ? numbers_.distance_around(from, bound, bits(t.dtype))
                : numbers_.distance_around(bound, from, bits(t.dtype));
    const std::int64_t last = last_bound(t);
    BoundedInteger to = bound;
    if (t.relation == Relation::less_or_equal)
      to = numbers_.add(numbers_.min(bound, BoundedArithmetic::number(last)), 1);
    if (t.relation == Relation::greater_or_equal)
      to = numbers_.add(numbers_.max(bound, BoundedArithmetic::number(last)), -1);
    BoundedInteger d = up ? numbers_.distance(from, to) : numbers_.distance(to, from);
    if (!t.has_step_of_one())
      d = numbers_.divide_up(numbers_.max(d, BoundedArithmetic::number(0)), std::abs(t.step));
    return up ? numbers_.where_greater(bound, last, BoundedArithmetic::largest, d)
              : numbers_.where_less(bound, last, BoundedArithmetic::largest, d);
  }

  /// The trips that the test allows: not positive if it does not hold before the first trip.
  BoundedInteger trips(const Test& t) {
    for (const Part& p : initial_)
      if (const ValueId v = value_before(t, p); v != ValueId::none)
        return times(
            t, t.form.terms.empty() ? BoundedArithmetic::number(number_before(t)) : numbers_.of(v));
    // The first trip is not tested.
    const BoundedInteger first = value_at_first(t);
    std::int64_t before = 0;
    if (first.known() && t.relation != Relation::differs &&
        !__builtin_sub_overflow(first.least, t.step, &before) && before >= least_of(t.dtype) &&
        before <= most_of(t.dtype))
      return numbers_.max(times(t, BoundedArithmetic::number(before)),
                          BoundedArithmetic::number(1));
    const BoundedInteger n = numbers_.max(times(t, first), BoundedArithmetic::number(0));
    return numbers_.add(numbers_.min(n, BoundedArithmetic::number(BoundedArithmetic::largest - 1)),
                        1);
  }

  /// The value that the initial condition compares, if this part of it makes the same test for the
  /// trip before the first; else none.
  ValueId value_before(const Test& t, const Part& p) {
    auto c = comparison(g_, p);
    for (int side = 0; c && side < 2; ++side) {
      if (c->relation == t.relation && has_bound(t, c->right))
        if (const ValueId v = value_before(t, c->left); v != ValueId::none) return v;
      c = {c->right, c->left, mirrored(c->relation)};
    }
    return ValueId::none;
  }

  bool has_bound(const Test& t, ValueId bound) {
    const auto a = form(t.bound, t.compared), b = form(bound, t.compared);
    return g_.value(bound).type.dtype() == t.compared && a && b &&
           LinearForm::are_equal(g_, *a, *b, bits(t.compared));
  }

  /// `v`, as far as it is converted, if it is the value of the form in the trip before the first;
  /// else none.
  ValueId value_before(const Test& t, ValueId v) {
    if (t.form.terms.empty() && integer_constant(g_, v) == number_before(t)) return v;
    while (v != ValueId::none && g_.value(v).type.dtype() != t.dtype) v = converted_exactly(v);
    const auto made = v == ValueId::none ? std::nullopt : form(v, t.dtype);
    LinearForm before = t.form;
    before.constant -= before.factor;
    before.factor = 0;
    return made && LinearForm::are_equal(g_, *made, before, bits(t.dtype)) ? v : ValueId::none;
  }
  static std::int64_t number_before(const Test& t) {
    return as_number(t.form.constant - t.form.factor, t.dtype);
  }

  /// The value of the form in the first trip.
  BoundedInteger value_at_first(const Test& t) {
    const std::int64_t constant = as_number(t.form.constant, t.dtype);
    if (t.form.terms.empty()) return BoundedArithmetic::number(constant);
    const auto in_dtype = [&](ValueId v) {
      v = numbers_.scalar(v);
      if (g_.value(v).type.dtype() == t.dtype) return v;
      return outside_("convert", {v}, {{"to", ir::Type::scalar(t.dtype)}});
    };
    const auto number = [&](std::uint64_t word) {
      return in_dtype(outside_.scalar(static_cast<std::int64_t>(word)));
    };
    ValueId sum = constant == 0 ? ValueId::none : number(t.form.constant);
    for (const LinearForm::Term& term : t.form.terms) {
      ValueId v = in_dtype(invariant(term.value));
      if (term.factor != 1) v = outside_("mul", {v, number(term.factor)});
      sum = sum == ValueId::none ? v : outside_("add", {sum, v});
    }
    return numbers_.of(sum);
  }

  /// A value that does not change, computed before the loop.
  ValueId invariant(ValueId v) {
    if (v == ValueId::none || is_outside(v)) return v;
    if (copy_(v) != v) return copy_(v);
    const NodeId n = g_.value(v).producer;
    for (const ValueId x : std::vector<ValueId>(g_.node(n).inputs)) invariant(x);
    copy_.node(n, g_.node(n_).region, n_);
    return copy_(v);
  }

  // The loop's new limits.

  /// Whether the count may be chosen by the initial condition. In another loop, the count may be
  /// known before that loop, but not after the choice (`hides_count`).
  bool can_choose() const {
    return is_one_element(g_, input(parts().go_at())) && !is_in_loop(g_, g_.node(n_).region);
  }
  /// Whether the tests make the whole initial condition, or it is true: if it is false, the count
  /// of a test is not positive.
  bool tests_begin() {
    return std::ranges::all_of(initial_, [&](const Part& p) {
      return is_true(g_, p) || std::ranges::any_of(tests_, [&](const Test& t) {
               return value_before(t, p) != ValueId::none;
             });
    });
  }

  void set_limits(bool can_drop_condition) {
    std::optional<BoundedInteger> least;
    const bool begins = tests_begin();
    if (parts().has_trips) least = numbers_.of(input(parts().trips_at()));
    for (const Test& t : tests_) {
      const BoundedInteger n = trips(t);
      least = least ? numbers_.min(*least, n) : n;
    }
    if (can_drop_condition && !begins) {
      const ValueId go = numbers_.scalar(input(parts().go_at()));
      least = numbers_.where(go, *least, BoundedArithmetic::number(0));
    }
    const ValueId go = can_drop_condition || rest_.empty() ? body().params[1] : rest();
    g_.set_result(parts().body, 0, go);
    if (can_drop_condition) editor_.set_go(ValueId::none);
    if (!tests_.empty() || !begins) editor_.set_trips(numbers_.value(*least));
  }

  /// The parts of the condition that do not count.
  ValueId rest() {
    ir::Builder inside(g_, parts().body);
    inside.source(g_.node(n_).source);
    ValueId all = ValueId::none;
    for (const Part& p : rest_) {
      const ValueId v = p.negative ? inside("not", {p.value}) : p.value;
      all = all == ValueId::none ? v : inside("and", {all, v});
    }
    const ir::Type& t = g_.value(all).type;
    if (t.has_rank() && t.rank() == 0) return all;
    return inside("reshape", {all, inside.integers({})});
  }

  Graph& g_;
  const NodeId n_;
  LoopRemarks remarks_;
  ir::LoopEditor editor_;
  ir::Builder outside_;
  ir::Cloner copy_;
  BoundedArithmetic numbers_;
  std::vector<Part> initial_, rest_;
  std::vector<Test> tests_;
  std::unordered_map<ValueId, bool> invariant_;
};

}  // namespace

bool count_trips(Graph& g, Remarks* remarks) {
  bool changed = false;
  for (const NodeId n : loops_inside_out(g)) {
    check_cancellation();
    changed = Counter(g, n, remarks).run() || changed;
  }
  return changed;
}

}  // namespace rondel::passes
