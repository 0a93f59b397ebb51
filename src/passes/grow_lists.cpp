#include "passes/grow_lists.h"

#include "base/axis.h"
#include "ir/builder.h"
#include "ir/loop_editor.h"
#include "passes/lists.h"
#include "passes/loop_body.h"

#include <algorithm>
#include <map>

namespace rondel::passes {
namespace {

using ir::Builder;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::RegionId;
using ir::Type;
using ir::ValueId;

/// How a list is joined after its loop: `appended` are the tensors that it gets before that.
struct Join {
  NodeId node = NodeId::none;
  std::vector<NodeId> appends = {};
};

/// Replaces one list that is a state of a loop.
class GrowingList {
 public:
  GrowingList(Graph& g, NodeId loop, std::size_t state)
      : g_(g), n_(loop), loop_(g, loop), s_(state) {}

  bool run() {
    const auto first = named_items(g_, g_.node(n_).inputs[loop_.parts().states_at() + s_]);
    if (!first || !find_join() || !find_appends(next()) || inserts_.empty() || read_elsewhere())
      return false;
    first_ = *first;
    if (!find_type()) return false;
    add_states();
    finish();
    return true;
  }

 private:
  /// The tensor that a list has become, and whether the list has an item: a bool.
  struct Grown {
    ValueId tensor, filled;
  };

  const ir::Region& body() const { return g_.region(loop_.parts().body); }
  ValueId param() const { return body().params[2 + s_]; }
  ValueId next() const { return body().results[1 + s_]; }
  bool stacked() const { return g_.node(join_.node).attributes.flag("new_axis"); }

  // What is to be replaced.

  /// Follows the list after the loop: tensors may be appended to it before it is joined.
  bool find_join() {
    ValueId list = g_.node(n_).outputs[s_];
    while (list != ValueId::none && g_.value(list).uses.size() == 1) {
      const NodeId reader = g_.value(list).uses[0].node;
      if (reader == NodeId::none || g_.node(reader).region != g_.node(n_).region) return false;
      join_.node = reader;
      if (is_op(g_, reader, "concat_from_sequence")) return true;
      if (!appends(g_, reader) || g_.node(reader).inputs[0] != list) return false;
      join_.appends.push_back(reader);
      list = g_.node(reader).outputs[0];
    }
    return false;
  }

  /// Whether `list`, in the loop, is the parameter with tensors appended to it. Finds the nodes
  /// that append them, and the `if`s among whose results it is.
  bool find_appends(ValueId list) {
    if (++followed_[list] > 1 || list == param()) return true;
    const NodeId maker = g_.value(list).producer;
    if (maker == NodeId::none) return false;
    if (appends(g_, maker)) {
      inserts_.push_back(maker);
      return find_appends(g_.node(maker).inputs[0]);
    }
    if (g_.node(maker).is_loop() || g_.node(maker).regions.size() != 2) return false;
    ifs_.push_back({maker, list});
    return std::ranges::all_of(g_.node(maker).regions, [&](RegionId branch) {
      return find_appends(g_.region(branch).results[output_of(list)]);
    });
  }
  std::size_t output_of(ValueId v) const { return static_cast<std::size_t>(g_.value(v).position); }
  bool read_elsewhere() const {
    return std::ranges::any_of(
        followed_, [&](const auto& f) { return g_.value(f.first).uses.size() != f.second; });
  }

  /// Finds the axis and the type of the tensor; false if the items may not fit together, or if
  /// nothing tells the shape that the tensor begins with.
  bool find_type() {
    const ir::TypeEnvironment inside = types_in(g_, n_);
    std::vector<Type> items;
    for (const NodeId n : inserts_) items.push_back(inside.types[ir::index(g_.node(n).inputs[1])]);
    for (const NodeId n : join_.appends) items.push_back(g_.value(g_.node(n).inputs[1]).type);
    for (const ValueId v : first_) items.push_back(g_.value(v).type);
    const Type& one = items.front();
    if (!one.is_tensor() || !one.has_rank() || one.dtype() == DType::string) return false;
    const std::int64_t rank = one.rank() + (stacked() ? 1 : 0);
    const std::int64_t axis = g_.node(join_.node).attributes.i("axis");
    if (!has_axis(axis, rank)) return false;
    axis_ = axis_from_front(axis, rank);
    extents_ = told_ = placed(one);
    return std::ranges::all_of(items, [&](const Type& t) { return fits(t); }) &&
           (!first_.empty() || std::ranges::all_of(begin_shape(), [](auto e) { return e >= 0; }));
  }

  /// The extents of an item in the tensor; the extent along the axis is unknown.
  ir::Extents placed(const Type& item) const {
    ir::Extents extents = item.extents();
    if (stacked()) extents.insert(extents.begin() + axis_, ir::Extent());
    extents[static_cast<std::size_t>(axis_)] = {};
    return extents;
  }

  /// Whether the tensor can have this item. Extents that are not known are compared when it runs.
  bool fits(const Type& item) {
    if (!item.is_tensor() || !item.has_rank() || placed(item).size() != extents_.size())
      return false;
    const ir::Extents other = placed(item);
    for (std::size_t a = 0; a < other.size(); ++a) {
      if (!other[a].known()) {
        extents_[a] = {};
        continue;
      }
      if (told_[a].known() && !(told_[a] == other[a])) return false;
      told_[a] = other[a];
    }
    return true;
  }

