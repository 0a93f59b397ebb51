#include "base/error.h"
#include "ir/name_of.h"
#include "lowering/lower_nodes.h"

#include <algorithm>

namespace rondel::lowering {
namespace {

using ir::NodeId;
using ir::ValueId;
using scalar::Ex;
using scalar::Indices;

class RowLowerer {
 public:
  RowLowerer(LoweringScope& s, const RowSchedule& schedule, std::span<const Ex> space)
      : s_(s), schedule_(schedule), space_(space.begin(), space.end()),
        rows_(space_.begin(), space_.begin() + static_cast<std::ptrdiff_t>(schedule.leading)) {}

  void run() {
    for (const auto& [v, result] : schedule_.memory_of) share_memory(v, result);
    for (const auto& [reduction, nodes] : schedule_.inlined)
      if (!nodes.empty()) define_inlined(s_, s_.graph.node(reduction).inputs[0], nodes, space_);
    NestScope nest(s_.notes, [&] {
      const auto& space = schedule_.space;
      return "by rows: for rows " +
             s_.notes->schedule().text(std::span(space).first(schedule_.leading)) +
             " of elements " +
             s_.notes->schedule().text(std::span(space).subspan(schedule_.leading));
    });
    nest.note([&] {
      return schedule_.in_registers
                 ? "because rows are short: several are computed at once, in registers"
                 : "because a row is still in the cache when the next nodes read it";
    });
    s_.builder.for_all(rows_, [&](const Indices& row) {
      nest.body();
      for (const RowSchedule::Stage& stage : schedule_.stages)
        if (stage.by_row)
          for (const NodeId n : stage.nodes) lower_by_row(n, row);
        else if (schedule_.in_registers) compute_elements(stage.nodes, row);
        else lower_elements(stage.nodes, row);
      store_elements(row);
    });
    for (auto& [v, operand] : outside_) s_.operands.insert_or_assign(v, std::move(operand));
  }

 private:
  void share_memory(ValueId v, ValueId result) {
    const Sink& sink = s_.sinks.at(result);
    invariant(sink.part.buffer >= 0 && sink.part.leading.empty(),
              "a value between stages has no memory");
    Operand stored = whole_buffer(s_.builder, sink.part.buffer);
    stored.extents = sink.extents;
    s_.operands.insert_or_assign(v, std::move(stored));
    if (v == result) return;
    Sink shared = whole_sink(s_.builder, sink.part.buffer);
    shared.extents = sink.extents;
    s_.sinks.insert_or_assign(v, std::move(shared));
  }

  /// Emits the row's element of a node; later nodes read it in a register. Outside of the nest, a
  /// result is read from its memory.
  void lower_by_row(NodeId n, const Indices& row) {
    NestScope nest(s_.notes, [&] { return name_stage({&n, 1}); });
    nest.note([] { return "stored at a register for each row"; });
    if (const auto within = schedule_.inlined.find(n);
        within != schedule_.inlined.end() && s_.notes)
      s_.notes->note_computed_at(n, within->second);
    std::vector<Ex> extents = rows_;
    Indices index = row;
    extents.resize(space_.size(), s_.builder.index(1));
    index.resize(space_.size(), s_.builder.index(0));
    const ValueId v = s_.graph.node(n).outputs[0];
    const Ex element = lower_element(s_, {&n, 1}, extents, index).at(v);
    // An only row is computed in no loop: its registers are known after the nest.
    read_from(v, one_element(s_.builder, element, static_cast<std::int64_t>(space_.size())));
  }

  /// Within the nest, `v` is read from there. After it, from where it was read before.
  void read_from(ValueId v, Operand there) {
    const auto in_memory = s_.operands.find(v);
    if (in_memory != s_.operands.end() && schedule_.leading > 0)
      outside_.emplace(v, in_memory->second);
    s_.operands.insert_or_assign(v, std::move(there));
  }

