#include "passes/pack_lists.h"

#include "base/axis.h"
#include "ir/infer.h"
#include "ir/name_of.h"
#include "passes/declared_items.h"
#include "passes/list_webs.h"
#include "passes/lists.h"
#include "passes/slices_reader.h"
#include "passes/webs.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>

namespace rondel::passes {
namespace {

using ir::Builder;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Type;
using ir::ValueId;

/// Replaces the lists of webs that have a form.
class Packing : public PartsWriter {
 public:
  Packing(Graph& g, const NamedExtents& names, const std::vector<ListWeb>& webs)
      : PartsWriter(g), names_(names) {
    for (const ListWeb& w : webs) {
      const std::vector<Type>& types = types_.emplace_back(w.form.types());
      for (const ValueId v : w.lists) forms_[v] = {&w.form, &types};
    }
  }

 private:
  struct Form {
    const ListForm* form = nullptr;
    const std::vector<Type>* types = nullptr;
  };

  const ListForm* form_of(ValueId v) const {
    const auto at = forms_.find(v);
    return at == forms_.end() ? nullptr : at->second.form;
  }
  std::span<const Type> types_of(ValueId v) const override {
    const auto at = forms_.find(v);
    return at == forms_.end() ? std::span<const Type>() : *at->second.types;
  }
  ValueId whole(Builder& b, ValueId list) override {
    return PackedListWriter(b, *form_of(list)).list(parts_.at(list));
  }
  Parts parts_of_input(ValueId list) override {
    Builder b(g_, ir::RegionId::root);
    b.insert_first();
    return named(list, PackedListWriter(b, *form_of(list)).of_list(list));
  }

  void write_node(NodeId n) override {
    const Node& node = g_.node(n);
    const ValueId y = node.outputs.empty() ? ValueId::none : node.outputs[0];
    if (reading_of(node) != Reading::other && !stays(node.inputs[0])) {
      const ListForm& form = *form_of(node.inputs[0]);
      const ValueId by = PackedListWriter(g_, n, form).read(n, parts_.at(node.inputs[0]));
      if (std::string& name = g_.value(by).name; name.empty()) name = g_.value(y).name;
      g_.replace_uses(y, by);
      for (auto& [list, parts] : parts_) std::ranges::replace(parts, y, by);
      return;
    }
    if (making_of(node) == Making::other) read_whole(n);
    if (!stays(y)) parts_[y] = named(y, made(n));
  }

  /// A node that needs lists reads them as they are made of the tensors.
  void read_whole(NodeId n) {
    Builder b(g_, g_.node(n).region);
    b.insert_before(n);
    b.source(g_.node(n).source);
    for (std::size_t k = 0; k < g_.node(n).inputs.size(); ++k)
      if (const ValueId list = g_.node(n).inputs[k]; !stays(list))
        g_.set_input(n, k, whole(b, list));
  }

  Parts made(NodeId n) {
    const Node& node = g_.node(n);
    const ListForm& form = *form_of(node.outputs[0]);
    PackedListWriter writer(g_, n, form);
    switch (making_of(node)) {
      case Making::empty:
        return writer.empty([&](Builder& b, const ir::Extent& e) { return names_.value(b, e); });
      case Making::named: return writer.of(std::vector<ValueId>(node.inputs));
      case Making::parts: {
        const ValueId whole = node.inputs[0];
        if (has_operand(node, 1)) return writer.of_parts(whole, node.inputs[1]);
        return writer.of_slices(
            whole, axis_from_front(SlicesReader::axis_of(node), g_.value(whole).type.rank()),
            node.attributes.flag("keepdims", true));
      }
      case Making::inserted: {
        const Parts& before = parts_.at(node.inputs[0]);
        return has_operand(node, 2) ? writer.with(before, node.inputs[1], node.inputs[2])
                                    : writer.with(before, node.inputs[1]);
      }
      case Making::erased: {
        const Parts& before = parts_.at(node.inputs[0]);
        return has_operand(node, 1) ? writer.without(before, node.inputs[1])
                                    : writer.without_last(before);
      }
      case Making::other: break;
    }
    Builder after(g_, node.region);
    after.insert_after(n);
    after.source(node.source);
    return PackedListWriter(after, form).of_list(node.outputs[0]);
  }

  Parts named(ValueId list, Parts parts) {
    const std::span<const Type> types = types_of(list);
    for (std::size_t k = 0; k < types.size(); ++k) complete(g_, parts[k], types[k]);
    if (std::string& name = g_.value(parts[0]).name; name.empty()) name = g_.value(list).name;
    return parts;
  }

  bool goes(NodeId n) const override {
    const Node& node = g_.node(n);
    if (node.outputs.empty()) return false;
    return (!stays(node.outputs[0]) && making_of(node) != Making::other) ||
           (reading_of(node) != Reading::other && !stays(node.inputs[0]));
  }

  const NamedExtents& names_;
  std::deque<std::vector<Type>> types_;
  std::map<ValueId, Form> forms_;
};

void remark(const Graph& g, const std::vector<ListWeb>& webs, Remarks* to) {
  std::map<NodeId, std::vector<const ListWeb*>> by_loop;
  for (const ListWeb& w : webs)
    for (const NodeId n : w.loops) by_loop[n].push_back(&w);
  for (const auto& [n, list] : by_loop) {
    LoopRemarks remarks(to, g, n);
    for (const ListWeb* w : list) {
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
  std::vector<ListWeb> webs = list_webs(g);
  std::erase_if(webs, [](const ListWeb& w) { return !w.is_carried; });
  if (webs.empty()) return false;
  ir::TypeEnvironment k = ir::named_type_environment(g);
  ir::infer_region(g, ir::RegionId::root, k);
  const NamedExtents names(g, k);
  for (ListWeb& w : webs) {
    const auto broken = std::ranges::find_if_not(w.nodes,
                                                 [&](NodeId n) { return ir::rule_holds(g, n); });
    if (broken != w.nodes.end()) w.why_not = ir::where(g, *broken) + " does not go with its inputs";
    find_form(g, k, names, w);
  }
  if (to != nullptr) remark(g, webs, to);
  std::erase_if(webs, [](const ListWeb& w) { return !w.why_not.empty(); });
  const auto complete_inferred = [&](ValueId v) { complete(g, v, k.types[ir::index(v)]); };
  for (const ListWeb& w : webs) {
    std::ranges::for_each(w.items, complete_inferred);
    for (const NodeId n : w.nodes)
      if (making_of(g.node(n)) == Making::parts)
        std::ranges::for_each(g.node(n).inputs, [&](ValueId v) {
          if (v != ValueId::none) complete_inferred(v);
        });
  }
  if (webs.empty()) return false;
  const DeclaredItems items(g);
  Packing(g, names, webs).run();
  items.declare_forgotten(g);
  return true;
}

}  // namespace rondel::passes
