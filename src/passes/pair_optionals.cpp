#include "passes/pair_optionals.h"

#include "ir/loop_parts.h"
#include "ir/name_of.h"
#include "passes/lists.h"
#include "passes/named_extents.h"
#include "passes/webs.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

namespace rondel::passes {
namespace {

using ir::Builder;
using ir::Extent;
using ir::Graph;
using ir::LoopParts;
using ir::Node;
using ir::NodeId;
using ir::RegionId;
using ir::Type;
using ir::ValueId;

/// What a node without regions does with optionals.
enum class Use : std::uint8_t { makes, asks, opens, other };
Use use_of(const Node& n) {
  if (n.op->name == "optional") return Use::makes;
  if (n.op->name == "optional_has_element") return Use::asks;
  if (n.op->name == "optional_get_element") return Use::opens;
  return Use::other;
}

/// Optionals that may be one another in a run.
struct Web {
  std::vector<ValueId> optionals;
  std::vector<ValueId> held;  ///< what some of them hold, and optionals that are inputs
  std::set<NodeId> loops;     ///< that carry, make or read them
  Type empty = {};            ///< what the model says of an empty one; none if it has none
  bool is_carried = false;    ///< by a loop or an `if`, or made or read in a loop
  std::string why_not = {};   ///< the first reason why they stay
  Type value = {};            ///< the type of what they hold
};

/// Finds the webs of a graph.
class OptionalFinder {
 public:
  explicit OptionalFinder(const Graph& g) : g_(g), webs_(g, &Type::is_optional) {
    for (const ValueId v : webs_.values()) web(v).optionals.push_back(v);
    for (const ValueId v : g.root().params)
      if (webs_.has(v)) web(v).held.push_back(v);
    for (const RegionId r : g.regions_below(RegionId::root))
      for (const NodeId n : g.region(r).nodes) {
        const Node& node = g.node(n);
        if (node.is_loop()) note_loop(node);
        else if (!node.regions.empty()) note_if(node);
        else note(n);
      }
    for (const ValueId v : webs_.unread())
      web(v).why_not = "nothing reads what an `if` makes of it";
  }

  std::vector<Web> all() {
    std::vector<Web> found;
    for (auto& [root, web] : found_) found.push_back(std::move(web));
    return found;
  }

 private:
  Web& web(ValueId v) { return found_[webs_.web_of(v)]; }

  /// A value that gets into an optional: another one, or what an optional holds.
  void hand_on(ValueId v, ValueId optional) {
    if (!webs_.has(optional)) return;
    web(optional).is_carried = true;
    if (!webs_.has(v)) web(optional).held.push_back(v);
  }

  void note_loop(const Node& loop) {
    const LoopParts parts(loop);
    const ir::Region& body = g_.region(parts.body);
    for (std::size_t s = 0; s < parts.states; ++s) {
      const ValueId state = body.params[2 + s], last = loop.outputs[s];
      hand_on(loop.inputs[parts.states_at() + s], state);
      hand_on(body.results[1 + s], state);
      if (!webs_.has(state)) continue;
      note_loop_around(parts.body, state);
      if (last != ValueId::none && !webs_.has(last)) web(state).why_not = "it changes its kind";
    }
  }

  void note_if(const Node& node) {
    for (std::size_t j = 0; j < node.outputs.size(); ++j)
      for (const RegionId r : node.regions) {
        const ValueId given = g_.region(r).results[j];
        if (node.outputs[j] == ValueId::none) continue;
        hand_on(given, node.outputs[j]);
        if (webs_.has(given) && !webs_.has(node.outputs[j]))
          web(given).why_not = "it changes its kind";
        if (webs_.has(given)) note_loop_around(r, given);
      }
  }

