#include "passes/pack_lists.h"

#include "base/axis.h"
#include "base/error.h"
#include "ir/expression.h"
#include "ir/loop_editor.h"
#include "ir/name_of.h"
#include "passes/lists.h"
#include "passes/loop_body.h"
#include "passes/packed_list.h"
#include "passes/slices_reader.h"

#include <fmt/format.h>

#include <algorithm>
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

bool is_list(const Graph& g, ValueId v) {
  return v != ValueId::none && g.value(v).type.is_sequence();
}

/// Completes the type of a value in the graph. Nodes that read what was read of a list may not know
/// their ranks yet.
void complete(Graph& g, ValueId v, const Type& t) {
  g.value(v).type = ir::completed(g.value(v).type, without_own_symbols(t));
}

/// Inputs of the graph that have extents with names, which are the same in the whole run.
class NamedExtents {
 public:
  NamedExtents(const Graph& g, const ir::TypeEnvironment& k) {
    for (const ValueId v : g.root().params) {
      const Type& t = k.types[ir::index(v)];
      if (!t.is_tensor() || !t.has_rank()) continue;
      for (std::int64_t a = 0; a < t.rank(); ++a)
        if (const Extent& e = t.extent(a); e.symbolic() && e.symbol.is_name())
          places_.try_emplace(e.symbol, v, a);
    }
  }
  /// Whether the extent is a number, or follows from extents of inputs by sums and products.
  bool has(const Extent& e) const {
    return e.known() ||
           (e.symbolic() &&
            std::ranges::all_of(e.symbol.names(),
                                [&](ir::Symbol name) { return places_.contains(name); }) &&
            !divides(e.symbol));
  }
  ValueId value(Builder& b, const Extent& e) const {
    Arithmetic arithmetic{b, *this};
    return ir::compute(ir::Integer(e), arithmetic);
  }

 private:
  struct Arithmetic {
    Builder& b;
    const NamedExtents& all;
    ValueId number(std::int64_t v) { return b.integers({v}); }
    ValueId name(ir::Symbol s) {
      const auto& [v, axis] = all.places_.at(s);
      return b("shape", {v}, {{"start", axis}, {"end", axis + 1}});
    }
    ValueId add(ValueId x, ValueId y) { return b("add", {x, y}); }
    ValueId multiply(ValueId x, ValueId y) { return b("mul", {x, y}); }
    ValueId maximum(ValueId x, ValueId y) { return b("max", {x, y}); }
    ValueId quotient(ValueId, ValueId, const ir::Expression&) {
      invariant(false, "an extent is a quotient");
      return ValueId::none;
    }
  };
  static bool divides(ir::Symbol s) { return s.text().find('/') != std::string::npos; }

  std::map<ir::Symbol, std::pair<ValueId, std::int64_t>> places_;
};

/// Lists that may be one another in a run, and what nodes do with them.
struct Web {
  std::vector<ValueId> lists;
  std::vector<ValueId> items;  ///< tensors that get into the lists
  std::vector<NodeId> nodes;   ///< that make or read them, but for loops and `if`s
  std::set<NodeId> loops;      ///< that carry, make or read them
  bool is_carried = false;     ///< by a loop or an `if`, or made or read in a loop
  std::string why_not = {};    ///< the first reason why they stay
  ListForm form = {};
};

/// Finds the webs of a graph.
class Webs {
 public:
  explicit Webs(const Graph& g) : g_(g) {
    for (const RegionId r : g.regions_below(RegionId::root)) {
      for (const ValueId v : g.region(r).params)
        if (is_list(g, v)) add(v);
      for (const NodeId n : g.region(r).nodes) connect(n);
    }
    for (const RegionId r : g.regions_below(RegionId::root))
      for (const NodeId n : g.region(r).nodes) note(n);
    for (const ValueId v : g.root().params)
      if (is_list(g, v)) refuse(v, "it is an input of the model");
    for (const ValueId v : unread_) refuse(v, "nothing reads what an `if` makes of it");
  }

  std::vector<Web> all() {
    std::vector<Web> found;
    for (auto& [root, web] : webs_) found.push_back(std::move(web));
    return found;
  }

