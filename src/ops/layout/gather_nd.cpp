#include "base/error.h"
#include "ops/gradients.h"
#include "ops/positions.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void gather_nd_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  require_dtype(c, 1, DType::i64);
  const ir::Type &x = c.input(0), &indices = c.input(1);
  const std::int64_t batch = c.attributes().i("batch_dims");
  require(!indices.has_rank() || indices.rank() > 0,
          "indices are {}; expected coordinates along their last axis", to_text(indices));
  if (!x.has_rank() || !indices.has_rank() || !indices.extent(indices.rank() - 1).known())
    return c.output(0, ir::Type::unranked(x.dtype()));
  const std::int64_t depth = indices.extent(indices.rank() - 1).value;
  require(batch >= 0 && batch < indices.rank() && batch + depth <= x.rank(),
          "indices of {} coordinates after {} batch axes do not fit rank {}", depth, batch,
          x.rank());
  for (std::int64_t a = 0; a < batch; ++a) {
    const ir::Extent &of_x = x.extent(a), &of_indices = indices.extent(a);
    require(!of_x.known() || !of_indices.known() || of_x == of_indices,
            "batch axis {} has {} elements in x and {} in the indices", a, of_x.value,
            of_indices.value);
    c.requires_equal(of_x, of_indices);
  }
  ir::Extents extents(indices.extents().begin(), indices.extents().end() - 1);
  extents.insert(extents.end(), x.extents().begin() + batch + depth, x.extents().end());
  c.output(0, ir::Type::tensor(x.dtype(), std::move(extents)));
  c.holds_while();
}

Ex gathered_at_index(Emitter& e, std::size_t, const Indices& out) {
  const std::int64_t batch = e.attributes().i("batch_dims"), leading = e.rank(1) - 1;
  const std::int64_t depth = e.rank(0) - batch - (static_cast<std::int64_t>(out.size()) - leading);
  Indices in(out.begin(), out.begin() + batch);
  Indices at(out.begin(), out.begin() + leading);
  at.emplace_back();
  for (std::int64_t d = 0; d < depth; ++d) {
    at.back() = e.builder().index(d);
    in.push_back(checked_index(e, e.load(1, at), e.extent(0, batch + d), "index"));
  }
  in.insert(in.end(), out.begin() + leading, out.end());
  return e.load(0, in);
}

/// The index along batch axis `axis` for each coordinate list in `indices`, with the shape of
/// `indices` except for a last axis of extent 1.
ir::ValueId batch_coordinates(ir::Builder& b, ir::ValueId x, ir::ValueId indices,
                              std::int64_t axis) {
  const ir::ValueId behind = b("shape", {b("shape", {indices}, {{"start", axis + 1}})});
  const ir::ValueId ones = b("constant_of_shape", {behind},
                             {{"value", Tensor::from<std::int64_t>({1}, {1})}});
  const ir::ValueId extent = extent_of(b, x, axis);
  const ir::ValueId along = b("concat", {extent, ones}, {{"axis", 0}});
  const ir::ValueId all = shape_with_extent(b, indices, -1, b.integers({1}));
  return b("expand", {b("reshape", {iota(b, extent), along}), all});
}

/// The adjoint of each slice is added to the position that the slice was taken from. The
/// coordinates are extended by those along the batch axes.
std::vector<ir::ValueId> gather_nd_gradient(ir::Builder& b, const ir::Node& node,
                                            std::span<const ir::ValueId> adjoints) {
  const ir::ValueId x = node.inputs[0];
  std::vector<ir::ValueId> coordinates;
  for (std::int64_t axis = 0; axis < node.attributes.i("batch_dims"); ++axis)
    coordinates.push_back(batch_coordinates(b, x, node.inputs[1], axis));
  coordinates.push_back(node.inputs[1]);
  const ir::ValueId indices = coordinates.size() == 1
                                  ? node.inputs[1]
                                  : b("concat", std::move(coordinates), {{"axis", -1}});
  const ir::ValueId sums = b("scatter_nd",
                             {wide_zeros_like(b, x), indices, wide_value(b, adjoints[0])},
                             {{"reduction", "add"}});
  return {as(b, sums, dtype_of(b, x)), ir::ValueId::none};
}

const ir::OpEntry gather_nd{{
    .name = "gather_nd",
    .doc = "y = the slices of x at coordinates, which are listed along the last axis of indices",
    .inputs = {{"x"}, {"indices"}},
    .attributes = {{"batch_dims", std::int64_t{0}}},
    .type = gather_nd_rule,
    .meaning = elements(gathered_at_index),
    .can_fail = true,
    .gradient = gather_nd_gradient,
}};

}  // namespace
}  // namespace rondel::ops