  void note(NodeId n) {
    const Node& node = g_.node(n);
    for (const ValueId v : node.inputs) {
      if (v == ValueId::none || !webs_.has(v)) continue;
      note_loop_around(node.region, v);
      if (use_of(node) == Use::other || use_of(node) == Use::makes)
        web(v).why_not = ir::where(g_, n) + " reads it";
    }
    for (const ValueId v : node.outputs) {
      if (v == ValueId::none || !webs_.has(v)) continue;
      note_loop_around(node.region, v);
      if (use_of(node) != Use::makes) web(v).why_not = ir::where(g_, n) + " makes it";
      else if (has_operand(node, 0)) web(v).held.push_back(node.inputs[0]);
      else web(v).empty = node.attributes.type("type");
    }
  }

  void note_loop_around(RegionId r, ValueId v) {
    NodeId n = g_.region(r).parent;
    while (n != NodeId::none && !g_.node(n).is_loop()) n = g_.region(g_.node(n).region).parent;
    if (n == NodeId::none) return;
    web(v).loops.insert(n);
    web(v).is_carried = true;
  }

  const Graph& g_;
  Webs webs_;
  std::map<ValueId, Web> found_;
};

/// A type without extents that are not the same in the whole run.
Type without_passing(const Type& t, const NamedExtents& names) {
  if (t.is_sequence()) return Type::sequence(without_passing(t.element(), names));
  if (!t.is_tensor() || !t.has_rank()) return t;
  ir::Extents extents = t.extents();
  for (Extent& e : extents)
    if (!names.has(e)) e = {};
  return Type::tensor(t.dtype(), std::move(extents));
}

/// Finds the type of what a web holds. Returns why there is none; empty if there is one.
std::string find_type(const ir::TypeEnvironment& k, const NamedExtents& names, Web& w) {
  std::optional<Type> all;
  for (const ValueId v : w.held) {
    const Type& t = k.types[ir::index(v)];
    const Type held = without_passing(t.is_optional() ? t.element() : t, names);
    all = all ? join(*all, held) : held;
    if (!all) return "it holds values of different kinds";
  }
  if (!all) all = without_passing(w.empty, names);
  if (all->is_tensor() && !all->has_rank()) return "its tensors have no known rank";
  if (!all->is_tensor() && !all->is_sequence()) return "it holds an optional";
  if (all->dtype() == DType::string || all->dtype() == DType::c128)
    return "its tensors have no native code";
  w.value = *all;
  return "";
}

/// Replaces the optionals of webs that have a type.
class Pairing : public PartsWriter {
 public:
  Pairing(Graph& g, const NamedExtents& names, const std::vector<Web>& webs)
      : PartsWriter(g), names_(names) {
    for (const Web& w : webs) {
      const Type value = w.value.is_tensor()
                             ? without_own_symbols(w.value)
                             : Type::sequence(without_own_symbols(w.value.element()));
      const auto& types = types_.emplace_back(
          std::vector<Type>{Type::scalar(DType::boolean), value});
      for (const ValueId v : w.optionals) forms_[v] = {&w.value, &types};
    }
  }

 private:
  struct Form {
    const Type* value = nullptr;
    const std::vector<Type>* types = nullptr;
  };

  std::span<const Type> types_of(ValueId v) const override {
    const auto at = forms_.find(v);
    return at == forms_.end() ? std::span<const Type>() : *at->second.types;
  }
  ValueId whole(Builder& b, ValueId v) override {
    return b("optional_if", {parts_.at(v)[0], parts_.at(v)[1]});
  }
  Parts parts_of_input(ValueId v) override {
    Builder b(g_, RegionId::root);
    b.insert_first();
    const ValueId nothing = zeros(b, *forms_.at(v).value);
    return named(v, {b("optional_has_element", {v}), b("optional_or", {v, nothing})});
  }
  /// A value that is no optional stands for one that holds it.
  Parts parts_at(Builder& b, ValueId v) override {
    return stays(v) ? Parts{b.scalar(true), v} : parts_.at(v);
  }

