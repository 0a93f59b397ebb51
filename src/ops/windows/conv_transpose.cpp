#include "base/error.h"
#include "ops/gradients.h"
#include "ops/type_rules.h"
#include "ops/windows/transposed_axis.h"
#include "ops/windows/window_gradients.h"
#include "ops/windows/windows.h"

#include <algorithm>
#include <numeric>

namespace rondel::ops {
namespace {

using ir::Extent;
using ir::Ints;
using ir::Type;
using ir::ValueId;

void check_transposed_window(const ir::Attributes& a, std::size_t spatial) {
  check(window_spec(a), spatial);
  for (const char* list : {"output_padding", "output_shape"}) {
    const Ints given = a.ints(list);
    // output_shape may also list the batch and the channels.
    const std::size_t more = std::string_view(list) == "output_shape" && given.size() > spatial ? 2
                                                                                                : 0;
    require(given.empty() || given.size() == spatial + more, "{} has {} elements; expected {}",
            list, given.size(), spatial);
    for (const std::int64_t n : given)
      require(n >= 0 && n <= std::int64_t{1} << 31, "{} has {}; expected 0 or more", list, n);
  }
}

void conv_transpose_rule(ir::TypeContext& c) {
  for (std::size_t k = 0; k < c.input_count(); ++k)
    if (c.has(k)) require_same_dtype(c, 0, k);
  const Type &x = c.input(0), &w = c.input(1);
  if (c.has(2)) require_rank(c, 2, 1);
  if (!x.has_rank() && !w.has_rank()) return c.output(0, Type::unranked(x.dtype()));
  const std::int64_t rank = x.has_rank() ? x.rank() : w.rank();
  require(rank >= 2, "input 0 is {}; expected [n, channels, spatial...]", to_text(x));
  require_rank(c, 0, rank);
  require_rank(c, 1, rank);
  const ir::Attributes& a = c.attributes();
  check_transposed_window(a, static_cast<std::size_t>(rank - 2));
  const std::int64_t groups = a.i("group", 1);
  require(groups >= 1, "group is {}; expected 1 or more", groups);
  if (!x.has_rank() || !w.has_rank()) return c.output(0, Type::ranked(x.dtype(), rank));
  const Extent &channels = x.extent(1), &kernels = w.extent(0);
  require(!channels.known() || !kernels.known() || channels.value == kernels.value,
          "x has {} channels; w expects {}", channels.value, kernels.value);
  require(!channels.known() || channels.value % groups == 0,
          "x has {} channels, which {} groups do not divide", channels.value, groups);
  const Extent maps = w.extent(1).known() ? Extent(w.extent(1).value * groups)
                                          : Extent(ir::Integer(w.extent(1)) * groups);
  if (c.has(2) && c.input(2).has_rank()) {
    const Extent& n = c.input(2).extent(0);
    require(!n.known() || !maps.known() || n.value == maps.value,
            "bias has {} elements for {} channels", n.value, maps.value);
  }
  ir::Extents out{x.extent(0), maps};
  for (std::int64_t axis = 2; axis < rank; ++axis) {
    const TransposedAxis t = transposed_axis(a, static_cast<std::size_t>(axis - 2),
                                             static_cast<std::size_t>(rank - 2), w.extent(axis));
    require(t.output_padding < std::max(t.stride, t.dilation),
            "output_padding has {}; expected less than the stride or the dilation, {}",
            t.output_padding, std::max(t.stride, t.dilation));
    const ir::Integer extent = t.result(x.extent(axis));
    require(extent.number.value_or(0) >= 0,
            "{} elements on axis {} do not fill the padding; the result would have {}",
            x.extent(axis).value, axis, extent.number.value_or(0));
    out.emplace_back(extent);
  }
  c.output(0, Type::tensor(x.dtype(), std::move(out)));
}

/// Writes a transposed convolution as a matrix product, which makes the windows, and their sum.
class TransposedConvolution {
 public:
  TransposedConvolution(ir::Builder& b, const ir::Node& node)
      : b_(b), node_(node), own_(dtype_of(b, node.inputs[0])), x_(wide_value(b, node.inputs[0])),
        w_(wide_value(b, node.inputs[1])), groups_(node.attributes.i("group", 1)) {}