  /// The shape of the tensor without items; -1 for an extent that is not known.
  Shape begin_shape() const {
    Shape shape;
    for (std::size_t a = 0; a < extents_.size(); ++a)
      shape.push_back(std::ssize(shape) == axis_ ? 0
                      : extents_[a].known()      ? extents_[a].value
                                                 : -1);
    return shape;
  }

  // The replacement.

  void add_states() {
    Builder before(g_, g_.node(n_).region);
    before.insert_before(n_);
    before.source(g_.node(n_).source);
    const Type type = Type::tensor(g_.value(param()).type.element().dtype(), extents_);
    const auto begin = first_.empty() ? before.constant(Tensor::zeros(type.dtype(), begin_shape()))
                                      : joined(before, ValueId::none, first_);
    const auto tensor = loop_.add_state(begin, ValueId::none, type, g_.value(param()).name);
    const auto filled = loop_.add_state(before.scalar(!first_.empty()), ValueId::none,
                                        Type::scalar(DType::boolean), {});
    grown_[param()] = {tensor.param, filled.param};
    last_ = {tensor.final, filled.final};
    const Grown grown = grow(next());
    loop_.set_next(loop_.parts().states - 2, grown.tensor);
    loop_.set_next(loop_.parts().states - 1, grown.filled);
  }

  /// Writes what `list` has become, where it is made.
  Grown grow(ValueId list) {
    if (const auto at = grown_.find(list); at != grown_.end()) return at->second;
    const NodeId maker = g_.value(list).producer;
    return grown_[list] = appends(g_, maker) ? grow_by_item(maker) : grow_by_branch(maker, list);
  }

  Grown grow_by_item(NodeId insert) {
    const Grown before = grow(g_.node(insert).inputs[0]);
    Builder b(g_, g_.node(insert).region);
    b.insert_before(insert);
    b.source(g_.node(insert).source);
    return {joined(b, before.tensor, {g_.node(insert).inputs[1]}), b.scalar(true)};
  }

  Grown grow_by_branch(NodeId n, ValueId list) {
    const std::size_t j = output_of(list), at = g_.node(n).outputs.size();
    for (const RegionId branch : std::vector<RegionId>(g_.node(n).regions)) {
      const Grown grown = grow(g_.region(branch).results[j]);
      g_.insert_result(branch, at, grown.tensor);
      g_.insert_result(branch, at + 1, grown.filled);
    }
    const Type type = g_.value(last_.tensor).type;
    return {g_.insert_output(n, at, type, {}),
            g_.insert_output(n, at + 1, Type::scalar(DType::boolean), {})};
  }

  /// `tensor`, if there is one, and items after it.
  ValueId joined(Builder& b, ValueId tensor, const std::vector<ValueId>& items) const {
    std::vector<ValueId> parts;
    if (tensor != ValueId::none) parts.push_back(tensor);
    for (const ValueId v : items)
      parts.push_back(stacked() ? b("unsqueeze", {v, b.integers({axis_})}) : v);
    return parts.size() == 1 ? parts[0] : b("concat", parts, {{"axis", axis_}});
  }

  /// Reads the tensor instead of the list, and removes the list.
  void finish() {
    Builder after(g_, g_.node(n_).region);
    after.insert_before(join_.node);
    after.source(g_.node(join_.node).source);
    std::vector<ValueId> appended;
    for (const NodeId n : join_.appends) appended.push_back(g_.node(n).inputs[1]);
    if (first_.empty() && appended.empty())
      after.add("assertion", {last_.filled}, {{"message", nothing_to_join}}, 0);
    replace_node(g_, join_.node, joined(after, last_.tensor, appended));
    for (auto n = join_.appends.rbegin(); n != join_.appends.rend(); ++n) g_.erase_node(*n);
    for (const auto& [list, times] : followed_) g_.replace_uses(list, param());
    for (const auto& [n, list] : ifs_) {
      const std::size_t j = output_of(list);
      g_.erase_output(n, j);
      for (const RegionId branch : std::vector<RegionId>(g_.node(n).regions))
        g_.erase_result(branch, j);
    }
    for (const NodeId n : inserts_) g_.erase_node(n);
    loop_.remove_state(s_);
  }

  Graph& g_;
  const NodeId n_;
  ir::LoopEditor loop_;
  const std::size_t s_;
  Join join_;
  std::vector<NodeId> inserts_;                  ///< in the loop
  std::vector<std::pair<NodeId, ValueId>> ifs_;  ///< and their outputs that are lists
  std::map<ValueId, std::size_t> followed_;      ///< lists in the loop, and how often each is read
  std::vector<ValueId> first_;                   ///< the items before the loop
  std::int64_t axis_ = 0;
  ir::Extents extents_;
  ir::Extents told_;  ///< the extents that some item tells
  std::map<ValueId, Grown> grown_;
  Grown last_ = {};  ///< after the loop
};

bool is_list(const Graph& g, NodeId loop, std::size_t s) {
  return g.value(g.node(loop).outputs[s]).type.is_sequence();
}

}  // namespace

bool grow_lists(Graph& g) {
  bool changed = false;
  for (const NodeId n : loops_inside_out(g))
    for (std::size_t s = g.node(n).loop().states; s-- > 0;)
      if (is_list(g, n, s)) changed = GrowingList(g, n, s).run() || changed;
  return changed;
}

}  // namespace rondel::passes
