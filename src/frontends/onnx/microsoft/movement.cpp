// Ops that only move or sample elements, and that ONNX has with another signature.
#include "frontends/onnx/microsoft/parts.h"

namespace rondel::onnx {
namespace {

std::vector<ValueId> expand_dims(Call& c) {
  const ValueId axis = cast(c, c.in(1), DType::i64);
  return {c.one("Unsqueeze", {c.in(0), c.one("Reshape", {axis, c.integers({1})})})};
}

/// The indices may be i32.
std::vector<ValueId> gather_nd(Call& c) {
  c.set_input(1, cast(c, c.in(1), DType::i64));
  return c.newest();
}

/// The modes have the names that they had in GridSample-16.
std::vector<ValueId> grid_sample(Call& c) {
  const std::string mode = c.attributes.s("mode", "bilinear");
  c.attributes.set("mode", mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode);
  return c.newest();
}

/// The pads may be a matrix of one row.
std::vector<ValueId> pad(Call& c) {
  c.set_input(1, reshaped(c, c.in(1), {-1}));
  return c.newest();
}

std::vector<ValueId> range(Call& c) {
  if (!c.has(2)) c.set_input(2, c.number(dtype_of(c, c.in(0)), 1));
  return c.newest();
}

/// The distinct elements of a list, as they first occur; the index of each element among them, and
/// their counts.
std::vector<ValueId> unique(Call& c) {
  const auto found = c.add("Unique", {c.in(0)}, {{"sorted", std::int64_t{0}}}, 4);
  return {found[0], found[2], found[3]};
}

}  // namespace

std::span<const Rule> microsoft_movement_rules() {
  static constexpr Rule rules[] = {
      microsoft_rule("ExpandDims", expand_dims),
      microsoft_rule("GatherND", gather_nd),
      microsoft_rule("GridSample", grid_sample),
      microsoft_rule("Pad", pad),
      microsoft_rule("Range", range),
      microsoft_rule("Unique", unique),
  };
  return rules;
}

}  // namespace rondel::onnx
