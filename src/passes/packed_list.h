#pragma once
#include "ir/builder.h"

#include <functional>
#include <vector>

namespace rondel::passes {

/// The type without extents that are known only by names which this library has made. They are not
/// known in a graph.
ir::Type without_own_symbols(const ir::Type& tensor);

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
  /// Writes before a node that is to be replaced.
  PackedListWriter(ir::Graph&, ir::NodeId, const ListForm&);
  /// Writes at the end of a region.
  PackedListWriter(ir::Graph&, ir::RegionId, const ListForm&);

  PackedList empty(const ExtentValue&);
  PackedList of(std::span<const ir::ValueId> items);
  /// The slices of extent 1 of a tensor along an axis, which they have or not.
  PackedList of_slices(ir::ValueId whole, std::int64_t axis, bool keeps_axis);
  PackedList with(const PackedList&, ir::ValueId item);
  /// Of a list that is not ragged: with a tensor before a position, or without the one there.
  PackedList with(const PackedList&, ir::ValueId item, ir::ValueId position);
  PackedList without(const PackedList&, ir::ValueId position);
  PackedList without_last(const PackedList&);
  /// What the node reads: a tensor, the length, all joined.
  ir::ValueId read(const PackedList&);
  ir::ValueId list(const PackedList&);

 private:
  ir::ValueId length(const PackedList&);  ///< i64[]
  ir::ValueId item(const PackedList&, ir::ValueId position);
  ir::ValueId with_axis(ir::ValueId item);
  ir::ValueId integer(ir::ValueId position);
  ir::ValueId from_front(ir::ValueId position, ir::ValueId length, bool end);
  ir::ValueId slice(ir::ValueId, ir::ValueId from, ir::ValueId to, std::int64_t axis);
  ir::ValueId one(std::int64_t v) { return b_.integers({v}); }
  ir::ValueId as_one(ir::ValueId scalar) { return b_("unsqueeze", {scalar, one(0)}); }
  ir::ValueId extent(ir::ValueId, std::int64_t axis);  ///< i64[1]
  ir::ValueId stacked(const PackedList&);
  void check(ir::ValueId condition, const char* message);

  ir::Graph& g_;
  const ir::NodeId n_ = ir::NodeId::none;
  ir::Builder b_;
  const ListForm& form_;
};

}  // namespace rondel::passes
