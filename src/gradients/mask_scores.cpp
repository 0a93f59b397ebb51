#include "gradients/mask_scores.h"

#include "base/axis.h"
#include "ir/builder.h"
#include "ops/compose.h"

namespace rondel::gradients {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Type;
using ir::ValueId;

/// Whether `condition` says which elements of a softmax are NaN: all of a row, or none of it.
bool asks_for_nan(const Graph& g, ValueId condition, const Node& softmax) {
  const auto made_by = [&](ValueId v, std::string_view op) {
    const NodeId n = g.value(v).producer;
    return n != NodeId::none && g.node(n).op->name == op ? &g.node(n) : nullptr;
  };
  const Node* asks = made_by(condition, "is_nan");
  if (asks == nullptr) return false;
  ValueId asked = asks->inputs[0];
  while (const Node* cast = made_by(asked, "cast")) asked = cast->inputs[0];
  return asked == softmax.outputs[0];
}

/// Whether `condition`, broadcast to the scores, holds for all of a row or for none of it.
bool is_of_rows(const Graph& g, ValueId condition, const Node& softmax) {
  if (asks_for_nan(g, condition, softmax)) return true;
  const Type &t = g.value(condition).type, &scores = g.value(softmax.inputs[0]).type;
  std::int64_t axis = softmax.attributes.i("axis", -1);
  if (!t.has_rank() || (axis >= 0 && !scores.has_rank())) return false;
  if (axis >= 0) axis -= scores.rank();
  return !has_axis(axis, t.rank()) || t.extent(axis_from_front(axis, t.rank())) == ir::Extent(1);
}

/// Writes `softmax` nodes for one side of a `where`.
class MaskedSide {
 public:
  MaskedSide(Graph& g, NodeId where, std::size_t side)
      : b_(g, g.node(where).region), condition_(g.node(where).inputs[0]), side_(side) {
    b_.insert_before(where);
    b_.source(g.node(where).source);
  }

  /// `v`, which is a softmax, perhaps converted, of other scores; none if it is something else.
  ValueId of(ValueId v) {
    const NodeId n = b_.graph().value(v).producer;
    if (n == NodeId::none) return ValueId::none;
    const Node made = b_.graph().node(n);
    ValueId x = ValueId::none;
    if (made.op->name == "cast") x = of(made.inputs[0]);
    else if (made.op->name == "softmax" && is_of_rows(b_.graph(), condition_, made))
      x = masked(made.inputs[0]);
    return x == ValueId::none ? x : b_(made.op->name, {x}, made.attributes);
  }

 private:
  ValueId masked(ValueId scores) {
    const ValueId zero = b_.scalar(ops::dtype_of(b_, scores), 0);
    return side_ == 1 ? b_("where", {condition_, scores, zero})
                      : b_("where", {condition_, zero, scores});
  }

  ir::Builder b_;
  const ValueId condition_;
  const std::size_t side_;
};

}  // namespace

void mask_scores(Graph& g) {
  for (const ir::RegionId r : g.regions_below(ir::RegionId::root)) {
    const std::vector<NodeId> nodes(g.region(r).nodes.begin(), g.region(r).nodes.end());
    for (const NodeId n : nodes) {
      if (g.node(n).op->name != "where") continue;
      for (const std::size_t side : {1U, 2U})
        if (const ValueId v = MaskedSide(g, n, side).of(g.node(n).inputs[side]); v != ValueId::none)
          g.set_input(n, side, v);
    }
  }
}

}  // namespace rondel::gradients
