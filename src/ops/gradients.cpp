#include "ops/gradients.h"

#include "base/axis.h"
#include "ops/sequences/sequence_gradients.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

using ir::ValueId;

/// Whether broadcasting repeated a tensor along an axis.
enum class Repeats { never, always, unknown };

Repeats repeats(const ir::Extent& from, const ir::Extent& to) {
  if (from == to || to == ir::Extent(1)) return Repeats::never;
  if (!from.known()) return Repeats::unknown;
  return from.value == 1 ? Repeats::always : Repeats::never;
}

/// The sum along an axis if the extent of `x` along its axis `own` is 1, which the types do not
/// tell: if not, nothing was repeated.
ValueId summed_if_one(ir::Builder& b, ValueId adjoint, std::int64_t axis, ValueId x,
                      std::int64_t own) {
  const ValueId is_one = b("equal", {extent_of(b, x, own), b.integers({1})});
  return b.if_(
      is_one,
      [&](ir::Builder& then) {
        return std::vector{reduce_kept(then, "reduce_sum", adjoint, {axis})};
      },
      [&](ir::Builder&) { return std::vector{adjoint}; })[0];
}

/// `summed_to` if a rank is not known: which axes were repeated is found at run time.
ValueId summed_where_repeated(ir::Builder& b, ValueId adjoint, ValueId x) {
  const ValueId from = b("shape", {x}), to = b("shape", {adjoint});
  const ValueId added = b("sub", {b("shape", {to}), b("shape", {from})});
  const ValueId ones = b("constant_of_shape", {added},
                         {{"value", Tensor::from<std::int64_t>({1}, {1})}});
  const ValueId aligned = b("concat", {ones, from}, {{"axis", 0}});
  const ValueId axes = b("squeeze",
                         {b("non_zero", {b("not", {b("equal", {aligned, to})})}), b.integers({0})});
  const ValueId sum = b("reduce_sum", {adjoint, axes},
                        {{"keepdims", 1}, {"noop_with_empty_axes", 1}});
  return b("reshape", {sum, from}, {{"allowzero", 1}});
}

/// The sums of the tensors at each position. If one of the sequences is a `lone_in_sequence`, whose
/// other tensors are zeros, only one position is added.
ValueId sum_of_sequences(ir::Builder& b, ValueId x, ValueId y) {
  const auto lone = [&](ValueId v) -> const ir::Node* {
    const ir::NodeId n = b.graph().value(v).producer;
    const bool is_lone = n != ir::NodeId::none && b.graph().node(n).op->name == "lone_in_sequence";
    return is_lone ? &b.graph().node(n) : nullptr;
  };
  if (lone(y) == nullptr) std::swap(x, y);
  if (const ir::Node* only = lone(y)) {
    const ValueId position = only->inputs[1], tensor = only->inputs[2];
    const ValueId sum = b("add", {b("sequence_at", {x, position}), tensor});
    return b("sequence_insert", {b("sequence_erase", {x, position}), sum, position});
  }
  return sequence_of(
      b, b("sequence_length", {x}), b.graph().value(x).type.dtype(),
      [x, y](ir::Builder& inner, ValueId i) {
        return inner("add", {inner("sequence_at", {x, i}), inner("sequence_at", {y, i})});
      });
}

/// An optional that holds the result of `f` if `like` holds a value, else an empty optional.
ValueId with_held(ir::Builder& b, ValueId like, const std::function<ValueId(ir::Builder&)>& f) {
  const ir::Type element = b.graph().value(like).type.element();
  return b.if_(
      b("optional_has_element", {like}),
      [&](ir::Builder& then) { return std::vector{then("optional", {f(then)})}; },
      [&](ir::Builder& otherwise) {
        return std::vector{otherwise("optional", {}, {{"type", element}})};
      })[0];
}

/// Zeros of dtype t with the shape of a tensor.
ValueId zeros_of_shape(ir::Builder& b, ValueId x, DType t) {
  const ValueId zeros = b("expand", {b.scalar(t, 0), b("shape", {x})});
  ir::Type& type = b.graph().value(zeros).type;
  type = ir::completed(type, with_dtype(b.graph().value(x).type, t));
  return zeros;
}

}  // namespace

std::vector<ValueId> zero_gradient(ir::Builder&, const ir::Node& node, std::span<const ValueId>) {
  return std::vector<ValueId>(node.inputs.size(), ValueId::none);
}

bool stops_flow(const ir::OpDef& op) {
  const auto* rule = op.gradient.target<decltype(&zero_gradient)>();
  return rule != nullptr && *rule == zero_gradient;
}

std::vector<ValueId> reshape_gradient(ir::Builder& b, const ir::Node& node,
                                      std::span<const ValueId> adjoints) {
  std::vector<ValueId> result(node.inputs.size(), ValueId::none);
  result[0] = with_shape_of(b, adjoints[0], node.inputs[0]);
  return result;
}

