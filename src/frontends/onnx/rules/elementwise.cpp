// Arithmetic before NumPy broadcasting (opset 7), and element-wise ops whose attributes became
// inputs or changed their form.
#include "base/axis.h"
#include "formats/onnx/proto.h"
#include "formats/onnx/types.h"
#include "frontends/onnx/rules.h"

#include <algorithm>
#include <cctype>
#include <limits>

namespace rondel::onnx {
namespace {

/// `b` with trailing axes of extent 1. `more`, a list of one element, is their number.
ValueId with_trailing_axes(const Call& c, ValueId b, ValueId more) {
  const ValueId ones = c.one("ConstantOfShape", {more},
                             {{"value", Tensor::from<std::int64_t>({1}, {1})}});
  const ValueId shape = c.one("Concat", {c.one("Shape", {b}), ones}, {{"axis", std::int64_t{0}}});
  return c.one("Reshape", {b, shape});
}

/// The rank, as a list of one element.
ValueId rank_list(const Call& c, ValueId x) { return c.one("Shape", {c.one("Shape", {x})}); }

/// `b` with trailing axes of extent 1, so that its axis 0 is aligned with axis `axis` of `a`.
ValueId aligned(const Call& c, ValueId a, ValueId b, std::int64_t axis) {
  const auto ra = c.rank(a), rb = c.rank(b);
  if (ra) axis = axis_from_front(axis, *ra);
  if (ra && rb) {
    require(axis >= 0 && axis + *rb <= *ra, "axis {} does not place {} within {}", axis,
            ir::to_text(c.type(b)), ir::to_text(c.type(a)));
    ir::Ints axes;
    for (std::int64_t k = *rb; k < *ra - axis; ++k) axes.push_back(k);
    return axes.empty() ? b : c.one("Unsqueeze", {b, c.integers(axes)});
  }
  require(axis >= 0, "axis {} counts from the end of a tensor whose rank is not known", axis);
  const ValueId beyond = c.one("Sub", {rank_list(c, a), rank_list(c, b)});
  return with_trailing_axes(c, b, c.one("Sub", {beyond, c.integers({axis})}));
}

/// A slope whose rank only the run knows: a list is aligned with axis 1 of x.
ValueId aligned_if_list(const Call& c, ValueId x, ValueId slope) {
  const ValueId is_list = c.one("Equal", {rank_list(c, slope), c.integers({1})});
  const ValueId after = c.one("Sub", {rank_list(c, x), c.integers({2})});
  const ValueId more = c.one("Max", {after, c.integers({0})});
  return with_trailing_axes(c, slope, c.one("Where", {is_list, more, c.integers({0})}));
}

/// Add-1, Add-6 and similar ops: `broadcast` says whether b is broadcast, `axis` is the axis of a
/// that axis 0 of b is aligned with.
std::vector<ValueId> with_axis(Call& c) {
  const auto broadcast = c.take("broadcast"), axis = c.take("axis");
  const bool broadcasts = broadcast && std::get<std::int64_t>(*broadcast) != 0;
  if (broadcasts && axis)
    c.inputs.at(1) = aligned(c, c.in(0), c.in(1), std::get<std::int64_t>(*axis));
  return c.newest();
}

/// PRelu before 7: one slope, or one per channel (axis 1).
std::vector<ValueId> prelu_channels(Call& c) {
  const ir::Type& slope = c.type(c.in(1));
  const bool one = slope.has_rank() && slope.is_static() &&
                   element_count(slope.static_shape()) == 1;
  if (!slope.has_rank()) c.inputs.at(1) = aligned_if_list(c, c.in(0), c.in(1));
  else if (!one && slope.rank() == 1) c.inputs.at(1) = aligned(c, c.in(0), c.in(1), 1);
  return c.newest();
}

/// Cast-1 gives the type by name instead of by number.
std::vector<ValueId> cast_by_name(Call& c) {
  const auto to = c.take("to");
  require(to.has_value(), "attribute 'to' is missing");
  std::string name = std::get<std::string>(*to);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char x) { return static_cast<char>(std::toupper(x)); });
  pb::TensorProto::DataType number = pb::TensorProto::UNDEFINED;
  require(pb::TensorProto::DataType_Parse(name, &number), "cannot cast to '{}'", name);
  c.attributes.set("to", std::int64_t{number});
  return c.newest();
}

/// Clip before 11: min and max were attributes.
std::vector<ValueId> clip_attributes(Call& c) {
  const auto least = c.take("min"), most = c.take("max");
  const DType t = c.type(c.in(0)).dtype();
  const auto bound = [&](const std::optional<ir::Attribute>& a, double unbounded) -> ValueId {
    if (!a || std::get<double>(*a) == unbounded) return ValueId::none;
    return c.number(t, std::get<double>(*a));
  };
  constexpr double far = static_cast<double>(std::numeric_limits<float>::max());
  c.set_input(1, bound(least, -far));
  c.set_input(2, bound(most, far));
  return c.newest();
}

std::vector<ValueId> grid_sample_names(Call& c) {
  const std::string mode = c.attributes.s("mode", "bilinear");
  c.attributes.set("mode", mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode);
  return c.newest();
}

}  // namespace

std::span<const Rule> elementwise_rules() {
  static constexpr Rule rules[] = {
      {"Add", 1, 6, with_axis},
      {"Sub", 1, 6, with_axis},
      {"Mul", 1, 6, with_axis},
      {"Div", 1, 6, with_axis},
      {"Pow", 1, 6, with_axis},
      {"And", 1, 6, with_axis},
      {"Or", 1, 6, with_axis},
      {"Xor", 1, 6, with_axis},
      {"Equal", 1, 6, with_axis},
      {"Greater", 1, 6, with_axis},
      {"Less", 1, 6, with_axis},
      {"PRelu", 1, 6, prelu_channels},
      {"Cast", 1, 5, cast_by_name},
      {"Clip", 1, 10, clip_attributes},
      {"GridSample", 1, 19, grid_sample_names},
  };
  return rules;
}

}  // namespace rondel::onnx
