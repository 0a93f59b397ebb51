#include "base/error.h"
#include "kernels/fourier.h"
#include "ops/gradients.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

using ir::ValueId;

bool is_inverse(const ir::Attributes& a) { return a.flag("inverse"); }
bool is_onesided(const ir::Attributes& a) { return a.flag("onesided"); }

/// The number of elements of the transform: the given length, else what x has along the axis.
ir::Integer transform_length(const ir::TypeContext& c, const ir::Extent& in) {
  if (!c.has(1)) {
    const ir::Integer n(in);
    return is_inverse(c.attributes()) && is_onesided(c.attributes()) ? (n - 1) * 2 : n;
  }
  const auto listed = c.elements(1);
  return listed && listed->size() == 1 ? listed->front() : ir::Integer();
}

/// The extent of the result along the axis.
ir::Extent result_extent(const ir::TypeContext& c, const ir::Extent& in) {
  const ir::Integer n = transform_length(c, in);
  if (n.number)
    require(*n.number >= 1, "a transform of {} elements; expected 1 or more", *n.number);
  if (!is_onesided(c.attributes()) || is_inverse(c.attributes())) return ir::Extent(n);
  return n.number ? ir::Extent(*n.number / 2 + 1) : ir::Extent();
}

void dft_rule(ir::TypeContext& c) {
  require_dtypes(c, 0, float_dtypes());
  if (c.has(1)) {
    static constexpr DType lengths[] = {DType::i32, DType::i64};
    require_dtypes(c, 1, lengths);
    require_scalar(c, 1);
  }
  if (c.has(2)) {
    require_dtype(c, 2, DType::i64);
    require_scalar(c, 2);
  }
  const ir::Type& x = c.input(0);
  if (!x.has_rank()) return c.output(0, x);
  require(x.rank() >= 2, "input 0 is {}; expected [signal..., 1 or 2]", to_text(x));
  const ir::Extent& parts = x.extent(x.rank() - 1);
  require(!parts.known() || parts.value == 1 || parts.value == 2,
          "the last axis of {} has {} elements; expected 1 (real numbers) or 2 (complex ones)",
          to_text(x), parts.value);
  ir::Extents out = x.extents();
  out.back() = is_inverse(c.attributes()) && is_onesided(c.attributes()) ? 1 : 2;
  const auto axis = c.has(2) ? c.integers(2) : std::optional(ir::Ints{-2});
  if (!axis) {
    for (std::size_t a = 0; a + 1 < out.size(); ++a) out[a] = ir::Extent();
    return c.output(0, ir::Type::tensor(x.dtype(), std::move(out)));
  }
  const std::int64_t along = normal_axis(axis->front(), x.rank());
  require(along < x.rank() - 1, "axis {} holds the real and imaginary parts; expected another one",
          axis->front());
  out[static_cast<std::size_t>(along)] = result_extent(c, x.extent(along));
  c.output(0, ir::Type::tensor(x.dtype(), std::move(out)));
}

SizedKernelMeaning::Kernel prepare_dft(const ir::Node& node, std::span<const ir::Type> inputs) {
  const DType length = has_input(node, 1) ? inputs[1].dtype() : DType::i64;
  return kernels::fourier({is_inverse(node.attributes), is_onesided(node.attributes)},
                          inputs[0].dtype(), length, static_cast<std::size_t>(inputs[0].rank()));
}

/// The adjoint of a transform is a transform in the other direction.
class AdjointTransform {
 public:
  AdjointTransform(ir::Builder& b, const ir::Node& node, ValueId dy)
      : b_(b), node_(node), x_(node.inputs[0]), dy_(dy) {
    const auto axis = has_input(node, 2) ? constant_integers(b, node, 2)
                                         : std::optional(ir::Ints{-2});
    if (!axis) unsupported("the gradient of a transform along an axis that is not a constant");
    if (!b.graph().value(x_).type.has_rank())
      unsupported("the gradient of a transform of a tensor of unknown rank");
    axis_ = axis_from_end(b, x_, axis->front());
    n_ = length();
  }