std::vector<ValueId> shared_among_ties(ir::Builder& b, const ir::Node& node,
                                       std::span<const ValueId> adjoints) {
  const DType t = dtype_of(b, adjoints[0]);
  std::vector<ValueId> equal, result;
  ValueId count = ValueId::none;
  for (const ValueId x : node.inputs) {
    equal.push_back(b("equal", {x, node.outputs[0]}));
    const ValueId one = as(b, equal.back(), t);
    count = count == ValueId::none ? one : b("add", {count, one});
  }
  const ValueId share = b("div", {adjoints[0], count}), zero = b.scalar(t, 0);
  for (std::size_t k = 0; k < equal.size(); ++k)
    result.push_back(summed_to(b, b("where", {equal[k], share, zero}), node.inputs[k]));
  return result;
}

ValueId summed_to(ir::Builder& b, ValueId adjoint, ValueId x) {
  const ir::Type from = b.graph().value(x).type, to = b.graph().value(adjoint).type;
  if (!from.has_rank() || !to.has_rank()) return summed_where_repeated(b, adjoint, x);
  const std::int64_t more = to.rank() - from.rank();
  ir::Ints repeated, added, perhaps;
  for (std::int64_t axis = 0; axis < to.rank(); ++axis) {
    const std::int64_t own = axis - more;
    const Repeats how = own < 0 ? Repeats::always : repeats(from.extent(own), to.extent(axis));
    if (how == Repeats::unknown) perhaps.push_back(axis);
    if (how == Repeats::always) repeated.push_back(axis);
    if (own < 0) added.push_back(axis);
  }
  ValueId sum = adjoint;
  if (!repeated.empty()) sum = reduce_kept(b, "reduce_sum", sum, repeated);
  for (const std::int64_t axis : perhaps) sum = summed_if_one(b, sum, axis, x, axis - more);
  return added.empty() ? sum : b("squeeze", {sum, b.integers(added)});
}

ValueId zeros_like(ir::Builder& b, ValueId x) {
  const ir::Type type = b.graph().value(x).type;
  if (type.is_sequence()) {
    return sequence_of(b, b("sequence_length", {x}), type.dtype(),
                       [x](ir::Builder& inner, ValueId i) {
                         return zeros_like(inner, inner("sequence_at", {x, i}));
                       });
  }
  if (type.is_optional())
    return with_held(b, x, [x](ir::Builder& held) {
      return zeros_like(held, held("optional_get_element", {x}));
    });
  return zeros_of_shape(b, x, dtype_of(b, x));
}

ValueId wide_zeros_like(ir::Builder& b, ValueId x) {
  return zeros_of_shape(b, x, scalar::compute_type(dtype_of(b, x)));
}