 private:
  ValueId root(ValueId v) {
    ValueId r = v;
    while (parents_.at(r) != r) r = parents_.at(r);
    return parents_[v] = r;
  }
  void add(ValueId v) { parents_.try_emplace(v, v); }
  void unite(ValueId a, ValueId b) {
    if (a == ValueId::none || b == ValueId::none) return;
    add(a);
    add(b);
    parents_[root(a)] = root(b);
  }
  Web& web(ValueId v) { return webs_[root(v)]; }
  void refuse(ValueId v, std::string why) {
    if (std::string& text = web(v).why_not; text.empty()) text = std::move(why);
  }

  void connect(NodeId n) {
    const Node& node = g_.node(n);
    for (const ValueId v : node.outputs)
      if (is_list(g_, v)) add(v);
    if (node.is_loop()) {
      const LoopParts parts(node);
      const ir::Region& body = g_.region(parts.body);
      for (std::size_t s = 0; s < parts.states; ++s) {
        const ValueId state = body.params[2 + s];
        if (!is_list(g_, state)) continue;
        unite(state, node.inputs[parts.states_at() + s]);
        unite(state, body.results[1 + s]);
        unite(state, node.outputs[s]);
      }
    } else if (node.regions.size() == 2) {
      for (std::size_t j = 0; j < node.outputs.size(); ++j) {
        const ValueId then = g_.region(node.regions[0]).results[j];
        if (!is_list(g_, then)) continue;
        add(then);
        unite(then, g_.region(node.regions[1]).results[j]);
        unite(then, node.outputs[j]);
        if (node.outputs[j] == ValueId::none) unread_.push_back(then);
      }
    } else if (is_op(g_, n, "sequence_insert") || is_op(g_, n, "sequence_erase")) {
      unite(node.inputs[0], node.outputs[0]);
    }
  }

  /// Notes what a node does with lists. The webs are complete.
  void note(NodeId n) {
    const Node& node = g_.node(n);
    for (const ValueId v : node.outputs)
      if (is_list(g_, v)) web(v).lists.push_back(v);
    for (const RegionId r : node.regions)
      for (const ValueId v : g_.region(r).params)
        if (is_list(g_, v)) web(v).lists.push_back(v);
    if (!node.regions.empty()) return note_carried(n);
    for (const ValueId v : node.inputs)
      if (is_list(g_, v) && g_.value(v).region != node.region) note_loop(v, node.region);
    const std::string_view op = node.op->name;
    if (is_list(g_, node.outputs.empty() ? ValueId::none : node.outputs[0])) {
      note_maker(n, op);
    } else {
      for (const ValueId v : node.inputs) {
        if (!is_list(g_, v)) continue;
        if (reading_of(node) == Reading::other)
          refuse(v, ir::where(g_, n) + " reads it in a way that needs a list");
        web(v).nodes.push_back(n);
      }
    }
  }

  void note_carried(NodeId n) {
    for (const RegionId r : g_.node(n).regions)
      for (const ValueId v : g_.region(r).results) {
        if (!is_list(g_, v)) continue;
        web(v).is_carried = true;
        note_loop(v, r);
      }
  }

  /// Notes the innermost loop around a region.
  void note_loop(ValueId list, RegionId r) {
    NodeId n = g_.region(r).parent;
    while (n != NodeId::none && !g_.node(n).is_loop()) n = g_.region(g_.node(n).region).parent;
    if (n == NodeId::none) return;
    web(list).loops.insert(n);
    web(list).is_carried = true;
  }

  void note_maker(NodeId n, std::string_view op) {
    const Node& node = g_.node(n);
    Web& w = web(node.outputs[0]);
    w.nodes.push_back(n);
    note_loop(node.outputs[0], node.region);
    if (op == "sequence_insert") w.items.push_back(node.inputs[1]);
    else if (op == "sequence_construct")
      w.items.insert(w.items.end(), node.inputs.begin(), node.inputs.end());
    else if (op != "sequence_empty" && op != "sequence_erase" && op != "split_to_sequence")
      refuse(node.outputs[0], ir::where(g_, n) + " makes it");
  }

  const Graph& g_;
  std::map<ValueId, ValueId> parents_;
  std::vector<ValueId> unread_;  ///< results of branches
  std::map<ValueId, Web> webs_;
};

/// Decides on the form of a web.
class FormOf {
 public:
  FormOf(const Graph& g, const ir::TypeEnvironment& k, const NamedExtents& names, Web& w)
      : g_(g), k_(k), names_(names), w_(w) {}

