#pragma once
#include "ir/infer.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace rondel::lowering {

/// The order in which nodes that work on the same rows run in one nest: everything for one row
/// before the next. A row is what a reduction of the trailing axes folds: for `softmax` over the
/// last axis of [a, b], b elements. The nodes are such reductions, and element-wise nodes that give
/// either the elements of the rows, [a, b], or one element for each row, [a, 1].
struct RowSchedule {
  struct Stage {
    bool by_row = false;  ///< one element a row; otherwise the elements of a row
    std::vector<ir::NodeId> nodes;
  };
  std::vector<ir::Extent> space;  ///< of the elements
  std::size_t leading = 0;        ///< that many axes count the rows
  std::vector<Stage> stages;
  /// Rows are short: elements that later stages read are in registers, stages are straight code
  /// instead of loops, and the elements of a row are stored after everything that its row reads has
  /// been read.
  bool in_registers = false;
  /// For each reduction, the nodes that compute the elements of its input 0 where it reads them.
  std::map<ir::NodeId, std::vector<ir::NodeId>> inlined;
  /// Elements that later stages read, unless they are in registers. A result is in its own memory;
  /// another value shares that of a result, which a stage writes that is the last to read the
  /// value, or a later one.
  std::map<ir::ValueId, ir::ValueId> memory_of;

  /// Whether rows certainly have fewer elements than this.
  bool rows_shorter_than(std::int64_t) const;

  /// Whether `result` may be written over an outside value of the same type: each stage that reads
  /// the value does so before that memory is written, or as it writes the same element. Reads
  /// outside of the schedule are not looked at.
  bool may_write_over(const ir::Graph&, ir::ValueId result, ir::ValueId outside) const;
  /// Whether later stages read elements of the result, or of another value in its memory.
  bool needs_memory(ir::ValueId result) const;
  /// The stage in which a node runs; nothing for other nodes.
  std::optional<std::size_t> stage_of(ir::NodeId) const;
};

/// Where nodes run by rows. In a loop, the elements of short rows stay in registers only where they
/// take long to compute: a trip often has few rows, whose elements it has just written.
enum class RowsIn : std::uint8_t {
  loop,
  step,
  step_of_class,  ///< a step that was chosen before the number of its rows was known
};

/// The schedule of the nodes, which are in order; nothing if they are of other kinds, may fail, or
/// hand on values that are not in registers and for which no result has memory. Values that other
/// nodes read are the results.
std::optional<RowSchedule> schedule_rows(const ir::Graph&, const ir::Types&,
                                         std::span<const ir::NodeId>, RowsIn);

}  // namespace rondel::lowering
