#include "passes/simplify_states.h"

#include "base/cancellation.h"
#include "ir/builder.h"
#include "ir/loop_editor.h"
#include "ir/name_of.h"
#include "passes/expressions.h"
#include "passes/linear_forms.h"
#include "passes/loop_body.h"

#include <cstdlib>
#include <unordered_map>
#include <utility>

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::Type;
using ir::ValueId;

constexpr std::int64_t largest_step = std::int64_t{1} << 53;  ///< a double holds it exactly

/// Finds states of a loop that are equal in each trip: states that begin as equal values stay equal
/// if equal states have equal next values.
class EqualStates {
 public:
  EqualStates(const Graph& g, NodeId loop) : g_(g), loop_(g.node(loop)), parts_(loop_.loop()) {
    class_.resize(parts_.states);
    split([&](std::size_t s) {
      return operand_key(g_, loop_.inputs[parts_.states_at() + s]) + " " + to_text(type(s));
    });
  }

  /// For each state, the first state that certainly equals it, which may be the state itself.
  const std::vector<std::size_t>& find() {
    bool all_differ = false;
    while (!all_differ) {
      all_differ = true;
      for (std::size_t s = 0; s < parts_.states; ++s) all_differ = all_differ && class_[s] == s;
      if (all_differ) break;
      number_body();
      if (!split([&](std::size_t s) {
            return fmt::format("{} {}", class_[s], operand_key(g_, number(body().results[1 + s])));
          }))
        break;
    }
    return class_;
  }

 private:
  const ir::Region& body() const { return g_.region(parts_.body); }
  const Type& type(std::size_t s) const { return g_.value(body().params[2 + s]).type; }

  /// States with equal keys get one class; true if the classes change.
  template <class Key> bool split(const Key& key) {
    std::unordered_map<std::string, std::size_t> first;
    std::vector<std::size_t> now;
    for (std::size_t s = 0; s < parts_.states; ++s)
      now.push_back(first.try_emplace(key(s), s).first->second);
    return std::exchange(class_, now) != now;
  }

  ValueId number(ValueId v) const {
    const auto at = same_.find(v);
    return at == same_.end() ? v : at->second;
  }

  /// Finds the values of the body that are equal if the states of each class are.
  void number_body() {
    same_.clear();
    for (std::size_t s = 0; s < parts_.states; ++s)
      same_[body().params[2 + s]] = body().params[2 + class_[s]];
    std::unordered_map<std::string, NodeId> first;
    for (const NodeId n : body().nodes) {
      const ir::Node& node = g_.node(n);
      if (!is_expression(node)) continue;
      std::vector<ValueId> inputs;
      for (const ValueId v : node.inputs) inputs.push_back(number(v));
      const ir::Node& equal = g_.node(
          first.try_emplace(expression_key(g_, node, inputs), n).first->second);
      for (std::size_t j = 0; j < node.outputs.size(); ++j)
        if (equal.outputs[j] != ValueId::none) same_[node.outputs[j]] = equal.outputs[j];
    }
  }

  const Graph& g_;
  const ir::Node& loop_;
  const ir::LoopParts parts_;
  std::vector<std::size_t> class_;
  std::unordered_map<ValueId, ValueId> same_;
};

/// Simplifies the states of one loop.
class Simplifier {
 public:
  Simplifier(Graph& g, NodeId n, Remarks* remarks)
      : g_(g), n_(n), editor_(g, n), remarks_(remarks, g, n) {}

  bool run() {
    bool any = false;
    for (bool changed = true; changed; any = any || changed) {
      changed = false;
      for (std::size_t s = parts().states; s-- > 0;)
        changed = drop_unchanged(s) || drop_linear(s) || changed;
      changed = merge() || changed;
    }
    return any;
  }

 private:
  const ir::LoopParts& parts() const { return editor_.parts(); }
  const ir::Region& body() const { return g_.region(parts().body); }
  ValueId initial(std::size_t s) const { return g_.node(n_).inputs[parts().states_at() + s]; }
  ValueId param(std::size_t s) const { return body().params[2 + s]; }
  ValueId next(std::size_t s) const { return body().results[1 + s]; }