  /// Why the lists stay; empty if they have a form, which is then that of the web.
  std::string run() {
    std::vector<Type> items;
    for (const ValueId v : w_.items) items.push_back(k_.types[ir::index(v)]);
    for (const NodeId n : w_.nodes)
      if (is_op(g_, n, "split_to_sequence")) {
        const ValueId list = g_.node(n).outputs[0];
        items.push_back(k_.types[ir::index(list)].element());
      }
    if (items.empty()) return "it never gets a tensor";
    for (const Type& t : items)
      if (std::string why = add(t); !why.empty()) return why;
    w_.form.dtype = items[0].dtype();
    if (std::string why = choose_axis(); !why.empty()) return why;
    for (const NodeId n : w_.nodes)
      if (!can_write(n))
        return ir::where(g_, n) +
               (w_.form.ragged ? " needs tensors of one shape, and they may have different ones"
                               : " needs a list");
    return "";
  }

 private:
  std::string add(const Type& t) {
    if (!t.is_tensor() || !t.has_rank()) return "its tensors have no known rank";
    if (t.dtype() == DType::string || t.dtype() == DType::c128)
      return "its tensors have no native code";
    ir::Extents extents = t.extents();
    for (Extent& e : extents)
      if (!names_.has(e)) e = {};
    if (!has_any_) w_.form.item = extents;
    has_any_ = true;
    if (extents.size() != w_.form.item.size()) return "its tensors have different ranks";
    for (std::size_t a = 0; a < extents.size(); ++a)
      if (!(w_.form.item[a] == extents[a])) w_.form.item[a] = {};
    return "";
  }

  /// The axis of the block. A ragged list has that of the extent in which its tensors differ,
  /// others the one along which the first reader joins them.
  std::string choose_axis() {
    ListForm& form = w_.form;
    std::vector<std::int64_t> open;
    for (std::size_t a = 0; a < form.item.size(); ++a)
      if (!form.item[a].known_or_symbolic()) open.push_back(static_cast<std::int64_t>(a));
    if (open.size() > 1) return "its tensors may differ in more than one extent";
    form.ragged = !open.empty();
    if (form.ragged) form.axis = open[0];
    else
      for (const NodeId n : w_.nodes) {
        const Reading reading = reading_of(g_.node(n));
        if (reading != Reading::stacked && reading != Reading::joined) continue;
        const std::int64_t axis = SlicesReader::axis_of(g_.node(n));
        const std::int64_t rank = rank_of_item() + (reading == Reading::stacked ? 1 : 0);
        if (has_axis(axis, rank)) form.axis = axis_from_front(axis, rank);
        break;
      }
    return "";
  }

  std::int64_t rank_of_item() const { return std::ssize(w_.form.item); }

  bool can_write(NodeId n) const {
    const Node& node = g_.node(n);
    switch (reading_of(node)) {
      case Reading::stacked: return has_axis(SlicesReader::axis_of(node), rank_of_item() + 1);
      case Reading::joined: return has_axis(SlicesReader::axis_of(node), rank_of_item());
      case Reading::item:
      case Reading::length: return true;
      case Reading::other: break;
    }
    const bool has_second = node.inputs.size() > 1 && node.inputs[1] != ValueId::none;
    if (node.op->name == "split_to_sequence")
      return !has_second && (!w_.form.ragged || (node.attributes.flag("keepdims", true) &&
                                                 split_axis(node) == w_.form.axis));
    if (!w_.form.ragged) return true;
    if (node.op->name == "sequence_insert") return appends(g_, n);
    return node.op->name != "sequence_erase" || !has_second;
  }
  std::int64_t split_axis(const Node& split) const {
    return axis_from_front(SlicesReader::axis_of(split),
                           k_.types[ir::index(split.inputs[0])].rank());
  }

  const Graph& g_;
  const ir::TypeEnvironment& k_;
  const NamedExtents& names_;
  Web& w_;
  bool has_any_ = false;
};

/// Replaces the lists of webs that have a form.
class Packing {
 public:
  Packing(Graph& g, const NamedExtents& names, const std::vector<Web>& webs)
      : g_(g), names_(names) {
    for (const Web& w : webs)
      for (const ValueId v : w.lists) forms_[v] = &w.form;
  }

  void run() {
    write(RegionId::root);
    write_results();
    clean(RegionId::root);
  }

 private:
  const ListForm* form_of(ValueId v) const {
    const auto at = forms_.find(v);
    return at == forms_.end() ? nullptr : at->second;
  }

  // Writes the tensors beside the lists.

