// Ops on shapes and positions whose attributes became inputs.
#include "base/axis.h"
#include "frontends/onnx/rules.h"

namespace rondel::onnx {
namespace {

std::optional<ir::Ints> take_ints(Call& c, std::string_view name) {
  const auto a = c.take(name);
  if (!a) return std::nullopt;
  return std::get<ir::Ints>(*a);
}

/// Squeeze and Unsqueeze before 13.
std::vector<ValueId> axes_input(Call& c) {
  if (const auto axes = take_ints(c, "axes")) c.set_input(1, c.integers(*axes));
  return c.newest();
}

std::vector<ValueId> reshape_attribute(Call& c) {
  const auto shape = take_ints(c, "shape");
  require(shape.has_value(), "attribute 'shape' is missing");
  c.set_input(1, c.integers(*shape));
  return c.newest();
}

std::vector<ValueId> slice_attributes(Call& c) {
  const auto starts = take_ints(c, "starts"), ends = take_ints(c, "ends"),
             axes = take_ints(c, "axes");
  require(
      starts && ends && starts->size() == ends->size() && (!axes || axes->size() == starts->size()),
      "starts, ends and axes differ in length");
  c.set_input(1, c.integers(*starts));
  c.set_input(2, c.integers(*ends));
  if (axes) c.set_input(3, c.integers(*axes));
  return c.newest();
}

ValueId as_int64(const Call& c, ValueId v) {
  if (c.type(v).dtype() == DType::i64) return v;
  return c.one("Cast", {v}, {{"to", ir::Type::scalar(DType::i64)}});
}

/// Requires that the extent of input 0 along the axis is a multiple of `parts`: at once, or in the
/// run if only the run knows the extent.
void require_equal_parts(const Call& c, std::int64_t parts, std::int64_t axis) {
  const ir::Type& x = c.type(c.in(0));
  if (parts == 1 || (x.has_rank() && !has_axis(axis, x.rank()))) return;
  const std::string wanted = fmt::format("{} has no {} equal parts along axis {}; give split",
                                         ir::to_text(x), parts, axis);
  const ir::Extent e = x.has_rank() ? x.extent(axis_from_front(axis, x.rank())) : ir::Extent();
  if (e.known()) return require(e.value % parts == 0, "{}", wanted);
  const ValueId extent = c.one("Gather", {c.one("Shape", {c.in(0)}), c.integer(axis)});
  const ValueId whole = c.one("Equal", {c.one("Mod", {extent, c.integer(parts)}), c.integer(0)});
  require_in_run(c, whole, wanted);
}

/// Before 13 the lengths were an attribute (in version 1 an attribute, or an input of the dtype of
/// x). Before 18 the number of parts was the number of outputs, and without lengths the parts were
/// equal.
std::vector<ValueId> split(Call& c) {
  if (const auto lengths = take_ints(c, "split")) c.set_input(1, c.integers(*lengths));
  if (c.has(1)) {
    c.inputs[1] = as_int64(c, c.in(1));
    return c.newest();
  }
  const auto parts = static_cast<std::int64_t>(c.outputs);
  require_equal_parts(c, parts, c.attributes.i("axis", 0));
  c.attributes.set("num_outputs", parts);
  return c.newest();
}

/// Pad-1 and Pad-2.
std::vector<ValueId> pad_attributes(Call& c) {
  auto pads = take_ints(c, c.version() == 1 ? "paddings" : "pads");
  require(pads.has_value(), "attribute 'pads' is missing");
  const auto value = c.take("value");
  c.set_input(1, c.integers(*pads));
  if (value && c.attributes.s("mode", "constant") == "constant")
    c.set_input(2, c.number(c.type(c.in(0)).dtype(), std::get<double>(*value)));
  return c.newest();
}

/// Tile-1 repeats `tiles` times along one axis, `axis`. Both inputs are scalars of a numeric type.
std::vector<ValueId> tile_one_axis(Call& c) {
  const ValueId rank = c.one("Shape", {c.one("Shape", {c.in(0)})});
  const ValueId ones = c.one("ConstantOfShape", {rank},
                             {{"value", Tensor::from<std::int64_t>({1}, {1})}});
  const ValueId last = c.one("Reshape", {rank, c.constant(Tensor(DType::i64, {0}))});
  const ValueId axes = c.one("Range", {c.integer(0), last, c.integer(1)});
  const ValueId here = c.one("Equal", {axes, as_int64(c, c.in(2))});
  return c.add("Tile", {c.in(0), c.one("Where", {here, as_int64(c, c.in(1)), ones})});
}

std::vector<ValueId> topk_attribute(Call& c) {
  const auto k = c.take("k");
  require(k.has_value(), "attribute 'k' is missing");
  c.set_input(1, c.integers({std::get<std::int64_t>(*k)}));
  return c.newest();
}

std::vector<ValueId> concat_axis(Call& c) {
  if (!c.attributes.has("axis")) c.attributes.set("axis", std::int64_t{1});
  return c.newest();
}

std::vector<ValueId> scatter(Call& c) {
  c.op = "ScatterElements";
  return c.newest();
}

/// A Resize with the coordinates of Upsample and Resize-10.
ValueId asymmetric_resize(Call& c, ValueId x, ValueId scales, const char* nearest) {
  ir::Attributes attributes = c.attributes;
  attributes.set("coordinate_transformation_mode", std::string("asymmetric"));
  attributes.set("nearest_mode", std::string(nearest));
  if (c.attributes.s("mode", "nearest") == "bilinear")
    attributes.set("mode", std::string("linear"));
  return c.add("Resize", {x, ValueId::none, scales}, attributes, c.outputs)[0];
}

ValueId scales_of(Call& c, std::span<const double> values) {
  Tensor t(DType::f32, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i)
    t.data_as<float>()[i] = static_cast<float>(values[i]);
  return c.constant(std::move(t));
}

std::vector<ValueId> upsample(Call& c) {
  const auto by = [&](ValueId scales) {
    return std::vector{asymmetric_resize(c, c.in(0), scales, "floor")};
  };
  if (c.version() >= 9) return by(c.in(1));
  if (c.version() >= 7) {
    const auto scales = c.take("scales");
    require(scales.has_value(), "attribute 'scales' is missing");
    return by(scales_of(c, std::get<ir::Floats>(*scales)));
  }
  const auto height = c.take("height_scale"), width = c.take("width_scale");
  require(height && width, "height_scale and width_scale must be given");
  const double scales[] = {1, 1, std::get<double>(*height), std::get<double>(*width)};
  return by(scales_of(c, scales));
}

/// The scales of the axes that grow, or of those that shrink, and 1 for the others. Nothing if
/// there are certainly no such axes.
std::optional<ValueId> scales_of_some(Call& c, ValueId scales, bool grow) {
  const Tensor* known = c.importer.graph().constant(scales);
  if (known == nullptr || known->dtype() != DType::f32)
    return c.one(grow ? "Max" : "Min", {scales, c.number(DType::f32, 1)});
  const Tensor list = known->packed();
  std::vector<double> some(static_cast<std::size_t>(list.size()), 1);
  bool any = false;
  for (std::size_t i = 0; i < some.size(); ++i) {
    const float scale = list.data_as<float>()[i];
    const bool other = grow ? scale <= 1 : scale >= 1;
    if (!other) some[i] = scale;
    any = any || !other;
  }
  if (!any) return std::nullopt;
  return scales_of(c, some);
}

/// Resize-10. The nearest pixel is rounded down along axes that grow, and up along axes that
/// shrink.
std::vector<ValueId> resize_10(Call& c) {
  if (c.attributes.s("mode", "nearest") != "nearest")
    return {asymmetric_resize(c, c.in(0), c.in(1), "floor")};
  const auto grown = scales_of_some(c, c.in(1), true), shrunk = scales_of_some(c, c.in(1), false);
  const ValueId x = grown || !shrunk
                        ? asymmetric_resize(c, c.in(0), grown.value_or(c.in(1)), "floor")
                        : c.in(0);
  return {shrunk ? asymmetric_resize(c, x, *shrunk, "ceil") : x};
}

/// The extent of a list, if it is known.
std::optional<std::int64_t> extent_of_list(const Call& c, ValueId v) {
  const ir::Type& t = c.type(v);
  const bool known = t.is_tensor() && t.has_rank() && t.rank() == 1 && t.extent(0).known();
  return known ? std::optional(t.extent(0).value) : std::nullopt;
}

/// Resize-11 and -13 have an empty input `scales` if `sizes` is given. Scales whose number only the
/// run knows are taken as empty beside sizes.
std::vector<ValueId> resize_empty_scales(Call& c) {
  for (const std::size_t k : {std::size_t{1}, std::size_t{2}})
    if (c.has(k) && extent_of_list(c, c.in(k)) == 0) c.inputs[k] = ValueId::none;
  if (c.has(2) && c.has(3) && !extent_of_list(c, c.in(2))) c.inputs[2] = ValueId::none;
  return c.newest();
}

/// These coordinates were taken out again; our op still has them.
std::vector<ValueId> resize_13(Call& c) {
  const std::string mode = c.attributes.s("coordinate_transformation_mode", "half_pixel");
  require(mode != "tf_half_pixel_for_nn",
          "coordinate_transformation_mode is '{}', which only version 11 of Resize has", mode);
  return c.version() < 19 ? resize_empty_scales(c) : c.newest();
}

/// Its function body takes a shape of int64 only.
std::vector<ValueId> center_crop_pad(Call& c) {
  c.inputs[1] = as_int64(c, c.in(1));
  return c.newest();
}

std::vector<ValueId> dft_axis(Call& c) {
  const auto axis = c.take("axis");
  c.set_input(2, c.integer(axis ? std::get<std::int64_t>(*axis) : 1));
  return c.newest();
}

/// PyTorch's exporter writes a real signal as [batch, length], which ONNX Runtime takes.
std::vector<ValueId> stft_of_real_signal(Call& c) {
  const ir::Type& signal = c.type(c.in(0));
  if (signal.is_tensor() && signal.has_rank() && signal.rank() == 2)
    c.set_input(0, c.one("Unsqueeze", {c.in(0), c.integers({-1})}));
  return c.newest();
}

}  // namespace

std::span<const Rule> shape_rules() {
  static constexpr Rule rules[] = {
      {"Squeeze", 1, 12, axes_input},
      {"Unsqueeze", 1, 12, axes_input},
      {"Reshape", 1, 4, reshape_attribute},
      {"Slice", 1, 9, slice_attributes},
      {"Split", 1, 17, split},
      {"Pad", 1, 10, pad_attributes},
      {"Tile", 1, 5, tile_one_axis},
      {"TopK", 1, 9, topk_attribute},
      {"Concat", 1, 3, concat_axis},
      {"Scatter", 9, 10, scatter, "scatter_elements"},
      {"Upsample", 1, 9, upsample, "resize"},
      {"Resize", 10, 10, resize_10},
      {"Resize", 11, 11, resize_empty_scales},
      {"Resize", 13, newest, resize_13},
      {"CenterCropPad", 18, newest, center_crop_pad},
      {"DFT", 17, 19, dft_axis},
      {"STFT", 17, newest, stft_of_real_signal},
  };
  return rules;
}

}  // namespace rondel::onnx
