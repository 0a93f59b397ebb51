#pragma once
#include "gradients/influence.h"
#include "ir/builder.h"
#include "ir/clone.h"
#include "ir/infer.h"
#include "ir/loop_editor.h"

#include <optional>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

namespace rondel::gradients {

/// The values of a loop's trips that its reverse loop needs: how the forward loop keeps them, and
/// how a reverse trip reads them. What keeps its shape becomes a stack, which the reverse loop
/// scans backwards; the values of a state that is joined from trip to trip are parts of its final
/// value; everything else is kept in lists, which are states.
class KeptValues {
 public:
  /// `b`: inserts nodes around the loop. `types`: of the loop's body, as inferred. `influence`: has
  /// been spread over the body.
  KeptValues(ir::Builder& b, ir::LoopEditor& loop, ir::NodeId n, const ir::TypeEnvironment& types,
             const Influence& influence)
      : g_(b.graph()), b_(b), loop_(loop), n_(n), types_(types), influence_(influence) {}

  /// Keeps the states at the start of each trip, and what the costly ones of the body's nodes make.
  void keep(std::span<const ir::NodeId> nodes);
  /// The stacks that the reverse loop scans along axis 0, backwards.
  std::span<const ir::ValueId> stacks() const { return stacks_; }
  /// The number of states that were added: they are the loop's last ones.
  std::size_t lists() const { return lists_.size(); }
  /// A stack of the values of `v` in all trips: an existing one if there is one.
  ir::ValueId stack_of(ir::ValueId v);

  /// Lets a copy of the body read what is known at the start of forward trip `i` (i64[]).
  /// `elements`: those of `stacks`.
  void map(ir::Builder&, ir::Cloner&, std::span<const ir::ValueId> elements, ir::ValueId i) const;
  /// What the copy computes, and the kept value that can replace it: results of costly nodes, and
  /// the states that follow those that grow as much in each trip.
  struct Replacement {
    ir::ValueId computed, kept;
  };
  std::vector<Replacement> replacements(ir::Builder&, ir::Cloner&,
                                        std::span<const ir::ValueId> elements, ir::ValueId i) const;

  /// Removes the stack, if it was added and nothing reads it.
  void drop_if_unread(ir::ValueId stack);
  /// Removes the lists that nothing reads.
  void drop_unread_lists();

 private:
  /// A value of the body and the list that keeps it. A sequence or an optional also has values of
  /// the body that describe its tensors in each trip: the index of the first one in the list, their
  /// number, and whether the optional has an element.
  struct Listed {
    ir::ValueId value, list, first = ir::ValueId::none, length = ir::ValueId::none,
                             held = ir::ValueId::none;
  };
  /// A state to which each trip joins something along an axis, at its end or before its beginning:
  /// the value of each trip is a part of the final value, which is kept alone.
  struct Grown {
    ir::ValueId value, next, final;
    std::int64_t axis;
    bool at_end;
    /// The extent along the axis: `first` + `growth` times the trip index, if each trip joins as
    /// much; else a value of the body. Both i64[1].
    std::optional<std::int64_t> growth;
    ir::ValueId first, extent;
  };
  /// How a value is made of another one, which it has a part of: by a node that joins something to
  /// it, or by a loop whose trips do.
  struct Joined {
    std::int64_t axis;
    bool at_end;
    std::optional<std::int64_t> growth;  ///< if it is known
  };

  const ir::LoopParts& parts() const { return loop_.parts(); }
  const ir::Region& body() const { return g_.region(parts().body); }
  const ir::Type& type(ir::ValueId v) const { return g_.value(v).type; }

  void keep_states();
  void keep_costly_results(std::span<const ir::NodeId>);
  bool is_same_in_each_trip(ir::NodeId, const std::unordered_set<ir::ValueId>& same) const;
  bool makes_few_integers(ir::NodeId) const;
  bool keep_as_part(std::size_t s);
  std::optional<Joined> joined_to(ir::ValueId, ir::ValueId next) const;
  std::optional<Joined> joined_by_node(const ir::Node& join, ir::ValueId) const;
  std::optional<Joined> joined_by_loop(ir::NodeId, ir::ValueId, ir::ValueId final) const;
  std::optional<std::int64_t> growth_of(const ir::Node& join, ir::ValueId state) const;
  void keep_in_stack(ir::ValueId);
  void keep_in_list(ir::ValueId);
  void keep_tensors_in_list(ir::ValueId);
  ir::LoopEditor::State add_list(DType);
  void remove_list(const Listed&, std::size_t s);

  ir::ValueId of_trip(ir::Builder&, ir::Cloner&, const Listed&, ir::ValueId i) const;
  ir::ValueId extent_in_trip(ir::Builder&, ir::Cloner&, const Grown&, ir::ValueId i) const;
  ir::ValueId part_of(ir::Builder&, const Grown&, ir::ValueId extent, const ir::Type&) const;
  ir::ValueId typed(ir::ValueId, const ir::Type&) const;

  ir::Graph& g_;
  ir::Builder& b_;
  ir::LoopEditor& loop_;
  const ir::NodeId n_;
  const ir::TypeEnvironment& types_;
  const Influence& influence_;
  /// Values of the body, each kept in a stack; the last `computed_` are results of costly nodes.
  std::vector<ir::ValueId> stacked_, stacks_;
  std::size_t computed_ = 0;
  std::vector<ir::ValueId> added_stacks_;
  std::vector<Listed> lists_;
  std::vector<Grown> grown_;
};

}  // namespace rondel::gradients
