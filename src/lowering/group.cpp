#include "lowering/group.h"

#include "base/cancellation.h"
#include "ir/loop_parts.h"
#include "lowering/extract.h"
#include "lowering/row_schedule.h"
#include "lowering/schedule.h"
#include "lowering/states_last.h"
#include "ops/meaning.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <span>

namespace rondel::lowering {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::ValueId;

void add_once(std::vector<std::size_t>& list, std::size_t number) {
  if (std::ranges::count(list, number) == 0) list.push_back(number);
}

/// Whether each element of the node's output is computed independently, from its index only.
bool by_element(const ir::Node& n) {
  return ops::meaning_as<ops::ElementWise>(*n.op) != nullptr ||
         (ops::meaning_as<ops::Elements>(*n.op) != nullptr && n.outputs.size() == 1 &&
          ops::meaning_as<ops::ViewMeaning>(*n.op) == nullptr);
}

bool is_program(const ir::Node& n) {
  return ops::meaning_as<ops::ElementWise>(*n.op) != nullptr ||
         ops::meaning_as<ops::Elements>(*n.op) != nullptr ||
         ops::meaning_as<ops::LoopNest>(*n.op) != nullptr;
}

class Grouper {
 public:
  Grouper(const Graph& g, ir::RegionId r, const ir::Types& types, Sharing sharing,
          GroupRemarks* remarks)
      : g_(g), region_(r), types_(types), sharing_(sharing), fuse_(sharing != Sharing::none),
        remarks_(remarks) {}

  std::vector<Group> run() {
    for (const NodeId n : states_last(g_, region_)) {
      if (!g_.node(n).outputs.empty() && g_.constant(g_.node(n).outputs[0]) != nullptr) continue;
      place(n);
    }
    if (fuse_)
      for (std::size_t k = 0; k < groups_.size(); ++k) join_rows(k);
    if (sharing_ == Sharing::parts) {
      for (std::size_t k = 0; k < groups_.size(); ++k) take_elements_in(k);
      take_views_in();
    }
    if (remarks_ != nullptr) report_apart();
    std::erase_if(groups_, [](const Group& group) { return group.nodes.empty(); });
    for (std::size_t i = 0; i < groups_.size(); ++i) complete(groups_[i]);
    return std::move(groups_);
  }

 private:
  void place(NodeId n) {
    check_cancellation();
    const ir::Node& node = g_.node(n);
    std::optional<std::size_t> joined = fuse_ ? host(node) : std::nullopt;
    if (!joined) {
      joined = groups_.size();
      groups_.push_back({.program = is_program(node)});
      readers_.emplace_back();
      moved_to_.push_back(*joined);
    }
    for (const ValueId v : reads(node))
      if (const auto it = group_of_.find(v); it != group_of_.end() && it->second != *joined)
        readers_[it->second].push_back(*joined);
    groups_[*joined].nodes.push_back(n);
    if (fuse_ && ops::is_elementwise(*node.op)) absorb(node, *joined);
    for (const ValueId v : node.outputs)
      if (v != ValueId::none) group_of_[v] = *joined;
  }

  /// The group that a node can join: the latest group that computes one of the node's inputs, if it
  /// has the same index space. An op that may read elements at other indices joins only if it reads
  /// no value of the group.
  std::optional<std::size_t> host(const ir::Node& node) {
    if (!by_element(node)) return std::nullopt;
    std::optional<std::size_t> last;
    for (const ValueId v : reads(node)) {
      const auto it = group_of_.find(v);
      if (it != group_of_.end()) last = std::max(last.value_or(0), it->second);
    }
    if (!last) return std::nullopt;
    const Group& group = groups_[*last];
    const ir::Node& first = g_.node(group.nodes[0]);
    if (!by_element(first)) return std::nullopt;
    if (!same_space(first, node)) return apart(node, *last, "another index space");
    const bool elementwise = ops::is_elementwise(*node.op);
    for (const ValueId v : node.inputs) {
      const auto it = v == ValueId::none ? group_of_.end() : group_of_.find(v);
      if (it == group_of_.end() || it->second != *last) continue;
      if (!elementwise || !same_extents(type(v), type(node.outputs[0])))
        return apart(node, *last, "it reads elements at other indices");
    }
    return last;
  }