  /// Removes a state: `now` is its value in each trip, `last` its value after the loop.
  void replace(std::size_t s, ValueId now, ValueId last, const std::string& why) {
    remarks_.done(
        [&] { return fmt::format("state {} is left out: {}", ir::name_of(g_, param(s)), why); });
    const ValueId final = g_.node(n_).outputs[s];
    g_.replace_uses(param(s), now);
    if (g_.is_read(final)) g_.replace_uses(final, last);
    editor_.remove_state(s);
  }

  /// Sequences and optionals stay: an exporter has no identity for each of their types.
  bool drop_unchanged(std::size_t s) {
    if (!g_.value(initial(s)).type.is_tensor()) return false;
    if (next(s) != param(s) && operand_key(g_, next(s)) != operand_key(g_, initial(s)))
      return false;
    replace(s, initial(s), initial(s), "no trip changes it");
    return true;
  }

  bool drop_linear(std::size_t s) {
    const Type& t = g_.value(param(s)).type;
    if (!t.is_tensor() || !has_forms(t.dtype()) || !is_one_element(g_, param(s)) ||
        !(t == g_.value(initial(s)).type) || !(t == g_.value(next(s)).type))
      return false;
    const auto is_no_term = [](ValueId) { return false; };
    const auto form = linear_form(g_, next(s), param(s), bits(t.dtype()), is_no_term);
    if (!form || as_number(form->factor, t.dtype()) != 1) return false;
    const std::int64_t step = as_number(form->constant, t.dtype());
    if (step > largest_step || step < -largest_step || (t.dtype() == DType::u64 && step < 0))
      return false;
    ir::Builder inside(g_, parts().body), after(g_, g_.node(n_).region);
    inside.insert_first();
    after.insert_after(n_);
    for (ir::Builder* b : {&inside, &after}) b->source(g_.node(n_).source);
    const bool read = g_.is_read(g_.node(n_).outputs[s]);
    const ValueId now = stepped(inside, s, step, body().params[0]);
    replace(s, now, read ? stepped(after, s, step, trips_made()) : ValueId::none,
            "it follows from the trip index");
    return true;
  }

  /// The initial value plus `step` times `count`.
  ValueId stepped(ir::Builder& b, std::size_t s, std::int64_t step, ValueId count) {
    const Type t = g_.value(initial(s)).type;
    ValueId y = count;
    if (t.dtype() != DType::i64) y = b("convert", {y}, {{"to", Type::scalar(t.dtype())}});
    if (step != 1) y = b("mul", {y, b.scalar(t.dtype(), static_cast<double>(step))});
    if (integer_constant(g_, initial(s)) != 0) return b("add", {y, initial(s)});
    return t.rank() == 0 ? y : b("reshape", {y, b.integers(t.static_shape())});
  }

  ValueId trips_made() {
    return ir::restored_output(g_, n_, g_.node(n_).outputs.size() - 1, Type::scalar(DType::i64));
  }

  bool merge() {
    const std::vector<std::size_t> first = EqualStates(g_, n_).find();
    bool changed = false;
    for (std::size_t s = first.size(); s-- > 0;) {
      if (first[s] == s) continue;
      if (parts().fixed[s] != 0) editor_.set_fixed(first[s], true);
      if (parts().keeps[s] != 0) editor_.set_keeps(first[s], true);
      restore_final(first[s]);
      replace(s, param(first[s]), g_.node(n_).outputs[first[s]],
              "it always equals " + ir::name_of(g_, param(first[s])));
      changed = true;
    }
    return changed;
  }

  void restore_final(std::size_t s) {
    if (g_.node(n_).outputs[s] != ValueId::none) return;
    const Type t = g_.value(param(s)).type;
    g_.erase_output(n_, s);
    g_.insert_output(n_, s, t, {});
  }

  Graph& g_;
  const NodeId n_;
  ir::LoopEditor editor_;
  LoopRemarks remarks_;
};

}  // namespace

bool simplify_states(Graph& g, Remarks* remarks) {
  bool changed = false;
  for (const NodeId n : loops_inside_out(g)) {
    check_cancellation();
    changed = Simplifier(g, n, remarks).run() || changed;
  }
  return changed;
}

}  // namespace rondel::passes
