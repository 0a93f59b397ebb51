#include "passes/lists_to_tensors.h"

#include "base/axis.h"
#include "ir/builder.h"
#include "ir/loop_editor.h"
#include "ir/name_of.h"
#include "passes/lists.h"
#include "passes/loop_body.h"
#include "passes/slices_reader.h"

#include <algorithm>
#include <optional>

namespace rondel::passes {
namespace {

using ir::Builder;
using ir::Graph;
using ir::LoopParts;
using ir::Node;
using ir::NodeId;
using ir::Type;
using ir::ValueId;

/// Lists that are made outside of loops: slices, or named tensors.
class ListReads {
 public:
  explicit ListReads(Graph& g) : g_(g) {}

  bool run(ir::RegionId r) {
    bool changed = false;
    const std::vector<NodeId> nodes(g_.region(r).nodes.begin(), g_.region(r).nodes.end());
    for (const NodeId n : nodes) {
      for (const ir::RegionId inner : std::vector<ir::RegionId>(g_.node(n).regions))
        changed = run(inner) || changed;
      if (reading_of(g_.node(n)) != Reading::other) changed = read(n) || changed;
    }
    return changed;
  }

 private:
  bool read(NodeId n) {
    const ValueId list = g_.node(n).inputs[0];
    if (const auto slices = slices_of(list))
      if (const Type& t = g_.value(list).type;
          t.element().has_rank() && SlicesReader::can_read(g_, n, t.element(), slices->keeps_axis))
        return replace_by(n, SlicesReader(g_, n, *slices).read());
    const auto items = named_items(g_, list);
    return items && !items->empty() && replace_by(n, read_of(n, *items));
  }

  bool replace_by(NodeId n, ValueId by) {
    if (by == ValueId::none) return false;
    replace_node(g_, n, by);
    return true;
  }

  std::optional<Slices> slices_of(ValueId list) const {
    const NodeId n = g_.value(list).producer;
    if (!is_op(g_, n, "split_to_sequence")) return std::nullopt;
    const Node& node = g_.node(n);
    const ValueId whole = node.inputs[0];
    const bool in_parts = has_input(node, 1);
    if (in_parts || !g_.value(whole).type.has_rank()) return std::nullopt;
    const std::int64_t rank = g_.value(whole).type.rank(), axis = SlicesReader::axis_of(node);
    if (!has_axis(axis, rank)) return std::nullopt;
    return Slices{whole, axis_from_front(axis, rank), node.attributes.flag("keepdims", true)};
  }

  /// What a node reads of named tensors; none if it must read the list.
  ValueId read_of(NodeId n, const std::vector<ValueId>& items) {
    const Node& node = g_.node(n);
    Builder b(g_, node.region);
    b.insert_before(n);
    b.source(node.source);
    const auto count = static_cast<std::int64_t>(items.size());
    switch (reading_of(node)) {
      case Reading::length: return b.scalar(count);
      case Reading::item: {
        const Tensor* at = g_.constant(node.inputs[1]);
        if (at == nullptr || at->size() != 1) return ValueId::none;
        const std::int64_t i = ir::integers_of(*at)[0];
        return has_axis(i, count) ? items[static_cast<std::size_t>(axis_from_front(i, count))]
                                  : ValueId::none;
      }
      case Reading::joined:
        return may_be_joined(items, SlicesReader::axis_of(node))
                   ? b("concat", items, {{"axis", SlicesReader::axis_of(node)}})
                   : ValueId::none;
      default: return ValueId::none;
    }
  }

  /// Whether tensors may have extents with which they can be joined. If not, the list says so when
  /// it is joined, which it may never be.
  bool may_be_joined(const std::vector<ValueId>& items, std::int64_t axis) const {
    std::optional<ir::Extents> all;  // as far as some item tells them
    for (const ValueId v : items) {
      const Type& t = g_.value(v).type;
      if (!t.has_rank()) continue;
      if (!all) all = t.extents();
      if (t.rank() != std::ssize(*all) || !has_axis(axis, t.rank())) return false;
      for (std::int64_t a = 0; a < t.rank(); ++a) {
        if (a == axis_from_front(axis, t.rank()) || !t.extent(a).known()) continue;
        ir::Extent& e = (*all)[static_cast<std::size_t>(a)];
        if (e.known() && !(e == t.extent(a))) return false;
        e = t.extent(a);
      }
    }
    return true;
  }

  Graph& g_;
};

/// Lists that loops fill.
class FilledLists {
 public:
  FilledLists(Graph& g, NodeId n, Remarks* remarks)
      : g_(g), n_(n), loop_(g, n), remarks_(remarks, g, n) {}