  void write_node(NodeId n) override {
    const Node& node = g_.node(n);
    if (node.outputs.empty()) return;
    Builder b(g_, node.region);
    b.insert_before(n);
    b.source(node.source);
    const ValueId y = node.outputs[0];
    if (use_of(node) == Use::makes && !stays(y)) {
      const bool holds = has_operand(node, 0);
      parts_[y] = named(y,
                        {b.scalar(holds), holds ? node.inputs[0] : zeros(b, *forms_.at(y).value)});
    } else if (use_of(node) == Use::asks && has_operand(node, 0) && !stays(node.inputs[0])) {
      replace(y, parts_.at(node.inputs[0])[0]);
    } else if (use_of(node) == Use::opens && !stays(node.inputs[0])) {
      const Parts& parts = parts_.at(node.inputs[0]);
      b.add("assertion", {parts[0]}, {{"message", "the optional is empty"}}, 0);
      replace(y, parts[1]);
    }
  }

  void replace(ValueId y, ValueId by) {
    if (std::string& name = g_.value(by).name; name.empty()) name = g_.value(y).name;
    g_.replace_uses(y, by);
    for (auto& [optional, parts] : parts_) std::ranges::replace(parts, y, by);
  }

  Parts named(ValueId optional, Parts parts) {
    complete(g_, parts[1], types_of(optional)[1]);
    if (std::string& name = g_.value(parts[0]).name; name.empty()) name = g_.value(optional).name;
    return parts;
  }

  /// What an empty optional holds: zeros, as few as may be, or an empty list.
  ValueId zeros(Builder& b, const Type& t) const {
    if (t.is_sequence()) return b("sequence_empty", {}, {{"dtype", Type::scalar(t.dtype())}});
    std::vector<ValueId> extents;
    for (const Extent& e : t.extents())
      extents.push_back(e.known_or_symbolic() ? names_.value(b, e) : b.integers({0}));
    const ValueId zero = b.constant(Tensor::zeros(t.dtype(), {}));
    if (extents.empty()) return zero;
    return b("expand",
             {zero, extents.size() == 1 ? extents[0]
                                        : b("concat", extents, {{"axis", std::int64_t{0}}})});
  }

  bool goes(NodeId n) const override {
    const Node& node = g_.node(n);
    switch (use_of(node)) {
      case Use::makes: return !stays(node.outputs[0]);
      case Use::asks:
      case Use::opens: return has_operand(node, 0) && !stays(node.inputs[0]) && !is_own(n);
      case Use::other: break;
    }
    return false;
  }
  /// Whether the node asks an input of the graph, for the parts.
  bool is_own(NodeId n) const {
    const auto at = parts_.find(g_.node(n).inputs[0]);
    return at != parts_.end() && at->second[0] == g_.node(n).outputs[0];
  }

  const NamedExtents& names_;
  std::deque<std::vector<Type>> types_;
  std::map<ValueId, Form> forms_;
};

void remark(const Graph& g, const std::vector<Web>& webs, Remarks* to) {
  for (const Web& w : webs)
    for (const NodeId n : w.loops) {
      LoopRemarks remarks(to, g, n);
      const std::string name = ir::name_of(g, w.optionals[0]);
      if (w.why_not.empty())
        remarks.done([&] {
          return fmt::format("optional {} became a bool and {}", name,
                             w.value.is_tensor() ? "a tensor" : "a list");
        });
      else remarks.left([&] { return fmt::format("optional {} stays: {}", name, w.why_not); });
    }
}

}  // namespace

bool pair_optionals(Graph& g, Remarks* to) {
  std::vector<Web> webs = OptionalFinder(g).all();
  std::erase_if(webs, [](const Web& w) { return !w.is_carried; });
  if (webs.empty()) return false;
  ir::TypeEnvironment k = ir::named_type_environment(g);
  ir::infer_region(g, RegionId::root, k);
  const NamedExtents names(g, k);
  for (Web& w : webs)
    if (w.why_not.empty()) w.why_not = find_type(k, names, w);
  if (to != nullptr) remark(g, webs, to);
  std::erase_if(webs, [](const Web& w) { return !w.why_not.empty(); });
  for (const Web& w : webs)
    for (const ValueId v : w.held) complete(g, v, k.types[ir::index(v)]);
  Pairing(g, names, webs).run();
  return !webs.empty();
}

}  // namespace rondel::passes
