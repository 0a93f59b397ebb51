#include "exporters/onnx/decompositions.h"

#include "base/axis.h"
#include "base/error.h"
#include "ir/infer.h"
#include "ir/permutation.h"
#include "ops/compose.h"

#include <algorithm>
#include <limits>

namespace rondel::exporters {
namespace {

using ir::Graph;
using ir::ValueId;
using Values = std::vector<ValueId>;

constexpr std::int64_t to_the_end = std::numeric_limits<std::int64_t>::max();

/// A branch that returns x.
ir::Builder::Branch same(ValueId x) {
  return [x](ir::Builder& b) { return Values{b("identity", {x})}; };
}

/// `convert` and `convert_text` are the two halves of Cast.
Values cast(ir::Builder& b, const ir::Node& n) {
  ir::Attributes how{{"to", *n.attributes.find("to")}};
  for (const char* name : {"saturate", "round_mode"})
    if (const ir::Attribute* a = n.attributes.find(name)) how.set(name, *a);
  return b.add("cast", n.inputs, how);
}

/// ONNX's Cast wraps a number that does not fit into int32; our op fails.
Values cast_to_int32(ir::Builder& b, const ir::Node& n) {
  return b.add("cast", n.inputs, {{"to", ir::Type::scalar(DType::i32)}});
}

/// Mul and Add round twice instead of once. The passes fuse them again if the model is read back.
Values multiply_and_add(ir::Builder& b, const ir::Node& n) {
  return {b("add", {b("mul", {n.inputs[0], n.inputs[1]}), n.inputs[2]})};
}

/// ONNX does not specify how a value is stored.
Values as_it_is(ir::Builder& b, const ir::Node& n) { return {b("identity", {n.inputs[0]})}; }

/// Asserts equal extents: reshapes x to its own shape with its extent replaced by that of each
/// other input. The Reshape fails if the extents differ.
Values reshape_to_extents(ir::Builder& b, const ir::Node& n) {
  const ir::Ints axes = n.attributes.ints("axes");
  const ValueId x = n.inputs[0], zero = b.integers({0});
  const ValueId shape = b("shape", {x});
  const auto part = [&](std::int64_t from, std::int64_t to) {
    return b("slice", {shape, b.integers({from}), b.integers({to}), zero});
  };
  ValueId y = x;
  for (std::size_t k = 1; k < n.inputs.size(); ++k) {
    const ValueId extent = b("gather", {b("shape", {n.inputs[k]}), b.integers({axes[k]})});
    const ValueId wanted = b(
        "concat",
        {part(0, axes[0]), extent, part(axes[0] == -1 ? to_the_end : axes[0] + 1, to_the_end)},
        {{"axis", 0}});
    y = b("reshape", {y, wanted}, {{"allowzero", 1}});
  }
  return {y};
}

/// Gathers from 0, 1, ..., most. Larger indices are an error; negative lengths are replaced by an
/// index beyond the end.
Values look_up(ir::Builder& b, const ir::Node& n) {
  const ValueId lengths = n.inputs[0], zero = b.scalar<std::int64_t>(0),
                one = b.scalar<std::int64_t>(1);
  const ValueId beyond = b("add", {n.inputs[1], one});
  const ValueId at = b("where", {b("less", {lengths, zero}), beyond, lengths});
  return {b("gather", {b("range", {zero, beyond, one}), at})};
}

/// Gathers from a list of one element; the index is the number of elements out of bounds.
Values look_up_first(ir::Builder& b, const ir::Node& n) {
  const ValueId below = b("less", {n.inputs[0], b.scalar(n.attributes.i("least"))});
  const ValueId out = b("or", {below, b("greater", n.inputs)});
  const ValueId each = b("cast", {out}, {{"to", ir::Type::scalar(DType::i64)}});
  const ValueId count = b("reduce_sum", {each}, {{"keepdims", std::int64_t{0}}});
  return {b("gather", {b("unsqueeze", {n.inputs[0], b.integers({0})}), count})};
}

/// Gathers along each axis. Negative positions and negative sizes are replaced by an index beyond
/// any extent.
Values gather_each_axis(ir::Builder& b, const ir::Node& n) {
  const ValueId zero = b.scalar<std::int64_t>(0), one = b.scalar<std::int64_t>(1),
                beyond = b.scalar(to_the_end);
  const ir::Ints axes = n.attributes.ints("axes");
  ValueId y = n.inputs[0];
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const auto element = [&](std::size_t list) {
      return b("gather", {n.inputs[list], b.scalar(static_cast<std::int64_t>(k))});
    };
    const ValueId size = element(2), negative = b("less", {size, zero});
    const ValueId i = b("range", {zero, b("where", {negative, one, size}), one});
    const ValueId at = b("add", {element(1), b("mul", {i, element(3)})});
    const ValueId wrong = b("or", {negative, b("less", {at, zero})});
    y = b("gather", {y, b("where", {wrong, beyond, at})}, {{"axis", axes[k]}});
  }
  return {y};
}

/// Replaces ArrayFeatureExtractor of ai.onnx.ml, which takes few dtypes. Its indices are one list,
/// and for a vector it returns a row.
Values gather_last_axis(ir::Builder& b, const ir::Node& n) {
  const ir::Type x = b.graph().value(n.inputs[0]).type;
  const ValueId list = b("reshape", {n.inputs[1], b.integers({-1})});
  const ValueId y = b("gather", {n.inputs[0], list}, {{"axis", std::int64_t{-1}}});
  const auto row = [&](ir::Builder& then) {
    return Values{then("unsqueeze", {y, then.integers({0})})};
  };
  if (x.has_rank()) return x.rank() == 1 ? row(b) : Values{y};
  const ValueId rank = b("size", {b("shape", {y})});
  return b.if_(b("less", {rank, b.scalar<std::int64_t>(2)}), row, same(y));
}

/// Shape before version 15 returns all extents.
Values slice_of_shape(ir::Builder& b, const ir::Node& n) {
  const ValueId whole = b("shape", n.inputs);
  return {b("slice", {whole, b.integers({n.attributes.i("start")}),
                      b.integers({n.attributes.i("end")}), b.integers({0})})};
}

/// Split before version 18 supports unequal parts only if the lengths are given.
Values split_by_lengths(ir::Builder& b, const ir::Node& n) {
  const ir::Type& x = b.graph().value(n.inputs[0]).type;
  if (!x.has_rank() || n.inputs.size() > 1) return {};
  const std::int64_t axis = n.attributes.i("axis", 0);
  const ir::Extent& e = x.extent(axis_from_front(axis, x.rank()));
  if (!e.known()) return {};
  const auto parts = static_cast<std::int64_t>(n.outputs.size());
  const std::int64_t each = (e.value + parts - 1) / parts;
  ir::Ints lengths;
  for (std::int64_t j = 0; j < parts; ++j)
    lengths.push_back(std::clamp<std::int64_t>(e.value - j * each, 0, each));
  return b.add("split", {n.inputs[0], b.integers(lengths)}, {{"axis", axis}}, n.outputs.size());
}

/// Pad before version 18 takes pads for every axis.
Values pad_every_axis(ir::Builder& b, const ir::Node& n) {
  if (!ir::has_input(n, 3)) return {};
  const Graph& g = b.graph();
  const ir::Type& x = g.value(n.inputs[0]).type;
  const Tensor *pads = g.constant(n.inputs[1]), *axes = g.constant(n.inputs.at(3));
  if (!x.has_rank() || pads == nullptr || axes == nullptr) return {};
  const ir::Ints given = ir::integers_of(*pads), named = ir::integers_of(*axes);
  const auto rank = static_cast<std::size_t>(x.rank());
  ir::Ints all(2 * rank, 0);
  for (std::size_t k = 0; k < named.size(); ++k) {
    const auto axis = static_cast<std::size_t>(axis_from_front(named[k], x.rank()));
    all[axis] = given[k];
    all[rank + axis] = given[named.size() + k];
  }
  Values inputs{n.inputs[0], b.integers(all), n.inputs[2]};
  if (n.inputs[2] == ValueId::none) inputs.pop_back();
  return b.add("pad", inputs, n.attributes);
}

/// TensorScatter begins in opset 24. Positions that do not fit are replaced by an index beyond any
/// extent.
Values scatter_along_axis(ir::Builder& b, const ir::Node& n) {
  const ir::Type x = b.graph().value(n.inputs[0]).type;
  if (!x.has_rank()) return {};
  const std::int64_t axis = axis_from_front(n.attributes.i("axis", -2), x.rank());
  const auto along = [&](ValueId list, std::int64_t a) {
    ir::Ints shape(static_cast<std::size_t>(x.rank()), 1);
    shape[static_cast<std::size_t>(a)] = -1;
    return b("reshape", {list, b.integers(shape)});
  };
  const auto extent = [&](ValueId v) { return b("gather", {b("shape", {v}), b.scalar(axis)}); };
  const ValueId zero = b.scalar<std::int64_t>(0), one = b.scalar<std::int64_t>(1);
  ValueId at = along(b("range", {zero, extent(n.inputs[1]), one}), axis);
  if (ir::has_input(n, 2)) {
    ValueId first = along(n.inputs[2], 0);
    const bool circular = n.attributes.s("mode", "linear") == "circular";
    const ValueId extent_or_one = b("max", {extent(n.inputs[0]), one});
    if (circular) first = b("mod", {first, extent_or_one});
    at = b("add", {first, at});
    at = circular ? b("mod", {at, extent_or_one})
                  : b("where", {b("less", {first, zero}), b.scalar(to_the_end), at});
  }
  at = b("expand", {at, b("shape", {n.inputs[1]})});
  return {b("scatter_elements", {n.inputs[0], at, n.inputs[1]}, {{"axis", axis}})};
}

/// Swaps the last two axes; a vector stays as it is.
ValueId matrix_transposed(ir::Builder& b, ValueId x) {
  const ir::Type t = b.graph().value(x).type;
  if (t.has_rank()) {
    if (t.rank() < 2) return x;
    return b("transpose", {x}, {{"perm", ir::last_axes_swapped(t.rank())}});
  }
  const ValueId rank = b("size", {b("shape", {x})});
  const auto exchanged = [&](ir::Builder& otherwise) {
    return Values{otherwise("einsum", {x}, {{"equation", std::string("...ij->...ji")}})};
  };
  return b.if_(b("less", {rank, b.scalar<std::int64_t>(2)}), same(x), exchanged)[0];
}

/// Our matrix product has flags for transposed operands; ONNX's has none.
Values transpose_then_multiply(ir::Builder& b, const ir::Node& n) {
  const auto operand = [&](std::size_t k, const char* flag) {
    return n.attributes.flag(flag) ? matrix_transposed(b, n.inputs[k]) : n.inputs[k];
  };
  return b.add("mat_mul", {operand(0, "transpose_a"), operand(1, "transpose_b")});
}

/// Reshape before version 14 reads a 0 in the shape as an extent of x. If the shape has one, x must
/// be empty, which the Gather asserts, and so is the result.
Values reshape_if_not_empty(ir::Builder& b, const ir::Node& n) {
  const ValueId x = n.inputs[0], shape = n.inputs[1];
  const DType t = ops::dtype_of(b, x);
  if (!n.attributes.flag("allowzero") || is_complex(t)) return {};
  const auto empty = [&](ir::Builder& then) {
    const ValueId list = then("unsqueeze", {shape, then.integers({0})});
    const ValueId extents = then("gather", {list, then("size", {x})});
    return Values{ops::as(then, then("constant_of_shape", {extents}), t)};
  };
  const auto reshaped = [&](ir::Builder& otherwise) {
    return Values{otherwise("reshape", {x, shape})};
  };
  const auto has_zero = [](const auto& extents) { return std::ranges::count(extents, 0) > 0; };
  if (const Tensor* list = b.graph().constant(shape))
    return has_zero(ir::integers_of(*list)) ? empty(b) : Values{};
  const ir::Type& y = b.graph().value(n.outputs[0]).type;
  if (y.is_static()) return has_zero(y.static_shape()) ? empty(b) : Values{};
  const ValueId count = b("reduce_prod", {shape}, {{"keepdims", std::int64_t{0}}});
  return b.if_(b("equal", {count, b.scalar<std::int64_t>(0)}), empty, reshaped);
}

Values reshape_to_scalar(ir::Builder& b, const ir::Node& n) {
  return {b("reshape", {n.inputs[0], b.integers({})})};
}

/// ONNX's EyeLike restricts the dtype of its input, although it uses the shape only.
Values eye_of_shape(ir::Builder& b, const ir::Node& n) {
  return b.add("eye_like", {b("constant_of_shape", {b("shape", {n.inputs[0]})})}, n.attributes);
}

Values normalization(ir::Builder& b, const ir::Node& n) {
  return b.add("batch_normalization", n.inputs, n.attributes);
}

/// For combinations of dtypes that ONNX's op does not take. In training mode the op is decomposed
/// by its definition instead.
Values normalization_in_parts(ir::Builder& b, const ir::Node& n) {
  if (n.attributes.flag("training_mode")) return {};
  const ir::Type type = b.graph().value(n.inputs[0]).type;
  if (!type.has_rank()) unsupported("batch normalization of a tensor of unknown rank");
  const ValueId x = ops::wide_value(b, n.inputs[0]);
  const DType t = ops::dtype_of(b, x);
  ir::Ints shape(static_cast<std::size_t>(type.rank()), 1);
  if (type.rank() > 1) shape[1] = -1;
  const auto list = [&](std::size_t k) {
    return b("reshape", {ops::as(b, n.inputs[k], t), b.integers(shape)});
  };
  const ValueId epsilon = b.scalar(t, n.attributes.f("epsilon", 1e-5));
  const ValueId deviation = b("sqrt", {b("add", {list(4), epsilon})});
  const ValueId normal = b("div", {b("sub", {x, list(3)}), deviation});
  const ValueId y = b("add", {b("mul", {normal, list(1)}), list(2)});
  return {ops::as(b, y, type.dtype())};
}

/// Activations by their formulas, in the order of the ops' own, so that the results are the same.
/// The tanh approximation is left out: its sum of products is fused when the model is read back.
Values gelu(ir::Builder& b, const ir::Node& n) {
  if (n.attributes.s("approximate", "none") != "none") return {};
  const ValueId x = ops::wide_value(b, n.inputs[0]);
  const DType t = ops::dtype_of(b, x);
  const ValueId half = b("mul", {b.scalar(t, 0.5), x});
  const ValueId bend = b("erf", {b("mul", {b.scalar(t, 0.70710678118654752440), x})});
  const ValueId y = b("mul", {half, b("add", {b.scalar(t, 1), bend})});
  return {ops::as(b, y, b.graph().value(n.inputs[0]).type.dtype())};
}

Values mish(ir::Builder& b, const ir::Node& n) {
  const ValueId x = ops::wide_value(b, n.inputs[0]);
  const ValueId y = b("mul", {x, b("tanh", {b("softplus", {x})})});
  return {ops::as(b, y, b.graph().value(n.inputs[0]).type.dtype())};
}

Values swish(ir::Builder& b, const ir::Node& n) {
  const ValueId x = ops::wide_value(b, n.inputs[0]);
  const ValueId alpha = b.scalar(ops::dtype_of(b, x), n.attributes.f("alpha", 1));
  const ValueId y = b("mul", {x, b("sigmoid", {b("mul", {alpha, x})})});
  return {ops::as(b, y, b.graph().value(n.inputs[0]).type.dtype())};
}

Values less_or_equal(ir::Builder& b, const ir::Node& n) {
  return {b("or", {b("less", n.inputs), b("equal", n.inputs)})};
}

Values greater_or_equal(ir::Builder& b, const ir::Node& n) {
  return {b("or", {b("greater", n.inputs), b("equal", n.inputs)})};
}

Values einsum(ir::Builder& b, const ir::Node& n) { return b.add("einsum", n.inputs, n.attributes); }

struct Row {
  std::string_view op;
  Values (*write)(ir::Builder&, const ir::Node&);
};
constexpr Row rows[] = {
    {"convert", cast},
    {"convert_text", cast},
    {"checked_int32", cast_to_int32},
    {"fma", multiply_and_add},
    {"row_major", as_it_is},
    {"stop_gradient", as_it_is},
    {"same_extent", reshape_to_extents},
    {"checked_length", look_up},
    {"bounded", look_up_first},
    {"strict_slice", gather_each_axis},
    {"array_feature_extractor", gather_last_axis},
    {"tree_scores", tree_ensemble},
    {"key_position", encode_positions},
    {"text_position", encode_positions},
    {"tensor_scatter", scatter_along_axis},
    {"shape", slice_of_shape},
    {"split", split_by_lengths},
    {"pad", pad_every_axis},
    {"mat_mul", transpose_then_multiply},
    {"one_element", reshape_to_scalar},
    {"reshape", reshape_if_not_empty},
    {"einsum_sum", einsum},
    {"channel_normalization", normalization},
    {"batch_normalization", normalization_in_parts},
    {"eye_like", eye_of_shape},
    {"gelu", gelu},
    {"mish", mish},
    {"swish", swish},
    {"less_or_equal", less_or_equal},
    {"greater_or_equal", greater_or_equal},
    {"equal", equal_complex},
    {"sum", sum_as_adds},
    {"relu", relu_of_unsigned},
    {"pow", integer_power},
    {"range", range_of_scalars},
    {"mod", floored_remainder},
    {"reduce_mean", integer_mean},
    {"max_pool", max_pool_of_int64},
    {"scatter_elements", sequential_scatter},
    {"scatter_nd", sequential_scatter},
    {"quantize_linear", quantize},
    {"dequantize_linear", dequantize},
    {"neighbour_sum", add_neighbours},
    {"sum_of_windows", scatter_windows},
    {"random_key", derive_random_key},
    {"uniform", uniform_draw},
    {"normal", normal_draw},
    {"sampled_index", index_draw},
};

const Row* find_row(std::string_view op) {
  for (const Row& r : rows)
    if (r.op == op) return &r;
  return nullptr;
}

}  // namespace

Values decompose(ir::Builder& b, const ir::Node& n) {
  if (const Row* r = find_row(n.op->name))
    if (Values v = r->write(b, n); !v.empty()) return v;
  if (const auto* composite = ops::meaning_as<ops::Composite>(*n.op)) return composite->fn(b, n);
  return {};
}

ValueId reshape_like(ir::Builder& b, ValueId list, ValueId x) {
  const ir::Type t = b.graph().value(x).type;
  const ValueId shape = t.is_static() ? b.integers(t.static_shape()) : b("shape", {x});
  return b("reshape", {list, shape}, {{"allowzero", std::int64_t{1}}});
}

bool has_decomposition(std::string_view op) { return find_row(op) != nullptr; }

}  // namespace rondel::exporters