  bool run() {
    bool changed = false;
    for (std::size_t s = loop_.parts().states; s-- > 0;) {
      if (!g_.value(param(s)).type.is_sequence()) continue;
      const std::string name = ir::name_of(g_, param(s));
      const std::string why_not = !begins_empty(s) ? "it does not begin empty"
                                  : !gets_one_item(s)
                                      ? "a trip may append one tensor to it, and no more"
                                      : to_stack(s);
      changed = changed || why_not.empty();
      if (why_not.empty()) remarks_.done([&] { return "list " + name + " became a tensor"; });
      else remarks_.left([&] { return fmt::format("list {} stays: {}", name, why_not); });
    }
    return changed;
  }

 private:
  const ir::Region& body() const { return g_.region(loop_.parts().body); }
  ValueId param(std::size_t s) const { return body().params[2 + s]; }
  ValueId final(std::size_t s) const { return g_.node(n_).outputs[s]; }

  bool begins_empty(std::size_t s) const {
    const auto items = named_items(g_, g_.node(n_).inputs[loop_.parts().states_at() + s]);
    return items && items->empty();
  }

  /// Whether each trip appends one tensor to the list, and nothing else reads the list in the loop.
  bool gets_one_item(std::size_t s) const {
    const ValueId next = body().results[1 + s];
    const NodeId insert = g_.value(next).producer;
    return appends(g_, insert) && g_.node(insert).region == loop_.parts().body &&
           g_.node(insert).inputs[0] == param(s) && g_.value(param(s)).uses.size() == 1 &&
           g_.value(next).uses.size() == 1;
  }

  /// Makes the list a stack. Returns why it cannot be one; empty if it became one.
  std::string to_stack(std::size_t s) {
    if (!g_.is_read(final(s))) return "nothing reads it";
    const NodeId insert = g_.value(body().results[1 + s]).producer;
    const ValueId item = g_.node(insert).inputs[1];
    const ir::TypeEnvironment types = types_in(g_, n_);
    const Type type = types.types[ir::index(item)];
    if (!type.is_tensor() || !type.has_rank()) return "its tensors have no known rank";
    std::vector<NodeId> readers;
    for (const ir::Use& use : g_.value(final(s)).uses) {
      if (use.node == NodeId::none) return "it is a result of the graph or of a body";
      if (!SlicesReader::can_read(g_, use.node, type, false))
        return ir::where(g_, use.node) + " reads it in a way that needs a list";
      readers.push_back(use.node);
    }
    // Tensors of unlike shapes make a list, but no stack. To join them fails all the same.
    if (!keeps_shape(types, item) && !std::ranges::all_of(readers, [&](NodeId n) {
          const Reading reading = reading_of(g_.node(n));
          return g_.node(n).region == g_.node(n_).region &&
                 (reading == Reading::stacked || reading == Reading::joined);
        }))
      return "its tensors may have different shapes";
    const std::int64_t axis = best_axis(readers, type.rank());
    ir::Extents extents = type.extents();
    for (ir::Extent& e : extents)
      if (!e.known()) e = {};
    const ir::Extent trips = ir::trips_of(g_.node(n_), types);
    extents.insert(extents.begin() + axis, trips.known() ? trips : ir::Extent());
    const ValueId stack = loop_.add_stack(item, axis, false, ValueId::none,
                                          Type::tensor(type.dtype(), std::move(extents)),
                                          g_.value(final(s)).name);
    for (const NodeId n : readers)
      replace_node(g_, n, SlicesReader(g_, n, {stack, axis, false}).read());
    loop_.set_next(s, param(s));
    g_.erase_node(insert);
    loop_.remove_state(s);
    return "";
  }

  /// The axis along which the first reader that joins the list wants it.
  std::int64_t best_axis(const std::vector<NodeId>& readers, std::int64_t rank) const {
    for (const NodeId n : readers) {
      const Reading reading = reading_of(g_.node(n));
      if (reading != Reading::stacked && reading != Reading::joined) continue;
      return axis_from_front(SlicesReader::axis_of(g_.node(n)),
                             rank + (reading == Reading::stacked ? 1 : 0));
    }
    return 0;
  }

  Graph& g_;
  const NodeId n_;
  ir::LoopEditor loop_;
  LoopRemarks remarks_;
};

}  // namespace

bool lists_to_tensors(Graph& g, Remarks* remarks) {
  bool changed = false;
  for (const NodeId n : loops_inside_out(g)) changed = FilledLists(g, n, remarks).run() || changed;
  return ListReads(g).run(ir::RegionId::root) || changed;
}

}  // namespace rondel::passes
