#pragma once
#include "ir/builder.h"
#include "passes/lists.h"

namespace rondel::passes {

/// A list whose tensors are slices of one tensor, of extent 1 along `axis`.
struct Slices {
  ir::ValueId whole = ir::ValueId::none;
  std::int64_t axis = 0;
  bool keeps_axis = false;  ///< the tensors of the list have the axis, too

  std::int64_t rank_of_item(const ir::Type& whole_type) const {
    return whole_type.rank() - (keeps_axis ? 0 : 1);
  }
};

/// Writes what a node reads of slices, before the node. A list that is joined must not be empty: an
/// assertion says so if it may be.
class SlicesReader {
 public:
  SlicesReader(ir::Graph&, ir::NodeId, const Slices&);

  /// Whether node `n` can read a list in this way. `item`: the type of each tensor of the list.
  static bool can_read(const ir::Graph&, ir::NodeId n, const ir::Type& item, bool keeps_axis);
  static std::int64_t axis_of(const ir::Node& n) { return n.attributes.i("axis"); }
  /// Whether a node that joins tensors of this rank names an axis that they or their stack have.
  static bool has_axis(const ir::Node&, std::int64_t rank_of_item);

  ir::ValueId read();

 private:
  const ir::Type& type() const { return b_.graph().value(list_.whole).type; }
  ir::ValueId item();
  ir::ValueId length();
  void check_not_empty();
  ir::ValueId moved(std::int64_t to);
  ir::ValueId joined();
  ir::ValueId apart(std::int64_t to);

  const ir::Node& node_;
  ir::Builder b_;
  Slices list_;
};

}  // namespace rondel::passes