  ValueId run() {
    const Type x = b_.graph().value(x_).type, w = b_.graph().value(w_).type;
    if (!x.has_rank() || !w.has_rank())
      unsupported("a transposed convolution of {} with {}; it needs their ranks", to_text(x),
                  to_text(w));
    spatial_ = x.rank() - 2;
    for (std::int64_t a = 0; a < spatial_; ++a)
      axes_.push_back(transposed_axis(node_.attributes, static_cast<std::size_t>(a),
                                      static_cast<std::size_t>(spatial_), w.extent(a + 2)));
    ValueId y = sum(x);
    if (has_input(node_, 2)) {
      Ints after(static_cast<std::size_t>(spatial_));
      std::iota(after.begin(), after.end(), 1);
      const ValueId bias = with_extent_of(b_, wide_value(b_, node_.inputs[2]), 0, y, 1,
                                          {"the bias", "the result"});
      y = b_("add", {y, after.empty() ? bias : b_("unsqueeze", {bias, b_.integers(after)})});
    }
    return as(b_, y, own_);
  }

 private:
  ValueId list(std::vector<ValueId> parts) const {
    return parts.empty() ? b_.integers({}) : b_("concat", std::move(parts), {{"axis", 0}});
  }
  ValueId product_of(std::vector<ValueId> factors) const {
    std::int64_t known = 1;
    ValueId product = ValueId::none;
    for (const ValueId f : factors) {
      if (const Tensor* t = b_.graph().constant(f)) known *= ir::integers_of(*t)[0];
      else product = product == ValueId::none ? f : b_("mul", {product, f});
    }
    if (product == ValueId::none) return b_.integers({known});
    return known == 1 ? product : b_("mul", {product, b_.integers({known})});
  }
  std::vector<ValueId> spatial_of(ValueId v) const {
    std::vector<ValueId> all;
    for (std::int64_t a = 0; a < spatial_; ++a) all.push_back(extent_of(b_, v, 2 + a));
    return all;
  }
  Ints each(std::int64_t TransposedAxis::*member) const {
    Ints all;
    for (const TransposedAxis& a : axes_) all.push_back(a.*member);
    return all;
  }
  /// The sum of the windows. Where the run decides what is cut off at the beginning, it is cut off
  /// the sum.
  ValueId sum(const Type& x) const {
    Ints begins, cut;
    std::vector<ValueId> extents, starts, ends;
    for (std::int64_t a = 0; a < spatial_; ++a) {
      const TransposedAxis& axis = axes_[static_cast<std::size_t>(a)];
      const auto begin = axis.begin(x.extent(a + 2));
      extents.push_back(extent(axis, a));
      begins.push_back(begin.value_or(0));
      if (begin) continue;
      cut.push_back(a + 2);
      starts.push_back(begin_of_run(axis, a, extents.back()));
      extents.back() = ends.emplace_back(b_("add", {starts.back(), extents.back()}));
    }
    const ValueId all = b_("sum_of_windows", {windows(), list(std::move(extents))},
                           {{"begins", begins},
                            {"dilations", each(&TransposedAxis::dilation)},
                            {"strides", each(&TransposedAxis::stride)}});
    if (cut.empty()) return all;
    return b_("slice", {all, list(std::move(starts)), list(std::move(ends)), b_.integers(cut)});
  }

