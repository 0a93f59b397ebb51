#include "base/error.h"
#include "ops/gradients.h"
#include "ops/layout/scatter.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

bool is_circular(const ir::Attributes& a) {
  const std::string mode = a.s("mode", "linear");
  require(mode == "linear" || mode == "circular", "mode is '{}'; expected linear or circular",
          mode);
  return mode == "circular";
}

/// The axis of the sequences; axis 0 numbers them.
std::int64_t sequence_axis(const ir::Attributes& a, std::int64_t rank) {
  const std::int64_t axis = normal_axis(a.i("axis", -2), rank);
  require(axis > 0, "axis is {} of rank {}, which is the batch axis; expected a later axis",
          a.i("axis", -2), rank);
  return axis;
}

void tensor_scatter_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  require_same_dtype(c, 0, 1);
  is_circular(c.attributes());
  const ir::Type &x = c.input(0), &update = c.input(1);
  c.output(0, x);
  if (c.has(2)) {
    require_dtype(c, 2, DType::i64);
    require_rank(c, 2, 1);
  }
  if (x.has_rank()) sequence_axis(c.attributes(), x.rank());
  if (!x.has_rank() || !update.has_rank()) return;
  require(x.rank() == update.rank(), "x {} and the update {} differ in rank", to_text(x),
          to_text(update));
  const std::int64_t axis = sequence_axis(c.attributes(), x.rank());
  Conditions conditions;
  for (std::int64_t a = 0; a < x.rank(); ++a) {
    const ir::Extent &whole = x.extent(a), &part = update.extent(a);
    const bool known = whole.known() && part.known();
    if (a == axis) {
      require(!known || part.value <= whole.value,
              "the update {} does not fit into x {} along axis {}", to_text(update), to_text(x), a);
      conditions.not_negative(ir::Integer(whole) - ir::Integer(part));
    } else {
      require(!known || part.value == whole.value, "x {} and the update {} differ on axis {}",
              to_text(x), to_text(update), a);
      conditions.equal(whole, part);
    }
  }
  if (c.has(2) && c.input(2).has_rank()) {
    const ir::Extent &given = c.input(2).extent(0), &wanted = x.extent(0);
    require(!given.known() || !wanted.known() || given.value == wanted.value,
            "there are {} write indices for a batch of {}", given.value, wanted.value);
    conditions.equal(given, wanted);
  } else if (c.has(2)) {
    conditions.unknown();
  }
  conditions.state(c);
}

/// The position along the axis at which the update of sequence `n` begins.
Ex first_position(Emitter& e, std::int64_t axis, Ex n) {
  scalar::Builder& b = e.builder();
  if (!e.has(2)) return b.index(0);
  const Ex given = e.load(2, {n}), whole = e.extent(0, axis);
  if (is_circular(e.attributes())) {
    const Ex rest = given % whole;
    return select(rest < 0, rest + whole, rest);
  }
  const Ex last = whole - e.extent(1, axis);
  b.check((given >= 0) & (given <= last),
          "write index {} is out of bounds; expected 0 to {}, so that the update fits",
          {given, last});
  return given;
}

void write_sequences(Emitter& e) {
  scalar::Builder& b = e.builder();
  const std::int64_t axis = sequence_axis(e.attributes(), e.rank(0));
  const bool circular = is_circular(e.attributes());
  copy_to_output(e);
  b.for_each(b.index(0), e.extent(1, 0), [&](Ex n) {
    const Ex first = first_position(e, axis, n), whole = e.extent(0, axis);
    Indices extents = extents_of(e, 1);
    extents.erase(extents.begin());
    b.for_all(extents, [&](const Indices& inner) {
      Indices from{n}, to{n};
      from.insert(from.end(), inner.begin(), inner.end());
      to.insert(to.end(), inner.begin(), inner.end());
      Ex& at = to[static_cast<std::size_t>(axis)];
      at = at + first;
      if (circular) at = select(at >= whole, at - whole, at);
      e.store(0, to, e.load(1, from));
    });
  });
}

/// The position along the axis that each element of the update is written to, in the shape of the
/// update.
ir::ValueId update_positions(ir::Builder& b, const ir::Node& node, std::int64_t axis,
                             std::int64_t rank) {
  const ir::ValueId x = node.inputs[0], update = node.inputs[1];
  ir::Ints along(static_cast<std::size_t>(rank), 1), batch = along;
  along[static_cast<std::size_t>(axis)] = batch[0] = -1;
  ir::ValueId at = b("reshape", {iota(b, extent_of(b, update, axis)), b.integers(along)});
  if (has_input(node, 2)) at = b("add", {b("reshape", {node.inputs[2], b.integers(batch)}), at});
  if (is_circular(node.attributes)) at = b("mod", {at, extent_of(b, x, axis)});
  return b("expand", {at, b("shape", {update})});
}

/// The elements of x that are overwritten get no adjoint; those of the update get the adjoint at
/// their position.
std::vector<ir::ValueId> tensor_scatter_gradient(ir::Builder& b, const ir::Node& node,
                                                 std::span<const ir::ValueId> adjoints) {
  const ir::Type type = b.graph().value(node.inputs[0]).type;
  if (!type.has_rank())
    unsupported("the gradient of TensorScatter for x {}; it needs its rank", to_text(type));
  const std::int64_t axis = sequence_axis(node.attributes, type.rank());
  std::vector<ir::ValueId> inputs = node.inputs;
  inputs[0] = adjoints[0];
  inputs[1] = zeros_like(b, node.inputs[1]);
  std::vector<ir::ValueId> result(inputs.size(), ir::ValueId::none);
  result[0] = b("tensor_scatter", inputs, node.attributes);
  result[1] = b("gather_elements", {adjoints[0], update_positions(b, node, axis, type.rank())},
                {{"axis", axis}});
  return result;
}

const ir::OpEntry tensor_scatter{{
    .name = "tensor_scatter",
    .doc =
        "y = x with the update stored along the axis, in each batch element from its write index "
        "(default 0) on; in the mode 'circular' positions are modulo the extent",
    .inputs = {{"x"}, {"update"}, {"write_indices", ir::InputDef::optional}},
    .attributes = {{"axis", -2}, {"mode", "linear"}},
    .type = tensor_scatter_rule,
    .meaning = nest(write_sequences),
    .can_fail = [](const ir::TypeContext& c) { return c.has(2) && !is_circular(c.attributes()); },
    .in_place = {0},
    .gradient = tensor_scatter_gradient,
}};

}  // namespace
}  // namespace rondel::ops