namespace {

bool is_filled_with_zeros(const ir::Graph& g, ValueId v) {
  const ir::NodeId n = g.value(v).producer;
  if (n == ir::NodeId::none || g.node(n).op->name != "expand") return false;
  const Tensor* value = g.constant(g.node(n).inputs[0]);
  if (value == nullptr || value->size() != 1) return false;
  const std::span bytes(static_cast<const std::byte*>(value->data()), byte_size(value->dtype()));
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

/// Whether the node gives its first operand with terms added to some of its elements.
bool adds_terms(const ir::Node& node) {
  return node.op->scatters && node.attributes.s("reduction", "none") == "add";
}

/// x + y, where y is zeros to which terms are added at some positions: the terms are added to x.
/// None, and nothing is built, if y is something else, or others read it: `reads` uses are its own,
/// none of the whole sum, one of each part of it.
ValueId added_at_positions(ir::Builder& b, ValueId x, ValueId y, std::size_t reads = 0) {
  const ir::Graph& g = b.graph();
  if (is_filled_with_zeros(g, y)) return x;
  const ir::NodeId n = g.value(y).producer;
  if (n == ir::NodeId::none || g.node(n).region != b.region() || g.value(y).uses.size() > reads ||
      !adds_terms(g.node(n)))
    return ValueId::none;
  std::vector<ValueId> operands = g.node(n).inputs;
  ir::Attributes attributes = g.node(n).attributes;
  operands[0] = added_at_positions(b, x, operands[0], 1);
  if (operands[0] == ValueId::none) return ValueId::none;
  return b(g.node(n).op->name, std::move(operands), std::move(attributes));
}

}  // namespace

ValueId sum_of_adjoints(ir::Builder& b, ValueId x, ValueId y) {
  const ir::Type type = b.graph().value(x).type;
  if (type.is_sequence()) return sum_of_sequences(b, x, y);
  if (type.is_optional())
    return with_held(b, x, [x, y](ir::Builder& held) {
      return sum_of_adjoints(held, held("optional_get_element", {x}),
                             held("optional_get_element", {y}));
    });
  if (const ValueId sum = added_at_positions(b, x, y); sum != ValueId::none) return sum;
  if (const ValueId sum = added_at_positions(b, y, x); sum != ValueId::none) return sum;
  return b("add", {x, y});
}

ValueId with_shape_of(ir::Builder& b, ValueId x, ValueId like) {
  return b("reshape", {x, b("shape", {like})}, {{"allowzero", 1}});
}

ValueId integer_at(ir::Builder& b, ValueId list, std::int64_t k) {
  if (const Tensor* known = b.graph().constant(list))
    return b.integers({ir::integers_of(*known).at(static_cast<std::size_t>(k))});
  return b("slice",
           {as(b, list, DType::i64), b.integers({k}), b.integers({k + 1}), b.integers({0})});
}

ValueId sum_of_integers(ir::Builder& b, ValueId x, ValueId y) {
  const Tensor *first = b.graph().constant(x), *second = b.graph().constant(y);
  if (first == nullptr || second == nullptr) return b("add", {x, y});
  return b.integers({ir::integers_of(*first).front() + ir::integers_of(*second).front()});
}

ValueId joined_integers(ir::Builder& b, std::span<const ValueId> lists) {
  const auto known = [&](ValueId v) { return b.graph().constant(v); };
  if (!std::ranges::all_of(lists, known))
    return b("concat", {lists.begin(), lists.end()}, {{"axis", 0}});
  ir::Ints all;
  for (const ValueId v : lists) {
    const ir::Ints list = ir::integers_of(*known(v));
    all.insert(all.end(), list.begin(), list.end());
  }
  return b.integers(std::move(all));
}

ValueId iota(ir::Builder& b, ValueId count) {
  const Tensor* known = b.graph().constant(count);
  const ValueId limit = known != nullptr ? b.scalar(ir::integers_of(*known).front())
                                         : b("squeeze", {count, b.integers({0})});
  return b("range", {b.scalar(std::int64_t{0}), limit, b.scalar(std::int64_t{1})});
}

std::optional<ir::Ints> constant_integers(const ir::Builder& b, const ir::Node& node,
                                          std::size_t k) {
  const Tensor* known = has_input(node, k) ? b.graph().constant(node.inputs[k]) : nullptr;
  if (known == nullptr) return std::nullopt;
  return ir::integers_of(*known);
}

std::int64_t axis_from_end(const ir::Builder& b, ValueId x, std::int64_t axis) {
  const ir::Type& type = b.graph().value(x).type;
  if (axis >= 0 && !type.has_rank())
    unsupported("the gradient along axis {} of a tensor of unknown rank; a negative one?", axis);
  return axis < 0 ? axis : axis - type.rank();
}

ValueId shape_with_extent(ir::Builder& b, ValueId x, std::int64_t axis, ValueId extent) {
  std::vector<ValueId> parts{b("shape", {x}, {{"end", axis}}), extent};
  if (axis < -1) parts.push_back(b("shape", {x}, {{"start", axis + 1}}));
  return b("concat", std::move(parts), {{"axis", 0}});
}

ValueId scatter_adjoint(ir::Builder& b, ValueId adjoint, ValueId x, const ir::Ints& axes,
                        std::span<const ValueId> positions) {
  const DType own = dtype_of(b, x);
  adjoint = wide_value(b, adjoint);
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const ValueId shape = shape_with_extent(b, adjoint, axes[k], extent_of(b, x, axes[k]));
    const ValueId zeros = b("expand", {b.scalar(dtype_of(b, adjoint), 0), shape});
    ir::Ints along(static_cast<std::size_t>(-axes[k]), 1);
    along[0] = -1;
    const ValueId places = b(
        "expand", {b("reshape", {positions[k], b.integers(along)}), b("shape", {adjoint})});
    adjoint = b("scatter_elements", {zeros, places, adjoint},
                {{"axis", axes[k]}, {"reduction", "add"}});
  }
  return as(b, adjoint, own);
}

ValueId scatter_to_positions(ir::Builder& b, ValueId adjoint, ValueId x, ValueId positions) {
  const auto flat = [&b](ValueId v) { return b("reshape", {v, b.integers({-1})}); };
  const ValueId zeros = flat(wide_zeros_like(b, x)), terms = flat(wide_value(b, adjoint));
  const ValueId sums = b("scatter_elements", {zeros, flat(positions), terms},
                         {{"axis", 0}, {"reduction", "add"}});
  return as(b, with_shape_of(b, sums, x), dtype_of(b, x));
}

ValueId scatter_by_positions(ir::Builder& b, ValueId adjoint, ValueId x,
                             const std::function<ValueId(ValueId)>& take) {
  const ValueId size = b("reshape", {b("size", {x}), b.integers({1})});
  return scatter_to_positions(b, adjoint, x, take(with_shape_of(b, iota(b, size), x)));
}

}  // namespace rondel::ops