  /// Notes why a node does not join a group, if somebody asks.
  std::nullopt_t apart(const ir::Node& node, std::size_t group, const char* why) {
    if (remarks_ != nullptr)
      apart_.push_back({g_.value(node.outputs[0]).producer, groups_[group].nodes.back(), why});
    return std::nullopt;
  }
  /// Hands over what was noted about nodes that are in different groups in the end.
  void report_apart() {
    std::map<NodeId, std::size_t> in;
    for (std::size_t k = 0; k < groups_.size(); ++k)
      for (const NodeId n : groups_[k].nodes) in.emplace(n, k);
    for (const Apart& a : apart_)
      if (in.at(a.node) != in.at(a.from))
        (*remarks_)[groups_[in.at(a.node)].nodes[0]].push_back(
            fmt::format("not fused with {}: {}", short_name(g_, a.from), a.why));
  }

  /// Moves the earlier groups that compute inputs of a node into the node's group, so that these
  /// values stay in registers, too: groups over the same index space whose values only the node's
  /// group reads, or groups after it, and only at their own index.
  void absorb(const ir::Node& node, std::size_t into) {
    for (const ValueId v : node.inputs) {
      const auto it = v == ValueId::none ? group_of_.end() : group_of_.find(v);
      if (it == group_of_.end() || it->second == into) continue;
      const std::size_t from = it->second;
      if (!by_element(g_.node(groups_[from].nodes[0])) ||
          !same_space(g_.node(groups_[from].nodes[0]), node) || is_read_between(from, into) ||
          !std::ranges::all_of(groups_[into].nodes,
                               [&](NodeId n) { return reads_at_own_index(g_.node(n), from); }))
        continue;
      move(from, into);
    }
  }
  void move(std::size_t from, std::size_t into) {
    Group& target = groups_[into];
    target.nodes.insert(target.nodes.begin(), groups_[from].nodes.begin(),
                        groups_[from].nodes.end());
    for (const NodeId n : groups_[from].nodes)
      for (const ValueId moved : g_.node(n).outputs)
        if (moved != ValueId::none) group_of_[moved] = into;
    groups_[from].nodes.clear();
    moved_to_[from] = into;
    readers_[into].insert(readers_[into].end(), readers_[from].begin(), readers_[from].end());
  }
  /// Whether a group between the two reads a value of the first.
  bool is_read_between(std::size_t from, std::size_t into) const {
    return std::ranges::any_of(readers_[from], [&](std::size_t reader) {
      while (moved_to_[reader] != reader) reader = moved_to_[reader];
      return reader < into && reader != from;
    });
  }
  /// Whether the node reads the group's values, if any, only at the index that it computes.
  bool reads_at_own_index(const ir::Node& node, std::size_t group) const {
    return std::ranges::all_of(node.inputs, [&](ValueId v) {
      const auto it = v == ValueId::none ? group_of_.end() : group_of_.find(v);
      return it == group_of_.end() || it->second != group ||
             (ops::is_elementwise(*node.op) && same_extents(type(v), type(node.outputs[0])));
    });
  }

