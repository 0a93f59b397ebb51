#include "ops/layout/gather.h"

#include "base/axis.h"
#include "ops/batching.h"
#include "ops/gradients.h"
#include "ops/positions.h"
#include "ops/type_rules.h"

#include <numeric>

namespace rondel::ops {
namespace {

/// States the elements of the result if x is a short list of integers and the indices are known.
void pick_elements(ir::TypeContext& c) {
  if (c.input(0).rank() != 1 || c.value(1) == nullptr || c.value(1)->rank() > 1) return;
  const auto list = c.elements(0);
  if (!list) return;
  const std::int64_t count = std::ssize(*list);
  const ir::Ints indices = ir::integers_of(*c.value(1));
  ir::Integers picked;
  for (const std::int64_t at : indices) {
    if (at < -count || at >= count) return;
    picked.push_back((*list)[static_cast<std::size_t>(at < 0 ? at + count : at)]);
  }
  c.set_elements(0, std::move(picked));
}

void gather_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  require_dtypes(c, 1, integer_dtypes());
  const ir::Type &x = c.input(0), &indices = c.input(1);
  if (!x.has_rank() || !indices.has_rank()) return c.output(0, ir::Type::unranked(x.dtype()));
  const std::int64_t axis = normal_axis(c.attributes().i("axis"), x.rank());
  ir::Extents extents = x.extents();
  const auto at = extents.erase(extents.begin() + axis);
  extents.insert(at, indices.extents().begin(), indices.extents().end());
  c.output(0, ir::Type::tensor(x.dtype(), std::move(extents)));
  pick_elements(c);
  c.holds_while();
}

Ex gathered_slice(Emitter& e, std::size_t, const Indices& out) {
  const std::int64_t axis = normal_axis(e.attributes().i("axis"), e.rank(0));
  const auto first = out.begin() + axis, last = first + e.rank(1);
  Indices in(out.begin(), first);
  in.push_back(checked_index(e, e.load(1, Indices(first, last)), e.extent(0, axis), "index"));
  in.insert(in.end(), last, out.end());
  return e.load(0, in);
}

/// An index out of range is an error even if the slices are empty, although no element is loaded.
void check_indices_of_empty_slices(Emitter& e) {
  scalar::Builder& b = e.builder();
  const std::int64_t rank = e.rank(0), axis = normal_axis(e.attributes().i("axis"), rank);
  Ex empty;
  for (std::int64_t a = 0; a < rank; ++a) {
    const Ex extent = e.extent(0, a);
    if (a == axis || b.known(extent).value_or(0) > 0) continue;
    empty = empty ? empty | (extent == 0) : extent == 0;
  }
  if (!empty) return;
  b.if_(empty, [&] {
    b.for_all(extents_of(e, 1), [&](const Indices& at) {
      checked_index(e, e.load(1, at), e.extent(0, axis), "index");
    });
  });
}

/// If only the indices are stacked, the rule applies to gathers along axis 0: there the axes of the
/// indices come first in the result, so the result is stacked, too.
std::vector<ir::ValueId> batched_gather(ir::Builder& b, const ir::Node& node,
                                        std::span<const ir::Batch> inputs) {
  if (inputs[0].stacked) return along_axis(b, node, inputs);
  const auto rank = element_rank(b, inputs[0]);
  if (!rank || normal_axis(node.attributes.i("axis"), *rank) != 0) return {};
  return same_call(b, node, values_of(inputs), node.attributes);
}

/// x, whose rank is unknown, with the axes after `axis` merged into one.
ir::ValueId with_axes_merged_after(ir::Builder& b, ir::ValueId x, std::int64_t axis) {
  ir::Ints before(static_cast<std::size_t>(axis + 1));
  std::iota(before.begin(), before.end(), 0);
  std::vector<ir::ValueId> shape{b("gather", {b("shape", {x}), b.integers(before)})};
  shape.push_back(b("reduce_prod", {b("shape", {x}, {{"start", axis + 1}})}, {{"keepdims", 1}}));
  return b("reshape", {x, b("concat", std::move(shape), {{"axis", 0}})}, {{"allowzero", 1}});
}

/// The adjoint of each slice is added to the position that the slice was taken from. The axes of
/// the indices are merged into one first; where the rank of x is unknown, the axes behind `axis`,
/// too.
std::vector<ir::ValueId> gather_gradient(ir::Builder& b, const ir::Node& node,
                                         std::span<const ir::ValueId> adjoints) {
  const std::int64_t from_front = node.attributes.i("axis");
  const bool merges = from_front >= 0 && !b.graph().value(node.inputs[0]).type.has_rank();
  const ir::ValueId x = merges ? with_axes_merged_after(b, node.inputs[0], from_front)
                               : node.inputs[0];
  const std::int64_t axis = axis_from_end(b, x, from_front);
  const ir::ValueId indices = b("reshape", {node.inputs[1], b.integers({-1})});
  const ir::ValueId shape = shape_with_extent(b, x, axis, b("shape", {indices}));
  const ir::ValueId slices = b("reshape", {adjoints[0], shape}, {{"allowzero", 1}});
  const ir::ValueId positions[] = {indices};
  const ir::ValueId sums = scatter_adjoint(b, slices, x, {axis}, positions);
  return {merges ? with_shape_of(b, sums, node.inputs[0]) : sums, ir::ValueId::none};
}

const ir::OpEntry gather{{
    .name = "gather",
    .doc = "y = the slices of x along `axis` that the indices name",
    .inputs = {{"x"}, {"indices"}},
    .attributes = {{"axis", std::int64_t{0}}},
    .type = gather_rule,
    .meaning = elements(gathered_slice, check_indices_of_empty_slices),
    .can_fail =
        [](const ir::TypeContext& c) { return may_be_out_of_range(c, c.attributes().i("axis")); },
    .batch = batched_gather,
    .gradient = gather_gradient,
}};

}  // namespace

std::optional<std::int64_t> picked_axis(const ir::Graph& g, const ir::Node& n) {
  if (n.op->name != "gather") return std::nullopt;
  const ir::Type &x = g.value(n.inputs[0]).type, &index = g.value(n.inputs[1]).type;
  if (!x.has_rank() || !index.has_rank() || index.rank() != 0) return std::nullopt;
  const std::int64_t axis = axis_from_front(n.attributes.i("axis"), x.rank());
  return 0 <= axis && axis < x.rank() ? std::optional(axis) : std::nullopt;
}

}  // namespace rondel::ops
