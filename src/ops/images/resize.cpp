#include "base/error.h"
#include "ops/gradients.h"
#include "ops/images/resizing.h"
#include "ops/type_rules.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rondel::ops {
namespace {

using ir::Ints;
using ir::ValueId;

/// The inputs by number.
struct ResizeInput {
  static constexpr std::size_t x = 0, roi = 1, scales = 2, sizes = 3;
};

/// Scales and extents beyond it are refused: f32 holds them, but no memory does.
constexpr double greatest_extent = 1e15;

/// The axes that roi, scales and sizes list.
Ints listed_axes(const ir::Attributes& a, std::int64_t rank) {
  Ints axes = a.ints("axes");
  if (axes.empty()) {
    axes.resize(static_cast<std::size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  for (std::int64_t& axis : axes) axis = normal_axis(axis, rank, "axes");
  normal_axes(axes, rank);
  return axes;
}

bool keeps_ratio(const ir::Attributes& a) {
  return a.s("keep_aspect_ratio_policy", "stretch") != "stretch";
}

void require_one_of(const ir::Attributes& a, std::string_view name,
                    std::initializer_list<std::string_view> allowed) {
  const std::string given = a.s(std::string(name), std::string(*allowed.begin()));
  std::string all;
  for (const std::string_view word : allowed) {
    if (given == word) return;
    all += (all.empty() ? "" : ", ") + std::string(word);
  }
  fail("{} is '{}'; expected one of {}", name, given, all);
}

void check_resize_attributes(const ir::Attributes& a) {
  require_one_of(a, "mode", {"nearest", "linear", "cubic"});
  require_one_of(a, "nearest_mode", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  require_one_of(a, "coordinate_transformation_mode",
                 {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                  "asymmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn"});
  require_one_of(a, "keep_aspect_ratio_policy", {"stretch", "not_larger", "not_smaller"});
}

/// Requires that input k is a list with this many elements.
void require_list(const ir::TypeContext& c, std::size_t k, std::int64_t count) {
  require_rank(c, k, 1);
  if (!c.input(k).has_rank()) return;
  const ir::Extent& n = c.input(k).extent(0);
  require(!n.known() || n.value == count, "input {} has {} elements; expected {}", k, n.value,
          count);
}

std::vector<float> floats_of(const Tensor& t) {
  std::vector<float> list(static_cast<std::size_t>(t.size()));
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = t.packed().data_as<float>()[i];
  return list;
}

/// The extent of the result for a factor, in the arithmetic of `scaled_extent`.
ir::Extent extent_times(const ir::Extent& e, float scale, bool round) {
  require(scale > 0 && scale < greatest_extent,
          "a scale of {} is out of bounds; expected a positive number", scale);
  if (!e.known()) {
    const bool whole = scale == std::floor(scale) && scale <= 65536;
    return whole ? ir::Extent(ir::Integer(e) * static_cast<std::int64_t>(scale)) : ir::Extent();
  }
  const float product = static_cast<float>(e.value) * scale;
  require(product <= greatest_extent, "an extent of {} times {} is out of bounds", e.value, scale);
  const float lower = std::floor(product);
  return static_cast<std::int64_t>(lower) + (round && product - lower >= 0.5F ? 1 : 0);
}

void set_by_scales(const ir::TypeContext& c, const Ints& axes, ir::Extents& out) {
  const Tensor* scales = c.value(ResizeInput::scales);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    ir::Extent& e = out[static_cast<std::size_t>(axes[i])];
    e = scales == nullptr ? ir::Extent() : extent_times(e, floats_of(*scales)[i], false);
  }
}

/// The factor that all axes have if they keep their ratio; nothing if an extent is not known.
std::optional<float> common_scale(const ir::Attributes& a, const ir::Extents& x, const Ints& axes,
                                  const ir::Integers& sizes) {
  const bool smaller = a.s("keep_aspect_ratio_policy", "stretch") == "not_larger";
  std::optional<float> common;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const ir::Extent &in = x[static_cast<std::size_t>(axes[i])], size(sizes[i]);
    if (!in.known() || !size.known()) return std::nullopt;
    require(in.value > 0, "axis {} has extent 0, whose ratio cannot be kept", axes[i]);
    const float scale = static_cast<float>(size.value) / static_cast<float>(in.value);
    common = !common ? scale : smaller ? std::min(*common, scale) : std::max(*common, scale);
  }
  return common;
}

void set_by_sizes(const ir::TypeContext& c, const Ints& axes, ir::Extents& out) {
  const auto sizes = c.elements(ResizeInput::sizes);
  const bool known = sizes && sizes->size() == axes.size();
  for (std::size_t i = 0; known && i < axes.size(); ++i) {
    const std::int64_t size = (*sizes)[i].number.value_or(0);
    require(size >= 0, "size {} of axis {}; expected 0 or more", size, axes[i]);
  }
  const bool keeps = keeps_ratio(c.attributes());
  const float scale = known && keeps ? common_scale(c.attributes(), out, axes, *sizes).value_or(0)
                                     : 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    ir::Extent& e = out[static_cast<std::size_t>(axes[i])];
    if (keeps) e = scale > 0 ? extent_times(e, scale, true) : ir::Extent();
    else e = known ? ir::Extent((*sizes)[i]) : ir::Extent();
  }
}

bool has_list(const ir::TypeContext& c, std::size_t k) {
  return c.has(k) && !(c.input(k).has_rank() && c.input(k).rank() == 1 &&
                       c.input(k).extent(0) == ir::Extent(0));
}

void resize_rule(ir::TypeContext& c) {
  require_tensor(c, ResizeInput::x);
  const ir::Attributes& a = c.attributes();
  check_resize_attributes(a);
  const ir::Type& x = c.input(ResizeInput::x);
  if (a.s("mode", "nearest") != "nearest") require_dtypes(c, ResizeInput::x, number_dtypes());
  const bool by_scales = has_list(c, ResizeInput::scales),
             by_sizes = has_list(c, ResizeInput::sizes);
  if (x.has_rank() && x.rank() == 0) return c.output(0, x);
  require(by_scales != by_sizes, "{} given; expected one of them",
          by_scales ? "scales and sizes are" : "neither scales nor sizes are");
  if (by_scales) require_dtype(c, ResizeInput::scales, DType::f32);
  else require_dtype(c, ResizeInput::sizes, DType::i64);
  const bool crops = a.s("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
  require(!crops || has_list(c, ResizeInput::roi), "tf_crop_and_resize needs a roi");
  if (has_list(c, ResizeInput::roi)) require_dtypes(c, ResizeInput::roi, float_dtypes());
  if (!x.has_rank()) return c.output(0, ir::Type::unranked(x.dtype()));
  const Ints axes = listed_axes(a, x.rank());
  const std::int64_t count = std::ssize(axes);
  if (crops) require_list(c, ResizeInput::roi, 2 * count);
  require_list(c, by_scales ? ResizeInput::scales : ResizeInput::sizes, count);
  ir::Extents out = x.extents();
  by_scales ? set_by_scales(c, axes, out) : set_by_sizes(c, axes, out);
  for (const std::int64_t axis : axes) {
    const auto k = static_cast<std::size_t>(axis);
    require(!(x.extent(axis) == ir::Extent(0)) || !out[k].known() || out[k].value == 0,
            "axis {} has no elements; expected at least one, for an extent of {}", axis,
            out[k].value);
  }
  c.output(0, ir::Type::tensor(x.dtype(), std::move(out)));
}

/// Writes a Resize as resizes of one axis after another.
class Resizing {
 public:
  Resizing(ir::Builder& b, const ir::Node& node)
      : b_(b), node_(node), mode_(node.attributes.s("mode", "nearest")),
        x_(b.graph().value(node.inputs[0]).type), y_(b.graph().value(node.outputs[0]).type) {}

  ValueId run() {
    if (!x_.has_rank()) unsupported("resizing a tensor of unknown rank");
    if (x_.rank() == 0) return b_("identity", {node_.inputs[0]});
    const Ints axes = listed_axes(node_.attributes, x_.rank());
    const bool copies = mode_ == "nearest";
    ValueId v = node_.inputs[0];
    if (!copies) v = as(b_, v, x_.dtype() == DType::f64 ? DType::f64 : DType::f32);
    check_lists(std::ssize(axes));
    if (given(ResizeInput::sizes) && keeps_ratio(node_.attributes)) set_common_scale(axes);
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (!keeps_axis(axes[i], i)) v = along(v, axes[i], static_cast<std::int64_t>(i), axes.size());
    return copies ? v : as(b_, rounds() ? b_("round", {v}) : v, x_.dtype());
  }

 private:
  /// Whether integers are rounded rather than truncated, as ONNX Runtime does: not plain linear
  /// ones.
  bool rounds() const {
    return is_integer(x_.dtype()) && (mode_ == "cubic" || node_.attributes.flag("antialias"));
  }
  bool given(std::size_t k) const {
    if (!has_input(node_, k)) return false;
    const ir::Type& t = b_.graph().value(node_.inputs[k]).type;
    return !(t.has_rank() && t.rank() == 1 && t.extent(0) == ir::Extent(0));
  }
  bool crops() const {
    return node_.attributes.s("coordinate_transformation_mode", "") == "tf_crop_and_resize";
  }
  /// Writes the checks of the type rule for scales and sizes that only the run knows.
  void check_lists(std::int64_t count) const {
    if (crops())
      require_extent(b_, node_.inputs[ResizeInput::roi], 0, 2 * count,
                     fmt::format("roi has another number of elements than {}, a start and an end "
                                 "for each axis",
                                 2 * count));
    const bool by_sizes = given(ResizeInput::sizes);
    const ValueId list = node_.inputs[by_sizes ? ResizeInput::sizes : ResizeInput::scales];
    if (b_.graph().constant(list) != nullptr) return;
    require_in_run(b_, b_("equal", {b_("shape", {list}), b_.integers({count})}),
                   fmt::format("{} have another number of elements than {}, one for each axis",
                               by_sizes ? "sizes" : "scales", count));
    if (by_sizes)
      return require_in_run(b_, b_("greater_or_equal", {list, b_.scalar<std::int64_t>(0)}),
                            "a size is below 0; expected 0 or more");
    const ValueId zero = b_.scalar<float>(0), most = b_.scalar(DType::f32, greatest_extent);
    require_in_run(b_, b_("and", {b_("less", {zero, list}), b_("less", {list, most})}),
                   "a scale is out of bounds; expected a positive number");
  }

  /// Whether the axis stays as it is: its scale is certainly 1.
  bool keeps_axis(std::int64_t axis, std::size_t i) const {
    if (crops()) return false;
    if (given(ResizeInput::sizes))
      return !keeps_ratio(node_.attributes) && y_.has_rank() && x_.extent(axis) == y_.extent(axis);
    const Tensor* scales = b_.graph().constant(node_.inputs[ResizeInput::scales]);
    return scales != nullptr && floats_of(*scales)[i] == 1;
  }

  /// Element i of a list, as a scalar.
  ValueId element(ValueId list, std::int64_t i) const { return b_("gather", {list, b_.scalar(i)}); }
  ValueId extent(std::int64_t axis) const {
    if (x_.extent(axis).known()) return b_.scalar(x_.extent(axis).value);
    return element(b_("shape", {node_.inputs[0]}), axis);
  }
  ValueId number(ValueId v) const { return as(b_, v, DType::f32); }

  void set_common_scale(const Ints& axes) {
    const ValueId x = b_("gather", {b_("shape", {node_.inputs[0]}), b_.integers(axes)});
    const ValueId ratios = b_("div", {number(node_.inputs[ResizeInput::sizes]), number(x)});
    const bool smaller = node_.attributes.s("keep_aspect_ratio_policy", "") == "not_larger";
    common_scale_ = b_(smaller ? "reduce_min" : "reduce_max", {ratios}, {{"keepdims", 0}});
  }

  /// The extent of the result and the scale of an axis, in the arithmetic of `extent_times`.
  std::pair<ValueId, ValueId> result_of(ValueId in, std::int64_t i) const {
    const auto times = [&](ValueId scale) { return scaled_extent(b_, in, scale); };
    if (!given(ResizeInput::sizes)) {
      const ValueId scale = element(node_.inputs[ResizeInput::scales], i);
      return {as(b_, b_("floor", {times(scale)}), DType::i64), scale};
    }
    if (common_scale_ != ValueId::none)
      return {as(b_, rounded(b_, times(common_scale_), true), DType::i64), common_scale_};
    const ValueId size = element(node_.inputs[ResizeInput::sizes], i);
    return {size, b_("div", {number(size), number(in)})};
  }

  ValueId along(ValueId v, std::int64_t axis, std::int64_t i, std::size_t count) const {
    AxisResize r{.mode = mode_,
                 .coordinates = node_.attributes.s("coordinate_transformation_mode", "half_pixel"),
                 .nearest = node_.attributes.s("nearest_mode", "round_prefer_floor"),
                 .antialias = node_.attributes.flag("antialias"),
                 .exclude_outside = node_.attributes.flag("exclude_outside"),
                 .cubic_a = node_.attributes.f("cubic_coeff_a", -0.75),
                 .extrapolation = node_.attributes.f("extrapolation_value", 0)};
    r.axis = axis;
    r.rank = x_.rank();
    r.in = extent(axis);
    std::tie(r.out, r.scale) = result_of(r.in, i);
    if (y_.has_rank() && y_.extent(axis).known()) r.out = b_.scalar(y_.extent(axis).value);
    const bool by_sizes = given(ResizeInput::sizes) && common_scale_ == ValueId::none;
    r.width = by_sizes ? number(r.out) : scaled_extent(b_, r.in, r.scale);
    if (crops()) {
      const ValueId roi = node_.inputs[ResizeInput::roi];
      r.start = number(element(roi, i));
      r.end = number(element(roi, i + static_cast<std::int64_t>(count)));
    }
    return resized_along(b_, v, r);
  }

  ir::Builder& b_;
  const ir::Node& node_;
  const std::string mode_;
  const ir::Type x_, y_;
  ValueId common_scale_ = ValueId::none;
};

const ir::OpEntry resize{{
    .name = "resize",
    .doc = "y = x with other extents: each element is the nearest one of x, or a linear or cubic "
           "interpolation between its neighbours, along each axis",
    .inputs = {{"x"},
               {"roi", ir::InputDef::optional},
               {"scales", ir::InputDef::optional},
               {"sizes", ir::InputDef::optional}},
    .attributes = {{"antialias", std::int64_t{0}},
                   {"axes", Ints{}},
                   {"coordinate_transformation_mode", "half_pixel"},
                   {"cubic_coeff_a", -0.75},
                   {"exclude_outside", std::int64_t{0}},
                   {"extrapolation_value", 0.0},
                   {"keep_aspect_ratio_policy", "stretch"},
                   {"mode", "nearest"},
                   {"nearest_mode", "round_prefer_floor"}},
    .type = resize_rule,
    .meaning = composite([](ir::Builder& b, const ir::Node& n)
                             -> std::vector<ValueId> { return {Resizing(b, n).run()}; },
                         {0}),
    .value_inputs = {ResizeInput::scales, ResizeInput::sizes},
}};

}  // namespace
}  // namespace rondel::ops