  /// Moves the earlier groups that compute inputs of a group into it, the latest first, where one
  /// nest can run both row by row.
  void join_rows(std::size_t into) {
    check_cancellation();
    std::set<std::size_t> tried{into};
    for (bool moved = true; moved;) {
      moved = false;
      for (const std::size_t from : makers(groups_[into])) {
        if (!tried.insert(from).second || !share_rows(from, into)) continue;
        move(from, into);
        groups_[into].by_rows = true;
        tried = {into};
        moved = true;
        break;
      }
    }
  }
  /// Short rows are left apart if they are computed one by one: what a row waits for, its
  /// reductions, would take longer than to read the elements once more. In a loop, they are read
  /// from the cache.
  bool share_rows(std::size_t from, std::size_t into) {
    constexpr std::size_t most_nodes = 100;
    const bool in_step = sharing_ == Sharing::steps;
    const auto &first = groups_[from].nodes, &second = groups_[into].nodes;
    if (first.size() + second.size() > most_nodes || is_read_between(from, into)) return false;
    std::vector<NodeId> both = first;
    both.insert(both.end(), second.begin(), second.end());
    const std::optional<RowSchedule> rows = schedule_rows(g_, types_, both,
                                                          in_step ? RowsIn::step : RowsIn::loop);
    if (!rows) return false;
    if (!rows->in_registers && rows->rows_shorter_than(in_step ? 16 : 64)) {
      apart(g_.node(second.front()), from,
            in_step ? "rows are shorter than 16, and not computed several at once"
                    : "rows are shorter than 64, and not computed several at once");
      return false;
    }
    return std::ranges::all_of(first, [&](NodeId n) {
      return std::ranges::all_of(g_.node(n).inputs, [&](ValueId v) {
        return lasts_until(v, into) || is_written_over_by(into, v, *rows);
      });
    });
  }
  /// Whether the group computes the state that follows v, and may write it over v, as far as its
  /// own nodes read v: if others read it later, the storage plan has another place for it.
  bool is_written_over_by(std::size_t group, ValueId v, const RowSchedule& rows) const {
    const ValueId next = next_state(v);
    const auto made = group_of_.find(next);
    return next != ValueId::none && made != group_of_.end() && made->second == group &&
           type(next) == type(v) && rows.may_write_over(g_, next, v);
  }
  /// The groups that compute inputs of a group, the latest first.
  std::vector<std::size_t> makers(const Group& group) const {
    std::set<std::size_t, std::greater<>> found;
    for (const NodeId n : group.nodes)
      for (const ValueId v : g_.node(n).inputs)
        if (const auto it = group_of_.find(v); v != ValueId::none && it != group_of_.end())
          found.insert(it->second);
    return {found.begin(), found.end()};
  }

