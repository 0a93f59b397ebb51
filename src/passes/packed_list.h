#pragma once
#include "ir/builder.h"

#include <functional>
#include <vector>

namespace rondel::passes {

/// How the tensors of a list lie in one tensor, the block.
///
/// If all have one shape, they lie along an axis of their own, as in a stack. Tensors that differ
/// in one extent are joined along that axis, and `bounds` (i64[n + 1]) has where each begins and
/// ends: tensor i is block[bounds[i] : bounds[i + 1]].
struct ListForm {
  DType dtype = DType::f32;
  ir::Extents item;  ///< of each tensor; unknown where they differ
  std::int64_t axis = 0;
  bool ragged = false;

  /// The types of the block and the bounds, whatever the number of tensors is.
  std::vector<ir::Type> types() const;
};

/// A list in this form: {block}, or {block, bounds}.
using PackedList = std::vector<ir::ValueId>;

/// Gives the number that an extent stands for, i64[1].
using ExtentValue = std::function<ir::ValueId(ir::Builder&, const ir::Extent&)>;

/// Writes what nodes make of lists in one form.
class PackedListWriter {
 public:
  PackedListWriter(const ir::Builder& b, const ListForm& form) : b_(b), form_(form) {}
  /// Writes before a node that is to be replaced.
  PackedListWriter(ir::Graph&, ir::NodeId, const ListForm&);

  /// Of a list that is there. All its tensors must have the form.
  PackedList of_list(ir::ValueId list);
  PackedList empty(const ExtentValue&);
  PackedList of(std::span<const ir::ValueId> items);
  /// The slices of extent 1 of a tensor along an axis, which they have or not.
  PackedList of_slices(ir::ValueId whole, std::int64_t axis, bool keeps_axis);
  /// The parts of a tensor along the axis of a ragged list. `lengths`: one integer for all parts,
  /// of which the last may be shorter, or one for each.
  PackedList of_parts(ir::ValueId whole, ir::ValueId lengths);
  PackedList with(const PackedList&, ir::ValueId item);
  /// Of a list that is not ragged: with a tensor before a position, or without the one there.
  PackedList with(const PackedList&, ir::ValueId item, ir::ValueId position);
  PackedList without(const PackedList&, ir::ValueId position);
  PackedList without_last(const PackedList&);
  /// What a node reads, before which this is written: a tensor, the length, all joined.
  ir::ValueId read(ir::NodeId, const PackedList&);
  ir::ValueId list(const PackedList&);

 private:
  ir::ValueId length(const PackedList&);  ///< i64[]
  ir::ValueId item(const PackedList&, ir::ValueId position);
  ir::ValueId with_axis(ir::ValueId item);
  ir::ValueId as_i64(ir::ValueId);
  ir::ValueId integer(ir::ValueId position);
  ir::ValueId up_to(ir::ValueId end);  ///< 0, 1, ... below `end`: i64[end]
  ir::ValueId plus_one(ir::ValueId);
  ir::ValueId from_front(ir::ValueId position, ir::ValueId length, bool end);
  ir::ValueId slice(ir::ValueId, ir::ValueId from, ir::ValueId to, std::int64_t axis);
  ir::ValueId slice(ir::ValueId, std::int64_t from, std::int64_t to, std::int64_t axis);
  ir::ValueId one(std::int64_t v) { return b_.integers({v}); }
  ir::ValueId as_one(ir::ValueId scalar) { return b_("unsqueeze", {scalar, one(0)}); }
  ir::ValueId extent(ir::ValueId, std::int64_t axis);  ///< i64[1]
  ir::ValueId stacked(const PackedList&);
  void check(ir::ValueId condition, const char* message);

  ir::Builder b_;
  const ListForm& form_;
};

}  // namespace rondel::passes
