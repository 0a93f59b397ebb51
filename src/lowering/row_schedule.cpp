#include "lowering/row_schedule.h"

#include "ops/meaning.h"

#include <algorithm>
#include <set>

namespace rondel::lowering {
namespace {

/// The product of the extents, or `limit` if it is more or not known.
std::int64_t number_of_elements(std::span<const ir::Extent> extents, std::int64_t limit) {
  std::int64_t number = 1;
  for (const ir::Extent& e : extents) {
    if (!e.known()) return limit;
    number = std::min(number * std::min(e.value, limit), limit);
  }
  return number;
}

using ir::Extents;
using ir::Graph;
using ir::NodeId;
using ir::ValueId;

class RowScheduler {
 public:
  RowScheduler(const Graph& g, const ir::Types& types, std::span<const NodeId> nodes, RowsIn in)
      : g_(g), types_(types), nodes_(nodes), in_(in), inside_(nodes.begin(), nodes.end()) {}

  std::optional<RowSchedule> run() {
    if (!find_rows() || !std::ranges::all_of(nodes_, [&](NodeId n) { return fits(n); }) ||
        !knows_extents())
      return std::nullopt;
    for (const NodeId n : nodes_)
      if (folds_elements(n)) inline_elements(n);
    divide();
    schedule_.in_registers = fits_registers() && has_many_rows();
    if (schedule_.in_registers || find_memory()) return std::move(schedule_);
    if (in_ != RowsIn::step_of_class || !fits_registers()) return std::nullopt;
    schedule_.in_registers = true;
    schedule_.memory_of.clear();
    return std::move(schedule_);
  }

 private:
  // Which nodes can share a nest.

  /// The rows are those of the first reduction.
  bool find_rows() {
    const auto first = std::ranges::find_if(nodes_, [&](NodeId n) { return is_reduction(n); });
    if (first == nodes_.end()) return false;
    const ir::Type& from = type(g_.node(*first).inputs[0]);
    row_ = result_type(*first).extents();
    schedule_.space = from.extents();
    schedule_.leading = row_.size();
    while (schedule_.leading > 0 && row_[schedule_.leading - 1] == 1) --schedule_.leading;
    return std::ranges::equal(std::span(row_).first(schedule_.leading),
                              std::span(schedule_.space).first(schedule_.leading));
  }

  /// Whether the node is a reduction that keeps the axes.
  bool is_reduction(NodeId n) const {
    const ir::Node& node = g_.node(n);
    return ops::is_reduction(*node.op) && node.outputs.size() == 1 && is_ranked(node.inputs[0]) &&
           is_ranked(node.outputs[0]) && result_type(n).rank() == type(node.inputs[0]).rank();
  }
  bool folds_elements(NodeId n) const {
    return is_reduction(n) && gives(n, row_) &&
           type(g_.node(n).inputs[0]).extents() == schedule_.space;
  }

  /// A reduction reads other elements of its rows than its own, so only elements of the space (its
  /// input 0) may be made inside; other nodes read the elements at their own index, or the row's.
  bool fits(NodeId n) const {
    const ir::Node& node = g_.node(n);
    // Of a step, this was asked when it was formed. In its own graph, constants may be inputs, of
    // which less is known.
    if (in_ != RowsIn::step_of_class && ir::can_fail(g_, n)) return false;
    if (folds_elements(n)) return !made_inside(node.inputs, 1);
    if (!ops::is_elementwise(*node.op) || !is_ranked(node.outputs[0])) return false;
    const bool by_row = gives(n, row_);
    return (by_row || gives(n, schedule_.space)) &&
           std::ranges::all_of(node.inputs, [&](ValueId v) {
             return !is_inside(v) || type(v).extents() == row_ ||
                    (!by_row && type(v).extents() == schedule_.space);
           });
  }
  bool made_inside(const std::vector<ValueId>& values, std::size_t from) const {
    return std::any_of(values.begin() + static_cast<std::ptrdiff_t>(from), values.end(),
                       [&](ValueId v) { return is_inside(v); });
  }

  /// Whether an operand or a result tells the extents of the space.
  bool knows_extents() const {
    return std::ranges::any_of(nodes_, [&](NodeId n) {
      const ir::Node& node = g_.node(n);
      return (gives(n, schedule_.space) && is_result(node.outputs[0])) ||
             std::ranges::any_of(node.inputs, [&](ValueId v) {
               return v != ValueId::none && !is_inside(v) && is_ranked(v) &&
                      type(v).extents() == schedule_.space;
             });
    });
  }

  // The stages.

