#include "ops/layout/pad.h"

#include "base/checked.h"
#include "ops/gradients.h"
#include "ops/positions.h"
#include "ops/type_rules.h"

#include <algorithm>

namespace rondel::ops {
namespace {

/// Refuses what is known of an axis and its pads, if that is wrong.
void require_fits(const std::string& mode, std::int64_t axis, const ir::Extent& extent,
                  const ir::Integer& before, const ir::Integer& after) {
  for (const ir::Integer& pad : {before, after})
    require(!pad.known() || (*pad.number <= largest_pad && *pad.number >= -largest_pad),
            "axis {} is padded by {}; at most {} elements can be added or removed", axis,
            pad.number.value_or(0), largest_pad);
  if (!extent.known() || !before.known() || !after.known()) return;
  const std::int64_t most = std::max(*before.number, *after.number);
  require(checked_add(extent.value, *before.number + *after.number) >= 0,
          "axis {} of extent {} is padded by {} and {}", axis, extent.value, *before.number,
          *after.number);
  require(mode == "constant" || extent.value > 0 || most <= 0,
          "axis {} is empty; mode '{}' has nothing to take", axis, mode);
}

/// What must not be negative for an axis. Modes other than `constant` take added elements from x.
ir::Integers conditions_of(const std::string& mode, const ir::Integer& extent,
                           const ir::Integer& before, const ir::Integer& after) {
  const ir::Integer taken = mode == "constant" ? ir::Integer(0)
                                               : min(max(max(before, after), 0), 1);
  return {extent + before + after, extent - taken};
}

void pad_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  require_dtype(c, 1, DType::i64);
  require_rank(c, 1, 1);
  const ir::Type& x = c.input(0);
  const std::string mode = c.attributes().s("mode", "constant");
  require(mode == "constant" || mode == "reflect" || mode == "edge" || mode == "wrap",
          "mode is '{}'; expected constant, reflect, edge or wrap", mode);
  if (c.has(2)) {
    require_same_dtype(c, 0, 2);
    require_scalar(c, 2);
  }
  if (!x.has_rank()) return c.output(0, ir::Type::unranked(x.dtype()));
  const auto pads = listed_integers(c, 1);
  const auto axes = c.has(3) ? c.integers(3) : std::nullopt;
  if (!pads || (c.has(3) && !axes)) return c.output(0, ir::Type::ranked(x.dtype(), x.rank()));
  const Padding m = padding_of(*pads, axes, x.rank(), ir::Integer(0));
  ir::Extents extents;
  Conditions conditions;
  for (std::int64_t a = 0; a < x.rank(); ++a) {
    const ir::Integer &before = m.before[static_cast<std::size_t>(a)],
                      &after = m.after[static_cast<std::size_t>(a)];
    const ir::Extent& e = x.extent(a);
    require_fits(mode, a, e, before, after);
    for (const ir::Integer& i : conditions_of(mode, ir::Integer(e), before, after))
      conditions.not_negative(i);
    extents.emplace_back(ir::Integer(e) + before + after);
  }
  c.output(0, ir::Type::tensor(x.dtype(), std::move(extents)));
  conditions.state(c);
}

/// The pads of the program.
Padding<Ex> emitted_padding(Emitter& e) {
  const auto axes = e.has(3) ? std::optional(known_integers(e, 3)) : std::nullopt;
  const std::size_t n = axes ? axes->size() : static_cast<std::size_t>(e.rank(0));
  std::vector<Ex> pads;
  for (std::size_t i = 0; i < 2 * n; ++i) pads.push_back(known_or_read(e, 1, i));
  return padding_of(pads, axes, e.rank(0), e.builder().index(0));
}

/// The index of the element of x that is copied to index `i`, along one axis, in all modes except
/// constant. `i` is 0 at the first element of x, so it is negative in the padding before.
Ex source_index(Emitter& e, const std::string& mode, Ex i, Ex extent) {
  if (mode == "edge") return scalar::max(e.builder().index(0), scalar::min(i, extent - 1));
  if (mode == "wrap") return (i % extent + extent) % extent;
  // Reflection has period 2 (extent - 1) and never repeats the edge.
  const Ex period = scalar::max(e.builder().index(1), (extent - 1) * 2);
  const Ex phase = (i % period + period) % period;
  return select(phase < extent, phase, period - phase);
}

Ex fill(Emitter& e) {
  if (e.has(2))
    return e.load(2, Indices(static_cast<std::size_t>(e.rank(2)), e.builder().index(0)));
  return e.builder().constant_bits(e.dtype(0), 0);
}

Ex padded(Emitter& e, std::size_t, const Indices& out) {
  scalar::Builder& b = e.builder();
  const std::string mode = e.attributes().s("mode", "constant");
  const Padding<Ex> m = emitted_padding(e);
  Indices in;
  Ex inside;
  for (std::size_t a = 0; a < out.size(); ++a) {
    if (b.known(m.before[a]) == 0 && b.known(m.after[a]) == 0) {
      in.push_back(out[a]);
      continue;
    }
    const Ex extent = e.extent(0, static_cast<std::int64_t>(a)), i = out[a] - m.before[a];
    in.push_back(mode == "constant" ? i : source_index(e, mode, i, extent));
    if (mode != "constant") continue;
    const Ex within = (i >= b.index(0)) & (i < extent);
    inside = inside ? inside & within : within;
  }
  if (!inside) return e.load(0, in);
  return b.if_(
      inside, [&] { return std::vector<Ex>{e.load(0, in)}; },
      [&] { return std::vector<Ex>{fill(e)}; })[0];
}

std::vector<Ex> padded_extents(Emitter& e, std::size_t) {
  scalar::Builder& b = e.builder();
  const std::string mode = e.attributes().s("mode", "constant");
  const std::int64_t listed = e.has(3) ? std::ssize(known_integers(e, 3)) : e.rank(0);
  b.check(e.extent(1, 0) == 2 * listed,
          "{} pads for " + std::to_string(listed) + " axes; expected two per axis",
          {e.extent(1, 0)});
  const Padding<Ex> m = emitted_padding(e);
  std::vector<Ex> extents;
  for (std::int64_t a = 0; a < e.rank(0); ++a) {
    const auto at = static_cast<std::size_t>(a);
    const Ex extent = e.extent(0, a), &before = m.before[at], &after = m.after[at];
    const std::string axis = "axis " + std::to_string(a);
    for (const Ex& pad : {before, after})
      b.check((pad <= largest_pad) & (pad >= -largest_pad),
              axis + " is padded by {}; at most " + std::to_string(largest_pad) +
                  " elements can be added or removed",
              {pad});
    b.check(extent + before + after >= 0, axis + " of extent {} is padded by {} and {}",
            {extent, before, after});
    if (mode != "constant")
      b.check((extent > 0) | ((before <= 0) & (after <= 0)),
              axis + " is empty; mode '" + mode + "' has nothing to take");
    extents.push_back(extent + before + after);
  }
  return extents;
}

/// The gradient in the modes that repeat elements of x: each element gets the sum of the adjoints
/// of its copies. The positions that are copied along an axis are 0, 1, ..., padded in the same
/// mode.
std::vector<ir::ValueId> repeating_pad_gradient(ir::Builder& b, const ir::Node& node,
                                                std::span<const ir::ValueId> adjoints) {
  const ir::ValueId x = node.inputs[0];
  const ir::Type type = b.graph().value(x).type;
  const auto pads = constant_integers(b, node, 1), axes = constant_integers(b, node, 3);
  const std::string mode = node.attributes.s("mode", "constant");
  std::vector<ir::ValueId> result(node.inputs.size(), ir::ValueId::none);
  if (!type.has_rank() || !pads || (has_input(node, 3) && !axes)) {
    result[0] = scatter_by_positions(b, adjoints[0], x, [&](ir::ValueId all) {
      const ir::ValueId listed = has_input(node, 3) ? node.inputs[3] : ir::ValueId::none;
      return b("pad", {all, node.inputs[1], ir::ValueId::none, listed}, {{"mode", mode}});
    });
    return result;
  }
  const Padding padding = padding_of(*pads, axes, type.rank(), std::int64_t{0});
  ir::Ints padded;
  std::vector<ir::ValueId> positions;
  for (std::int64_t a = 0; a < type.rank(); ++a) {
    const auto at = static_cast<std::size_t>(a);
    if (padding.before[at] == 0 && padding.after[at] == 0) continue;
    padded.push_back(a - type.rank());
    positions.push_back(
        b("pad", {iota(b, extent_of(b, x, a)), b.integers({padding.before[at], padding.after[at]})},
          {{"mode", mode}}));
  }
  result[0] = scatter_adjoint(b, adjoints[0], x, padded, positions);
  return result;
}

/// In constant mode, the adjoint of x is the result's adjoint without the added elements. The
/// adjoint of the constant is the sum over the added elements.
std::vector<ir::ValueId> pad_gradient(ir::Builder& b, const ir::Node& node,
                                      std::span<const ir::ValueId> adjoints) {
  if (node.attributes.s("mode", "constant") != "constant")
    return repeating_pad_gradient(b, node, adjoints);
  const ir::ValueId x = node.inputs[0], pads = node.inputs[1];
  std::vector<ir::ValueId> result(node.inputs.size(), ir::ValueId::none);
  const ir::ValueId axes = has_input(node, 3) ? node.inputs[3] : ir::ValueId::none;
  auto removed = constant_integers(b, node, 1);
  if (removed)
    for (std::int64_t& n : *removed) n = -n;
  result[0] = b("pad", {adjoints[0], removed ? b.integers(*removed) : b("neg", {pads}),
                        ir::ValueId::none, axes});
  if (!has_input(node, 2)) return result;
  const ir::ValueId no = b("expand", {b.scalar(false), b("shape", {x})});
  const ir::ValueId added = b("pad", {no, pads, b.scalar(true), axes});
  const ir::ValueId zero = b.scalar(dtype_of(b, x), 0);
  const ir::ValueId sum = b("reduce_sum", {b("where", {added, adjoints[0], zero})},
                            {{"keepdims", 0}});
  result[2] = with_shape_of(b, sum, node.inputs[2]);
  return result;
}

const ir::OpEntry pad{{
    .name = "pad",
    .doc = "y = x with elements added before and after each axis",
    .inputs = {{"x"},
               {"pads"},
               {"constant_value", ir::InputDef::optional},
               {"axes", ir::InputDef::optional}},
    .attributes = {{"mode", std::string("constant")}},
    .type = pad_rule,
    .meaning = reading_elements(padded, {1}, padded_extents),
    .value_inputs = {1, 3},
    .program_values = {1, 3},
    .can_fail = unless_known({1, 3}),
    .gradient = pad_gradient,
}};

}  // namespace
}  // namespace rondel::ops