  /// Moves views into the groups that read them, where each of these can read the view's input in
  /// place. A view of a view follows it there.
  void take_views_in() {
    std::map<NodeId, std::size_t> group_of_node;
    for (std::size_t k = 0; k < groups_.size(); ++k)
      for (const NodeId n : groups_[k].nodes) group_of_node.emplace(n, k);
    std::map<NodeId, std::set<std::size_t>> taken;
    for (std::size_t m = groups_.size(); m-- > 0;) {
      if (groups_[m].nodes.size() != 1) continue;
      const NodeId view = groups_[m].nodes[0];
      if (ops::meaning_as<ops::ViewMeaning>(*g_.node(view).op) == nullptr) continue;
      std::set<std::size_t> readers;
      const std::vector<ir::Use>& uses = g_.value(g_.node(view).outputs[0]).uses;
      const bool all = std::ranges::all_of(uses, [&](const ir::Use& use) {
        if (use.node == NodeId::none || g_.node(use.node).region != region_) return false;
        const auto outer = taken.find(use.node);
        if (outer != taken.end() && use.index != 0) return false;
        const std::set<std::size_t> groups = outer != taken.end()
                                                 ? outer->second
                                                 : std::set{group_of_node.at(use.node)};
        readers.insert(groups.begin(), groups.end());
        return std::ranges::all_of(groups,
                                   [&](std::size_t k) { return reads_in_place(k, view, use); });
      });
      if (!all || readers.empty()) continue;
      for (const std::size_t k : readers) {
        Group& reader = groups_[k];
        reader.nodes.insert(reader.nodes.end() - static_cast<std::ptrdiff_t>(reader.views++), view);
      }
      groups_[m].nodes.clear();
      group_of_.erase(g_.node(view).outputs[0]);
      taken.emplace(view, std::move(readers));
    }
  }
  /// Whether the nodes of a group can read the view where its input lies. `use`: by a node of the
  /// group, or by another of its views.
  bool reads_in_place(std::size_t group, NodeId view, const ir::Use& use) const {
    const ir::Node& reader = g_.node(use.node);
    if (!is_product(g_.node(groups_[group].nodes[0]))) return reads_rows_in_place(group, view, use);
    // A product reads a beginning or, on the right, matrices. (The rows of a stack on the left may
    // be multiplied as one matrix, whose sums have another order.)
    if (is_beginning(view)) return true;
    return keeps_matrices(view) && use.index == (is_product(reader) ? 1 : 0) &&
           !is_beginning(use.node);
  }
  /// The same for nodes that read elements, one by one.
  bool reads_rows_in_place(std::size_t group, NodeId n, const ir::Use& use) const {
    const ir::Node &node = g_.node(n), &reader = g_.node(use.node);
    const auto* view = ops::meaning_as<ops::ViewMeaning>(*node.op);
    const ValueId x = node.inputs[0];
    const ir::Type &from = type(x), &to = type(node.outputs[0]);
    if (!reads_by_element(*reader.op, static_cast<std::size_t>(use.index)) ||
        groups_[group].by_rows || view->keeps_rows == nullptr || !has_elements(from) ||
        !has_elements(to) || !view->keeps_rows(node, from, to))
      return false;
    // A check that its program makes would come after those of nodes in between.
    if (ir::can_fail(g_, n) && (view->before || view->extents)) return false;
    // What the group computes itself is not all there when it reads, and a state not any more when
    // an earlier group has written over it.
    const auto made = group_of_.find(x);
    const ValueId next = next_state(x);
    const auto written = next == ValueId::none ? group_of_.end() : group_of_.find(next);
    return (made == group_of_.end() || made->second != group) &&
           (written == group_of_.end() || written->second >= group);
  }
  /// Whether an op reads the elements of an operand about once each, and only one by one. An
  /// operand that it writes over or extends is best stored where the result will be, by who makes
  /// it.
  static bool reads_by_element(const ir::OpDef& op, std::size_t operand) {
    if (ops::is_elementwise(op) || ops::meaning_as<ops::ViewMeaning>(op) != nullptr) return true;
    if (ops::is_reduction(op)) return operand == 0;
    return ops::meaning_as<ops::LoopNest>(op) != nullptr && !ops::reads_buffers(op) &&
           op.extends != operand && std::ranges::count(op.in_place, operand) == 0;
  }
  /// Whether a value of the type may have several elements, which are then in memory.
  static bool has_elements(const ir::Type& t) {
    return t.is_tensor() && t.has_rank() && !t.is_one_element();
  }
  static bool is_product(const ir::Node& node) {
    return ops::meaning_as<ops::LoopNest>(*node.op) != nullptr && ops::reads_buffers(*node.op);
  }

  /// Moves the nodes that compute elements only for a group's reduction into the group.
  void take_elements_in(std::size_t into) {
    Group& group = groups_[into];
    if (group.nodes.empty() || group.by_rows) return;
    const ir::Node& reduction = g_.node(group.nodes[0]);
    if (!ops::is_reduction(*reduction.op)) return;
    const auto maker = group_of_.find(reduction.inputs[0]);
    if (maker == group_of_.end() || maker->second == into) return;
    Group& from = groups_[maker->second];
    if (from.by_rows) return;
    std::set<NodeId> readers{group.nodes[0]};
    std::vector<NodeId> taken;
    for (std::size_t k = from.computed().size(); k-- > 0;) {
      const ir::Node& node = g_.node(from.nodes[k]);
      if (!ops::is_elementwise(*node.op) ||
          !same_extents(type(node.outputs[0]), type(reduction.inputs[0])))
        continue;
      const char* const why_not = why_not_inlined(from.nodes[k], readers, into);
      if (why_not != nullptr) {
        if (node.outputs[0] == reduction.inputs[0]) apart(reduction, maker->second, why_not);
        continue;
      }
      readers.insert(from.nodes[k]);
      taken.insert(taken.begin(), from.nodes[k]);
    }
    for (const NodeId n : taken) {
      std::erase(from.nodes, n);
      group_of_.erase(g_.node(n).outputs[0]);
    }
    group.nodes.insert(group.nodes.end(), taken.begin(), taken.end());
    group.inlined = taken.size();
  }