  /// Nodes that compute elements for one reduction alone run where it reads them.
  void inline_elements(NodeId reduction) {
    std::set<NodeId> readers{reduction};
    std::vector<NodeId>& taken = schedule_.inlined[reduction];
    for (std::size_t k = nodes_.size(); k-- > 0;) {
      const NodeId n = nodes_[k];
      if (by_row(n) || readers.contains(n) || !is_read_by(g_.node(n).outputs[0], readers)) continue;
      readers.insert(n);
      taken.insert(taken.begin(), n);
    }
    inlined_.insert(taken.begin(), taken.end());
  }
  bool is_read_by(ValueId v, const std::set<NodeId>& readers) const {
    return std::ranges::all_of(g_.value(v).uses, [&](const ir::Use& use) {
      return use.node != NodeId::none && readers.contains(use.node);
    });
  }

  /// Elements wait until a reduction reads one of them, or until the end, so that stages are few;
  /// nodes with one element a row run where they stand.
  void divide() {
    std::vector<NodeId> waiting;
    const auto run_waiting = [&] {
      if (waiting.empty()) return;
      schedule_.stages.push_back({.by_row = false, .nodes = std::move(waiting)});
      waiting.clear();
    };
    for (const NodeId n : nodes_) {
      if (inlined_.contains(n)) continue;
      if (!by_row(n)) {
        waiting.push_back(n);
        continue;
      }
      if (reads_one_of(n, waiting)) run_waiting();
      if (schedule_.stages.empty() || !schedule_.stages.back().by_row)
        schedule_.stages.push_back({.by_row = true, .nodes = {}});
      schedule_.stages.back().nodes.push_back(n);
    }
    run_waiting();
  }
  /// Whether the node, or one that is inlined into it, reads what one of the others computes.
  bool reads_one_of(NodeId n, const std::vector<NodeId>& others) const {
    const auto reads = [&](NodeId reader) {
      return std::ranges::any_of(g_.node(reader).inputs, [&](ValueId v) {
        return is_inside(v) && std::ranges::count(others, g_.value(v).producer) > 0;
      });
    };
    const auto within = schedule_.inlined.find(n);
    return reads(n) ||
           (within != schedule_.inlined.end() && std::ranges::any_of(within->second, reads));
  }

  // Memory.

  /// Whether rows are so short that each element can have code of its own, worth it, and such that
  /// rows can be lanes of vectors.
  bool fits_registers() const {
    constexpr std::int64_t longest = 16, longest_in_loop = 15, shortest_in_loop = 4;
    const std::int64_t length = number_of_elements(
        std::span(schedule_.space).subspan(schedule_.leading), longest + 1);
    if (length == 0 || length > longest) return false;
    if (schedule_.space.empty() || schedule_.space.back() == 1) return false;
    if (!code_is_short(length) || !are_vector_elements()) return false;
    return in_ != RowsIn::loop ||
           (length >= shortest_in_loop && length <= longest_in_loop && takes_long());
  }
  /// Whether rows take few instructions, by a rough estimate: each element of a row has its own.
  bool code_is_short(std::int64_t length) const {
    constexpr std::int64_t most_code = 1024, of_a_function = 32;
    std::int64_t code = 0;
    for (const NodeId n : nodes_) {
      const std::int64_t words = byte_size(result_type(n).dtype()) > 4 ? 2 : 1;
      code += (by_row(n) ? 1 : length) *
              (g_.node(n).op->transcendental ? of_a_function * words : 1);
    }
    return code <= most_code;
  }
  bool takes_long() const {
    return std::ranges::any_of(
        nodes_, [&](NodeId n) { return !by_row(n) && g_.node(n).op->transcendental; });
  }
  /// Whether what is read and written has elements that code moves between rows and lanes.
  bool are_vector_elements() const {
    const auto fits = [&](ValueId v) {
      const DType t = type(v).dtype();
      return (byte_size(t) == 4 || byte_size(t) == 8) && !is_complex(t) && t != DType::string;
    };
    return std::ranges::all_of(nodes_, [&](NodeId n) {
      const ir::Node& node = g_.node(n);
      const std::size_t values = folds_elements(n) ? 1 : node.inputs.size();  // no axes
      return (!is_result(node.outputs[0]) || fits(node.outputs[0])) &&
             std::ranges::all_of(std::span(node.inputs).first(values), [&](ValueId v) {
               return v == ValueId::none || is_inside(v) || fits(v);
             });
    });
  }
  /// Whether there may be enough rows for the lanes of a vector, along the last axis that counts
  /// them.
  bool has_many_rows() const {
    constexpr std::int64_t few = 8;
    std::size_t axis = schedule_.leading;
    while (axis > 0 && schedule_.space[axis - 1] == 1) --axis;
    return axis > 0 &&
           number_of_elements(std::span(schedule_.space).subspan(axis - 1, 1), few) >= few;
  }