  void write(RegionId r) {
    for (const NodeId n : std::vector<NodeId>(g_.region(r).nodes)) {
      if (g_.node(n).is_loop()) write_loop(n);
      else if (!g_.node(n).regions.empty()) write_if(n);
      else write_node(n);
    }
  }

  void write_loop(NodeId n) {
    ir::LoopEditor loop(g_, n);
    const RegionId body = loop.parts().body;
    const std::size_t states = loop.parts().states;
    for (std::size_t s = 0; s < states; ++s) {
      const ValueId param = g_.region(body).params[2 + s];
      const ListForm* form = form_of(param);
      if (form == nullptr) continue;
      const PackedList first = packed_.at(g_.node(n).inputs[loop.parts().states_at() + s]);
      const ValueId last = g_.node(n).outputs[s];
      const std::vector<Type> types = form->types();
      PackedList now, after;
      for (std::size_t k = 0; k < first.size(); ++k) {
        const auto state = loop.add_state(first[k], ValueId::none, types[k],
                                          k == 0 ? g_.value(param).name : std::string());
        now.push_back(state.param);
        after.push_back(state.final);
      }
      packed_[param] = now;
      if (last != ValueId::none) packed_[last] = after;
    }
    write(body);
    std::size_t added = states;
    for (std::size_t s = 0; s < states; ++s) {
      if (form_of(g_.region(body).params[2 + s]) == nullptr) continue;
      for (const ValueId next : packed_.at(g_.region(body).results[1 + s]))
        loop.set_next(added++, next);
    }
  }

  void write_if(NodeId n) {
    for (const RegionId branch : std::vector<RegionId>(g_.node(n).regions)) write(branch);
    const std::size_t count = g_.node(n).outputs.size();
    for (std::size_t j = 0; j < count; ++j) {
      const ValueId list = g_.node(n).outputs[j];
      const ListForm* form = form_of(list);
      if (form == nullptr) continue;
      const std::vector<Type> types = form->types();
      PackedList made;
      for (std::size_t k = 0; k < types.size(); ++k) {
        const std::size_t at = g_.node(n).outputs.size();
        for (const RegionId branch : std::vector<RegionId>(g_.node(n).regions))
          g_.insert_result(branch, at, packed_.at(g_.region(branch).results[j])[k]);
        made.push_back(g_.insert_output(n, at, types[k], k == 0 ? g_.value(list).name : ""));
      }
      packed_[list] = made;
    }
  }

  void write_node(NodeId n) {
    const Node& node = g_.node(n);
    if (node.outputs.empty()) return;
    const ValueId y = node.outputs[0];
    if (const ListForm* form = form_of(y)) {
      packed_[y] = made(n, PackedListWriter(g_, n, *form));
      const std::vector<Type> types = form->types();
      for (std::size_t k = 0; k < types.size(); ++k) complete(g_, packed_[y][k], types[k]);
      if (std::string& name = g_.value(packed_[y][0]).name; name.empty()) name = g_.value(y).name;
    } else if (reading_of(node) != Reading::other) {
      const ListForm* read = form_of(node.inputs[0]);
      if (read == nullptr) return;
      const ValueId by = PackedListWriter(g_, n, *read).read(packed_.at(node.inputs[0]));
      if (std::string& name = g_.value(by).name; name.empty()) name = g_.value(y).name;
      g_.replace_uses(y, by);
      for (auto& [list, parts] : packed_) std::ranges::replace(parts, y, by);
    }
  }

  PackedList made(NodeId n, PackedListWriter writer) {
    const Node& node = g_.node(n);
    const std::string_view op = node.op->name;
    const auto has = [&](std::size_t k) {
      return k < node.inputs.size() && node.inputs[k] != ValueId::none;
    };
    if (op == "sequence_empty")
      return writer.empty([&](Builder& b, const Extent& e) { return names_.value(b, e); });
    if (op == "sequence_construct") return writer.of(std::vector<ValueId>(node.inputs));
    if (op == "split_to_sequence")
      return writer.of_slices(
          node.inputs[0],
          axis_from_front(SlicesReader::axis_of(node), g_.value(node.inputs[0]).type.rank()),
          node.attributes.flag("keepdims", true));
    const PackedList& before = packed_.at(node.inputs[0]);
    if (op == "sequence_insert")
      return has(2) ? writer.with(before, node.inputs[1], node.inputs[2])
                    : writer.with(before, node.inputs[1]);
    return has(1) ? writer.without(before, node.inputs[1]) : writer.without_last(before);
  }