  /// Why elements of n are not computed where the readers, which are in a group, read them; null if
  /// they can be.
  const char* why_not_inlined(NodeId n, const std::set<NodeId>& readers, std::size_t group) const {
    if (!is_read_by(n, readers)) return "others read it, too";
    if (ir::can_fail(g_, n)) return "it may fail";
    const bool last = std::ranges::all_of(g_.node(n).inputs,
                                          [&](ValueId v) { return lasts_until(v, group); });
    return last ? nullptr : "a state that it reads is overwritten before";
  }

  /// Whether only these nodes read the result of n.
  bool is_read_by(NodeId n, const std::set<NodeId>& readers) const {
    return std::ranges::all_of(g_.value(g_.node(n).outputs[0]).uses, [&](const ir::Use& use) {
      return use.node != NodeId::none && readers.contains(use.node);
    });
  }

  /// Whether no group up to this one computes the state that follows v, over which it would be
  /// written.
  bool lasts_until(ValueId v, std::size_t group) const {
    const ValueId next = v == ValueId::none ? v : next_state(v);
    const auto made = next == ValueId::none ? group_of_.end() : group_of_.find(next);
    return made == group_of_.end() || made->second > group;
  }
  /// The next value of a state of the loop around; none for other values.
  ValueId next_state(ValueId v) const {
    const ir::ValueInfo& info = g_.value(v);
    const NodeId around = g_.region(info.region).parent;
    if (info.producer != NodeId::none || around == NodeId::none || !g_.node(around).is_loop())
      return ValueId::none;
    const std::size_t states = ir::LoopParts(g_.node(around)).states;
    const auto number = static_cast<std::size_t>(info.position);
    return number < 2 || number >= 2 + states ? ValueId::none
                                              : g_.region(info.region).results[number - 1];
  }

  /// Whether the node gives the beginning of a value that lies in a buffer.
  bool is_beginning(NodeId n) const {
    const ir::Node& node = g_.node(n);
    const auto* view = ops::meaning_as<ops::ViewMeaning>(*node.op);
    return view != nullptr && view->is_beginning != nullptr && view->is_beginning(g_, node) &&
           lies_in_buffer(node.inputs[0]);
  }

  /// Whether each matrix of the node's result is one of a value that lies in a buffer.
  bool keeps_matrices(NodeId n) const {
    const ir::Node& node = g_.node(n);
    const auto* view = ops::meaning_as<ops::ViewMeaning>(*node.op);
    if (view == nullptr || !view->keeps_matrices || !lies_in_buffer(node.inputs[0])) return false;
    const ir::Type &x = type(node.inputs[0]), &y = type(node.outputs[0]);
    if (!y.has_rank() || x.rank() < 2 || y.rank() < 2) return false;
    for (const std::int64_t from_last : {1, 2}) {
      const ir::Extent& e = x.extent(x.rank() - from_last);
      if (!e.known_or_symbolic() || !(e == y.extent(y.rank() - from_last))) return false;
    }
    return has_matrices_of(x, y);
  }
  /// Whether each matrix of y has a place in x by their types: also empty ones, of which a reshape
  /// may make any number.
  static bool has_matrices_of(const ir::Type& x, const ir::Type& y) {
    const auto count = [](const ir::Type& t) {
      ir::Integer all = 1;
      for (std::int64_t a = 0; a < t.rank() - 2; ++a) all = all * t.extent(a);
      return all;
    };
    const ir::Integer own = count(x);
    if (own.known_or_symbolic() && own == count(y)) return true;
    const std::int64_t more = y.rank() - x.rank();
    for (std::int64_t a = 0; a < x.rank() - 2; ++a)
      if (more < 0 || !(x.extent(a) == 1 || x.extent(a) == y.extent(a + more))) return false;
    return true;
  }

