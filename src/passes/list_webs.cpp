#include "passes/list_webs.h"

#include "base/axis.h"
#include "passes/lists.h"
#include "passes/slices_reader.h"
#include "passes/webs.h"

#include <algorithm>
#include <map>

namespace rondel::passes {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::RegionId;
using ir::Type;
using ir::ValueId;

namespace {

class ListFinder {
 public:
  explicit ListFinder(const Graph& g) : g_(g), webs_(g, &Type::is_sequence) {
    const std::vector<RegionId> regions = g.regions_below(RegionId::root);
    for (const RegionId r : regions)
      for (const NodeId n : g.region(r).nodes)
        if (const Making m = making_of(g.node(n)); m == Making::inserted || m == Making::erased)
          webs_.unite(g.node(n).inputs[0], g.node(n).outputs[0]);
    for (const ValueId v : webs_.values()) web(v).lists.push_back(v);
    for (const ValueId v : g.root().params)
      if (webs_.has(v)) web(v).given.push_back(v);
    for (const RegionId r : regions)
      for (const NodeId n : g.region(r).nodes) note(n);
    for (const ValueId v : webs_.unread()) refuse(v, "nothing reads what an `if` makes of it");
  }

  std::vector<ListWeb> all() {
    std::vector<ListWeb> found;
    for (auto& [root, web] : found_) {
      // To copy a list that is there already gains nothing unless a loop then runs natively.
      if (!web.given.empty() && web.loops.empty()) web.is_carried = false;
      found.push_back(std::move(web));
    }
    return found;
  }

 private:
  ListWeb& web(ValueId v) { return found_[webs_.web_of(v)]; }
  void refuse(ValueId v, std::string why) {
    if (std::string& text = web(v).why_not; text.empty()) text = std::move(why);
  }

  void note(NodeId n) {
    const Node& node = g_.node(n);
    for (const RegionId r : node.regions)
      for (const ValueId v : g_.region(r).results)
        if (webs_.has(v)) {
          web(v).is_carried = true;
          note_loop(v, r);
        }
    if (!node.regions.empty()) return;
    const bool makes = !node.outputs.empty() && webs_.has(node.outputs[0]);
    if (makes) note_maker(n);
    for (const ValueId v : node.inputs)
      if (webs_.has(v)) note_reader(n, v, makes);
  }

  void note_maker(NodeId n) {
    const Node& node = g_.node(n);
    ListWeb& w = web(node.outputs[0]);
    const bool in_loop = note_loop(node.outputs[0], node.region);
    switch (making_of(node)) {
      case Making::other:
        if (in_loop) refuse(node.outputs[0], ir::where(g_, n) + " makes it");
        else w.given.push_back(node.outputs[0]);
        return;
      case Making::inserted: w.items.push_back(node.inputs[1]); break;
      case Making::named:
        w.items.insert(w.items.end(), node.inputs.begin(), node.inputs.end());
        break;
      default: break;
    }
    w.nodes.push_back(n);
  }

  /// `makes`: the node makes a list as well.
  void note_reader(NodeId n, ValueId v, bool makes) {
    const Node& node = g_.node(n);
    const bool in_loop = g_.value(v).region == node.region ? is_in_loop(node.region)
                                                           : note_loop(v, node.region);
    if (makes && making_of(node) != Making::other) return;
    if (reading_of(node) != Reading::other) web(v).nodes.push_back(n);
    else if (in_loop) refuse(v, ir::where(g_, n) + " reads it in a way that needs a list");
  }

  NodeId loop_around(RegionId r) const {
    NodeId n = g_.region(r).parent;
    while (n != NodeId::none && !g_.node(n).is_loop()) n = g_.region(g_.node(n).region).parent;
    return n;
  }
  bool is_in_loop(RegionId r) const { return loop_around(r) != NodeId::none; }

  /// Notes the innermost loop around a region; false if there is none.
  bool note_loop(ValueId list, RegionId r) {
    const NodeId n = loop_around(r);
    if (n == NodeId::none) return false;
    web(list).loops.insert(n);
    return web(list).is_carried = true;
  }

  const Graph& g_;
  Webs webs_;
  std::map<ValueId, ListWeb> found_;
};

class FormFinder {
 public:
  FormFinder(const Graph& g, const ir::TypeEnvironment& k, const NamedExtents& names, ListWeb& w)
      : g_(g), k_(k), names_(names), w_(w) {}

  /// Why the lists stay; empty if they have a form, which is then that of the web.
  std::string run() {
    std::vector<Type> items;
    for (const ValueId v : w_.items) items.push_back(type(v));
    for (const NodeId n : w_.nodes)
      if (making_of(g_.node(n)) == Making::parts)
        items.push_back(type(g_.node(n).outputs[0]).element());
    for (const ValueId v : w_.given) items.push_back(with_numbers_only(type(v).element()));
    if (items.empty()) return "it never gets a tensor";
    for (const Type& t : items)
      if (std::string why = add(t); !why.empty()) return why;
    w_.form.dtype = items[0].dtype();
    if (std::string why = choose_axis(); !why.empty()) return why;
    for (const NodeId n : w_.nodes)
      if (!can_write(g_.node(n)))
        return ir::where(g_, n) +
               (w_.form.ragged ? " needs tensors of one shape, and they may have different ones"
                               : " needs a list");
    return "";
  }

 private:
  const Type& type(ValueId v) const { return k_.types[ir::index(v)]; }

  std::string add(const Type& t) {
    if (!t.is_tensor() || !t.has_rank()) return "its tensors have no known rank";
    if (t.dtype() == DType::string || t.dtype() == DType::c128)
      return "its tensors have no native code";
    ir::Extents extents = t.extents();
    for (ir::Extent& e : extents)
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

  bool can_write(const Node& n) const {
    switch (reading_of(n)) {
      case Reading::stacked:
      case Reading::joined: return SlicesReader::has_axis(n, rank_of_item());
      case Reading::item:
      case Reading::length: return true;
      case Reading::other: break;
    }
    const bool ragged = w_.form.ragged;
    switch (making_of(n)) {
      case Making::inserted: return !ragged || !has_operand(n, 2);
      case Making::erased: return !ragged || !has_operand(n, 1);
      case Making::parts: return can_split(n);
      default: return true;
    }
  }
  bool can_split(const Node& n) const {
    const bool lengths = has_operand(n, 1);
    if (lengths && !(type(n.inputs[1]).has_rank() && type(n.inputs[1]).rank() < 2)) return false;
    if (!w_.form.ragged) return !lengths;
    const std::int64_t rank = type(n.inputs[0]).rank();
    return (lengths || n.attributes.flag("keepdims", true)) &&
           axis_from_front(SlicesReader::axis_of(n), rank) == w_.form.axis;
  }

  const Graph& g_;
  const ir::TypeEnvironment& k_;
  const NamedExtents& names_;
  ListWeb& w_;
  bool has_any_ = false;
};

}  // namespace

std::vector<ListWeb> list_webs(const Graph& g) { return ListFinder(g).all(); }

void find_form(const Graph& g, const ir::TypeEnvironment& k, const NamedExtents& names,
               ListWeb& w) {
  if (w.why_not.empty()) w.why_not = FormFinder(g, k, names, w).run();
}

}  // namespace rondel::passes