  /// Emits a row's elements of the nodes, one after the other; later nodes read them in registers.
  void compute_elements(const std::vector<NodeId>& nodes, const Indices& row) {
    const NestScope nest(s_.notes, [&] { return name_stage(nodes); });
    if (s_.notes) note_places(nodes);
    std::map<ValueId, std::vector<Ex>> elements;
    for (const Indices& within : places()) {
      ElementValues values;
      compute_element(s_, nodes, space_, joined(row, within), values);
      for (const NodeId n : nodes) {
        const ValueId v = s_.graph.node(n).outputs[0];
        elements[v].push_back(values.at(v));
      }
    }
    for (auto& [v, row_of_v] : elements) {
      stored_later_.emplace_back(v, row_of_v);
      read_from(v, Operand{picker(std::move(row_of_v)), {}, space_});
    }
  }
  /// Stores the elements of a row that were computed, place after place, so that each of them gets
  /// a row at once.
  void store_elements(const Indices& row) {
    const std::vector<Indices> all = places();
    for (const auto& [v, elements] : stored_later_)
      if (const auto sink = s_.sinks.find(v); sink != s_.sinks.end())
        for (const auto& put : sink->second.stores)
          for (std::size_t k = 0; k < all.size(); ++k) put(joined(row, all[k]), elements[k]);
    stored_later_.clear();
  }
  /// The indices of a short row's elements, in their order.
  std::vector<Indices> places() const {
    std::vector<Indices> all{{}};
    for (std::size_t axis = schedule_.leading; axis < space_.size(); ++axis) {
      std::vector<Indices> longer;
      for (const Indices& within : all)
        for (std::int64_t k = 0; k < schedule_.space[axis].value; ++k) {
          longer.push_back(within);
          longer.back().push_back(s_.builder.index(k));
        }
      all = std::move(longer);
    }
    return all;
  }
  static Indices joined(Indices row, const Indices& within) {
    row.insert(row.end(), within.begin(), within.end());
    return row;
  }
  /// Gives the element of a short row at an index. Of a row along an axis before others of one
  /// element, reductions ask for a place that is not known.
  std::function<Ex(const Indices&)> picker(std::vector<Ex> elements) const {
    const std::vector<ir::Extent> extents(
        schedule_.space.begin() + static_cast<std::ptrdiff_t>(schedule_.leading),
        schedule_.space.end());
    return [&b = s_.builder, leading = schedule_.leading, extents,
            elements = std::move(elements)](const Indices& index) {
      Ex place = b.index(0);
      for (std::size_t axis = 0; axis < extents.size(); ++axis)
        place = place * extents[axis].value + index[leading + axis];
      if (const auto known = b.known(place)) return elements[static_cast<std::size_t>(*known)];
      Ex picked = elements[0];
      for (std::size_t k = 1; k < elements.size(); ++k)
        picked = select(place == static_cast<std::int64_t>(k), elements[k], picked);
      return picked;
    };
  }

  void lower_elements(const std::vector<NodeId>& nodes, const Indices& row) {
    const auto leading = static_cast<std::ptrdiff_t>(schedule_.leading);
    const NestScope nest(s_.notes, [&] { return name_stage(nodes); });
    if (s_.notes) note_places(nodes);
    s_.builder.for_all({space_.begin() + leading, space_.end()}, [&](const Indices& within) {
      Indices index = row;
      index.insert(index.end(), within.begin(), within.end());
      lower_element(s_, nodes, space_, index);
    });
  }

  Nest name_stage(std::span<const NodeId> nodes) const {
    return s_.notes->nest(nodes, s_.environment.types);
  }
  void note_places(std::span<const NodeId> nodes) const {
    std::vector<std::pair<ValueId, std::string>> places;
    for (const NodeId n : nodes) {
      const ValueId v = s_.graph.node(n).outputs[0];
      const auto at = schedule_.memory_of.find(v);
      const bool is_result = std::ranges::count(s_.graph.root().results, v) > 0;
      if (at != schedule_.memory_of.end() && at->second != v)
        places.emplace_back(
            v, "the memory of " + ir::name_of(s_.graph, at->second) + ", which comes later");
      else if (!s_.sinks.contains(v)) places.emplace_back(v, "registers");
      else places.emplace_back(v, is_result ? "the result" : "its own memory");
    }
    s_.notes->note_places(places);
  }

  LoweringScope& s_;
  const RowSchedule& schedule_;
  const std::vector<Ex> space_, rows_;
  std::map<ValueId, Operand> outside_;
  std::vector<std::pair<ValueId, std::vector<Ex>>> stored_later_;
};

}  // namespace

void lower_rows(LoweringScope& s, const RowSchedule& schedule, std::span<const Ex> space) {
  RowLowerer(s, schedule, space).run();
}

}  // namespace rondel::lowering