  /// Makes the lists that are results of the graph.
  void write_results() {
    std::map<ValueId, ValueId> made;
    for (std::size_t k = 0; k < g_.root().results.size(); ++k) {
      const ValueId list = g_.root().results[k];
      const ListForm* form = form_of(list);
      if (form == nullptr) continue;
      if (!made.contains(list)) {
        made[list] = PackedListWriter(g_, RegionId::root, *form).list(packed_.at(list));
        g_.value(made[list]).name = g_.value(list).name;
      }
      g_.set_result(RegionId::root, k, made[list]);
    }
  }

  // Removes the lists.

  void clean(RegionId r) {
    const std::vector<NodeId> nodes(g_.region(r).nodes);
    for (auto n = nodes.rbegin(); n != nodes.rend(); ++n) {
      if (g_.node(*n).is_loop()) clean_loop(*n);
      else if (!g_.node(*n).regions.empty()) clean_if(*n);
      else if (is_replaced(*n)) g_.erase_node(*n);
    }
  }

  void clean_loop(NodeId n) {
    ir::LoopEditor loop(g_, n);
    const RegionId body = loop.parts().body;
    for (std::size_t s = loop.parts().states; s-- > 0;)
      if (const ValueId param = g_.region(body).params[2 + s]; form_of(param) != nullptr)
        loop.set_next(s, param);
    clean(body);
    for (std::size_t s = loop.parts().states; s-- > 0;)
      if (form_of(g_.region(body).params[2 + s]) != nullptr) loop.remove_state(s);
  }

  void clean_if(NodeId n) {
    for (std::size_t j = g_.node(n).outputs.size(); j-- > 0;) {
      if (form_of(g_.node(n).outputs[j]) == nullptr) continue;
      g_.erase_output(n, j);
      for (const RegionId branch : std::vector<RegionId>(g_.node(n).regions))
        g_.erase_result(branch, j);
    }
    for (const RegionId branch : std::vector<RegionId>(g_.node(n).regions)) clean(branch);
  }

  bool is_replaced(NodeId n) const {
    const Node& node = g_.node(n);
    if (node.outputs.empty()) return false;
    return form_of(node.outputs[0]) != nullptr ||
           (reading_of(node) != Reading::other && form_of(node.inputs[0]) != nullptr);
  }

  Graph& g_;
  const NamedExtents& names_;
  std::map<ValueId, const ListForm*> forms_;
  std::map<ValueId, PackedList> packed_;
};

void remark(const Graph& g, const std::vector<Web>& webs, Remarks* to) {
  std::map<NodeId, std::vector<const Web*>> by_loop;
  for (const Web& w : webs)
    for (const NodeId n : w.loops) by_loop[n].push_back(&w);
  for (const auto& [n, list] : by_loop) {
    LoopRemarks remarks(to, g, n);
    for (const Web* w : list) {
      const auto& params = g.region(g.node(n).loop().body).params;
      const auto state = std::ranges::find_if(
          params, [&](ValueId v) { return std::ranges::count(w->lists, v) > 0; });
      const std::string name = ir::name_of(g, state != params.end() ? *state : w->lists[0]);
      if (w->why_not.empty())
        remarks.done([&] { return fmt::format("list {} became a tensor that grows", name); });
      else remarks.left([&] { return fmt::format("list {} stays: {}", name, w->why_not); });
    }
  }
}

}  // namespace

bool pack_lists(Graph& g, Remarks* to) {
  std::vector<Web> webs = Webs(g).all();
  std::erase_if(webs, [](const Web& w) { return !w.is_carried; });
  if (webs.empty()) return false;
  ir::TypeEnvironment k = ir::named_type_environment(g);
  ir::infer_region(g, RegionId::root, k);
  const NamedExtents names(g, k);
  for (Web& w : webs)
    if (w.why_not.empty()) w.why_not = FormOf(g, k, names, w).run();
  if (to != nullptr) remark(g, webs, to);
  std::erase_if(webs, [](const Web& w) { return !w.why_not.empty(); });
  for (const Web& w : webs) {
    for (const ValueId v : w.items) complete(g, v, k.types[ir::index(v)]);
    for (const NodeId n : w.nodes)
      if (is_op(g, n, "split_to_sequence"))
        complete(g, g.node(n).inputs[0], k.types[ir::index(g.node(n).inputs[0])]);
  }
  Packing(g, names, webs).run();
  return !webs.empty();
}

}  // namespace rondel::passes