  bool find_memory() {
    for (std::size_t s = 0; s < schedule_.stages.size(); ++s)
      for (const NodeId n : schedule_.stages[s].nodes) number_[n] = s;
    for (const auto& [reduction, nodes] : schedule_.inlined)
      for (const NodeId n : nodes) number_[n] = number_.at(reduction);
    std::map<ValueId, std::size_t> free_from;  // by result: when no other value is in its memory
    for (const RowSchedule::Stage& stage : schedule_.stages)
      for (const NodeId n : stage.nodes) {
        const ValueId v = g_.node(n).outputs[0];
        if (stage.by_row || last_read(v) == number_.at(n)) continue;
        const auto result = is_result(v) ? v : result_with_memory(v, free_from);
        if (result == ValueId::none) return false;
        schedule_.memory_of.emplace(v, result);
        if (result != v) free_from[result] = last_read(v);
      }
    return true;
  }
  std::size_t last_read(ValueId v) const {
    std::size_t last = number_.at(g_.value(v).producer);
    for (const ir::Use& use : g_.value(v).uses)
      if (inside_.contains(use.node)) last = std::max(last, number_.at(use.node));
    return last;
  }
  /// A result whose memory the value can share; none if there is no such result.
  ValueId result_with_memory(ValueId v, const std::map<ValueId, std::size_t>& free_from) const {
    for (const NodeId n : nodes_) {
      const ValueId result = g_.node(n).outputs[0];
      const auto free = free_from.find(result);
      if (is_result(result) && type(result) == type(v) && number_.at(n) >= last_read(v) &&
          (free == free_from.end() || free->second <= number_.at(g_.value(v).producer)))
        return result;
    }
    return ValueId::none;
  }

  // Nodes and values.

  bool by_row(NodeId n) const { return gives(n, row_); }
  bool gives(NodeId n, const Extents& extents) const { return result_type(n).extents() == extents; }
  const ir::Type& result_type(NodeId n) const { return type(g_.node(n).outputs[0]); }
  const ir::Type& type(ValueId v) const { return types_[ir::index(v)]; }
  bool is_ranked(ValueId v) const { return type(v).is_tensor() && type(v).has_rank(); }
  bool is_inside(ValueId v) const {
    return v != ValueId::none && g_.value(v).producer != NodeId::none &&
           inside_.contains(g_.value(v).producer);
  }
  bool is_result(ValueId v) const { return !is_read_by(v, inside_); }

  const Graph& g_;
  const ir::Types& types_;
  const std::span<const NodeId> nodes_;
  const RowsIn in_;
  const std::set<NodeId> inside_;
  Extents row_;
  std::set<NodeId> inlined_;
  std::map<NodeId, std::size_t> number_;  ///< of the stage
  RowSchedule schedule_;
};

}  // namespace

std::optional<std::size_t> RowSchedule::stage_of(NodeId n) const {
  for (std::size_t s = 0; s < stages.size(); ++s)
    for (const NodeId other : stages[s].nodes) {
      if (other == n) return s;
      const auto within = inlined.find(other);
      if (within != inlined.end() && std::ranges::count(within->second, n) > 0) return s;
    }
  return std::nullopt;
}

bool RowSchedule::rows_shorter_than(std::int64_t limit) const {
  return number_of_elements(std::span(space).subspan(leading), limit) < limit;
}

bool RowSchedule::may_write_over(const Graph& g, ValueId result, ValueId outside) const {
  std::optional<std::size_t> written = stage_of(g.value(result).producer);
  for (const auto& [v, memory] : memory_of)
    if (memory == result) written = std::min(written, stage_of(g.value(v).producer));
  if (!written || stages[*written].by_row) return false;
  if (in_registers) return true;
  return std::ranges::all_of(g.value(outside).uses, [&](const ir::Use& use) {
    const auto reads = use.node == NodeId::none ? std::nullopt : stage_of(use.node);
    return !reads || *reads <= *written;
  });
}

bool RowSchedule::needs_memory(ValueId result) const {
  return std::ranges::any_of(memory_of, [&](const auto& in) { return in.second == result; });
}

std::optional<RowSchedule> schedule_rows(const Graph& g, const ir::Types& types,
                                         std::span<const NodeId> nodes, RowsIn in) {
  return RowScheduler(g, types, nodes, in).run();
}

}  // namespace rondel::lowering