  ValueId run() const {
    const bool inverse = is_inverse(node_.attributes), onesided = is_onesided(node_.attributes);
    ValueId dx = ValueId::none;
    if (!inverse) {
      // What is left out of the spectrum has the adjoint 0.
      const ValueId whole = onesided ? resized(dy_, n_) : dy_;
      dx = b_("mul", {transformed(whole, true, false), number()});
    } else {
      dx = b_("div", {transformed(dy_, false, onesided), number()});
      if (onesided) dx = b_("mul", {dx, multiplicities()});
    }
    return real_parts(resized(dx, extent_of(b_, x_, axis_)));
  }

 private:
  ValueId transformed(ValueId v, bool inverse, bool onesided) const {
    return b_("dft", {v, ValueId::none, b_.scalar(axis_)},
              {{"inverse", std::int64_t{inverse}}, {"onesided", std::int64_t{onesided}}});
  }
  /// The length of the transform, i64[1].
  ValueId length() const {
    const bool onesided = is_onesided(node_.attributes);
    if (has_input(node_, 1))
      return b_("reshape", {as(b_, node_.inputs[1], DType::i64), b_.integers({1})});
    return onesided && is_inverse(node_.attributes) ? extent_of(b_, dy_, axis_)
                                                    : extent_of(b_, x_, axis_);
  }
  ValueId number() const { return as(b_, n_, dtype_of(b_, x_)); }

  /// `v` cut, or continued with zeros, to `extent` along the axis.
  ValueId resized(ValueId v, ValueId extent) const {
    const ValueId zeros = b_(
        "expand", {b_.scalar(dtype_of(b_, v), 0), shape_with_extent(b_, v, axis_, extent)});
    const ValueId longer = b_("concat", {v, zeros}, {{"axis", axis_}});
    return b_("slice", {longer, b_.integers({0}), extent, b_.integers({axis_})});
  }
  /// How often each number of the first half stands in the whole spectrum: 2, but 1 for the first
  /// and, if n is even, for the last.
  ValueId multiplicities() const {
    const ValueId k = iota(b_, extent_of(b_, transformed(dy_, false, true), axis_));
    const ValueId own = b_("mod", {b_("mul", {k, b_.scalar<std::int64_t>(2)}), n_});
    const ValueId single = b_("equal", {own, b_.scalar<std::int64_t>(0)});
    const DType t = dtype_of(b_, x_);
    ir::Ints shape(static_cast<std::size_t>(-axis_), 1);
    shape.front() = -1;
    return b_("reshape",
              {b_("where", {single, b_.scalar(t, 1), b_.scalar(t, 2)}), b_.integers(shape)});
  }
  /// Only the real parts, if x has only those.
  ValueId real_parts(ValueId v) const {
    return b_("slice", {v, b_.integers({0}), extent_of(b_, x_, -1), b_.integers({-1})});
  }

  ir::Builder& b_;
  const ir::Node& node_;
  const ValueId x_, dy_;
  std::int64_t axis_ = -2;
  ValueId n_ = ValueId::none;
};

std::vector<ValueId> dft_gradient(ir::Builder& b, const ir::Node& node,
                                  std::span<const ValueId> adjoints) {
  std::vector<ValueId> result(node.inputs.size(), ValueId::none);
  result[0] = AdjointTransform(b, node, adjoints[0]).run();
  return result;
}

const ir::OpEntry dft{{
    .name = "dft",
    .doc = "y = the discrete Fourier transform of x along an axis, in either direction; the last "
           "axis holds real numbers, or real and imaginary parts",
    .inputs = {{"x"}, {"dft_length", ir::InputDef::optional}, {"axis", ir::InputDef::optional}},
    .attributes = {{"inverse", 0}, {"onesided", 0}},
    .type = dft_rule,
    .meaning = kernel(prepare_dft),
    .value_inputs = {1, 2},
    .can_fail = unless_constant({1, 2}),
    .gradient = dft_gradient,
}};

}  // namespace
}  // namespace rondel::ops