  /// [n, output channels, kernel..., windows...]: w, transposed, times x, group by group.
  ValueId windows() const {
    const std::vector<ValueId> kernel = spatial_of(w_), in = spatial_of(x_);
    const ValueId groups = b_.integers({groups_}), n = extent_of(b_, x_, 0);
    const ValueId maps = extent_of(b_, w_, 1), channels = extent_of(b_, w_, 0);
    const Tensor* known = b_.graph().constant(channels);
    const ValueId per_group = known != nullptr ? b_.integers({ir::integers_of(*known)[0] / groups_})
                                               : b_("div", {channels, groups});
    std::vector<ValueId> rows = kernel;
    rows.push_back(maps);
    const ValueId row_count = product_of(rows), columns = product_of(in);
    const bool grouped = groups_ > 1;
    const auto shaped = [&](ValueId v, std::vector<ValueId> shape) {
      return b_("reshape", {v, list(std::move(shape))}, {{"allowzero", 1}});
    };
    const ValueId left = grouped ? shaped(w_, {groups, per_group, row_count})
                                 : shaped(w_, {per_group, row_count});
    const ValueId right = grouped ? shaped(x_, {n, groups, per_group, columns})
                                  : shaped(x_, {n, per_group, columns});
    const ValueId product = b_("mat_mul", {left, right}, {{"transpose_a", 1}});
    std::vector<ValueId> whole{n, product_of({maps, groups})};
    whole.insert(whole.end(), kernel.begin(), kernel.end());
    whole.insert(whole.end(), in.begin(), in.end());
    return shaped(product, std::move(whole));
  }

  ValueId reach(const TransposedAxis& axis, std::int64_t a) const {
    const ValueId steps = product_of({extent_of(b_, w_, a + 2), b_.integers({axis.dilation})});
    return sum_of_integers(b_, steps, b_.integers({1 - axis.dilation}));
  }
  /// The elements of x along an axis times the stride.
  ValueId steps(const TransposedAxis& axis, std::int64_t a) const {
    return product_of({extent_of(b_, x_, a + 2), b_.integers({axis.stride})});
  }

  /// The extent of the result along a spatial axis.
  ValueId extent(const TransposedAxis& axis, std::int64_t a) const {
    const Type& y = b_.graph().value(node_.outputs[0]).type;
    if (y.has_rank() && y.extent(a + 2).known()) return b_.integers({y.extent(a + 2).value});
    if (axis.same) return steps(axis, a);
    const std::int64_t rest = axis.output_padding - axis.stride - axis.pad_begin - axis.pad_end;
    return sum_of_integers(b_, sum_of_integers(b_, steps(axis, a), reach(axis, a)),
                           b_.integers({rest}));
  }

  /// `TransposedAxis::begin` for extents that only the run knows.
  ValueId begin_of_run(const TransposedAxis& axis, std::int64_t a, ValueId out) const {
    const ValueId whole = sum_of_integers(b_, sum_of_integers(b_, steps(axis, a), reach(axis, a)),
                                          b_.integers({axis.output_padding - axis.stride}));
    const ValueId total = b_("max", {b_("sub", {whole, out}), b_.integers({0})});
    const ValueId less = b_("div", {total, b_.integers({2})});
    return axis.upper ? less : b_("sub", {total, less});
  }

  ir::Builder& b_;
  const ir::Node& node_;
  const DType own_;
  const ValueId x_, w_;
  const std::int64_t groups_;
  std::int64_t spatial_ = 0;
  std::vector<TransposedAxis> axes_;
};

ir::Attributes conv_transpose_attributes() {
  return {{"auto_pad", "NOTSET"},   {"dilations", Ints{}},      {"group", 1},
          {"kernel_shape", Ints{}}, {"output_padding", Ints{}}, {"output_shape", Ints{}},
          {"pads", Ints{}},         {"strides", Ints{}}};
}

const ir::OpEntry conv_transpose_op{{
    .name = "conv_transpose",
    .doc =
        "y = the transposed convolution of x with the kernels w: each element of x adds a kernel "
        "times that element to y; plus a bias",
    .inputs = {{"x"}, {"w"}, {"b", ir::InputDef::optional}},
    .attributes = conv_transpose_attributes(),
    .type = floats_only(conv_transpose_rule),
    .meaning = composite(
        [](ir::Builder& b, const ir::Node& n) -> std::vector<ValueId> {
          return {TransposedConvolution(b, n).run()};
        },
        {0, 1}),
    .gradient = conv_transpose_gradient,
}};

}  // namespace

}  // namespace rondel::ops