  /// A value of one element is in a register; elements of scans and what loops stack may be
  /// scattered.
  bool lies_in_buffer(ValueId v) const {
    const ir::ValueInfo& info = g_.value(v);
    if (!has_elements(type(v))) return false;
    const auto number = static_cast<std::size_t>(info.position);
    if (info.producer != NodeId::none) {
      const ir::Node& producer = g_.node(info.producer);
      return !producer.is_loop() || number < ir::LoopParts(producer).states;
    }
    const NodeId around = g_.region(info.region).parent;
    if (around == NodeId::none || !g_.node(around).is_loop()) return true;
    return number < 2 + ir::LoopParts(g_.node(around)).states;
  }

  std::vector<ValueId> reads(const ir::Node& node) {
    std::vector<ValueId> all = node.inputs;
    for (const ir::RegionId r : node.regions) {
      const auto inner = g_.captures(r);
      all.insert(all.end(), inner.begin(), inner.end());
    }
    return all;
  }

  const ir::Type& type(ValueId v) const { return types_[ir::index(v)]; }
  static bool same_extents(const ir::Type& a, const ir::Type& b) {
    if (!a.is_tensor() || !b.is_tensor() || !a.has_rank() || !b.has_rank()) return false;
    return a.extents() == b.extents();
  }
  bool same_space(const ir::Node& a, const ir::Node& b) const {
    return same_extents(type(a.outputs[0]), type(b.outputs[0]));
  }

  void complete(Group& group) {
    std::set<ValueId> made, seen;
    for (const NodeId n : group.nodes)
      for (const ValueId v : g_.node(n).outputs) made.insert(v);
    for (const NodeId n : group.nodes) {
      const ir::Node& node = g_.node(n);
      for (const ValueId v : node.inputs)
        if (v != ValueId::none && !made.contains(v) && !held(group, v) && seen.insert(v).second)
          group.inputs.push_back(v);
      for (const std::size_t k : node.op->value_inputs) {
        if (k >= node.inputs.size() || node.inputs[k] == ValueId::none) continue;
        const auto found = std::find(group.inputs.begin(), group.inputs.end(), node.inputs[k]);
        if (found == group.inputs.end()) continue;
        const auto at = static_cast<std::size_t>(found - group.inputs.begin());
        add_once(group.value_inputs, at);
        if (std::ranges::count(node.op->program_values, k) > 0) add_once(group.program_values, at);
      }
    }
    const std::set<ValueId> outside = read_outside(group);
    for (const NodeId n : group.computed())
      for (const ValueId v : g_.node(n).outputs)
        if (v != ValueId::none && (outside.contains(v) || group.computed().size() == 1))
          group.outputs.push_back(v);
  }

  /// Whether the group's program embeds the constant. An op that is a loop nest may need constants
  /// in buffers.
  bool held(const Group& group, ValueId v) const {
    return group.program && is_small_constant(g_, v) &&
           ops::meaning_as<ops::LoopNest>(*g_.node(group.nodes[0]).op) == nullptr;
  }

  /// Values of the group that are results or are read outside of it.
  std::set<ValueId> read_outside(const Group& group) const {
    const std::set<NodeId> inside(group.nodes.begin(), group.nodes.end());
    std::set<ValueId> found;
    for (const NodeId n : group.nodes)
      for (const ValueId v : g_.node(n).outputs)
        if (v != ValueId::none && std::ranges::any_of(g_.value(v).uses, [&](const ir::Use& use) {
              return !inside.contains(use.node);
            }))
          found.insert(v);
    return found;
  }

  const Graph& g_;
  const ir::RegionId region_;
  const ir::Types& types_;
  const Sharing sharing_;
  const bool fuse_;
  std::vector<Group> groups_;
  std::map<ValueId, std::size_t> group_of_;
  std::vector<std::vector<std::size_t>> readers_;  ///< by group: others that read its values
  std::vector<std::size_t> moved_to_;  ///< by group: where its nodes are; itself at first
  struct Apart {
    NodeId node, from;
    const char* why;
  };
  GroupRemarks* const remarks_;
  std::vector<Apart> apart_;
};

}  // namespace

std::vector<Group> group_nodes(const Graph& g, ir::RegionId r, const ir::Types& types,
                               Sharing sharing, GroupRemarks* remarks) {
  return Grouper(g, r, types, sharing, remarks).run();
}

}  // namespace rondel::lowering
