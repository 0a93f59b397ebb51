#include "base/error.h"
#include "ops/gradients.h"
#include "ops/type_rules.h"

#include <limits>

namespace rondel::ops {
namespace {

using ir::ValueId;

void require_length(ir::TypeContext& c, std::size_t k) {
  static constexpr DType lengths[] = {DType::i32, DType::i64};
  require_dtypes(c, k, lengths);
  require_scalar(c, k);
  if (const auto n = c.integers(k))
    require(n->front() >= 1, "input {} is {}; expected 1 or more", k, n->front());
}

/// The number of elements of a frame, as far as it is known.
ir::Extent frame_extent(const ir::TypeContext& c) {
  if (c.has(3)) {
    const auto given = c.integers(3);
    return given ? ir::Extent(given->front()) : ir::Extent();
  }
  if (c.has(2)) return c.input(2).has_rank() ? c.input(2).extent(0) : ir::Extent();
  return c.input(0).has_rank() ? c.input(0).extent(1) : ir::Extent();
}

void stft_rule(ir::TypeContext& c) {
  require_dtypes(c, 0, float_dtypes());
  require_rank(c, 0, 3);
  require_length(c, 1);
  if (c.has(2)) {
    require_same_dtype(c, 0, 2);
    require_rank(c, 2, 1);
  }
  if (c.has(3)) require_length(c, 3);
  const ir::Type& x = c.input(0);
  const ir::Extent batch = x.has_rank() ? x.extent(0) : ir::Extent(),
                   length = x.has_rank() ? x.extent(1) : ir::Extent(), frame = frame_extent(c);
  if (x.has_rank() && x.extent(2).known())
    require(x.extent(2).value == 1 || x.extent(2).value == 2,
            "the signal is {}; expected [batch, length, 1 or 2]", to_text(x));
  if (c.has(2) && c.input(2).has_rank() && c.input(2).extent(0).known() && frame.known())
    require(c.input(2).extent(0).value == frame.value, "the window has {} elements, and a frame {}",
            c.input(2).extent(0).value, frame.value);
  const auto step = c.integers(1);
  ir::Extent frames, bins;
  if (length.known() && frame.known()) {
    require(frame.value >= 1 && frame.value <= length.value,
            "a frame has {} elements; expected 1 to {}, the length of the signal", frame.value,
            length.value);
    if (step) frames = (length.value - frame.value) / step->front() + 1;
  }
  if (frame.known())
    bins = c.attributes().flag("onesided", true) ? frame.value / 2 + 1 : frame.value;
  c.output(0, ir::Type::tensor(x.dtype(), {batch, frames, bins, 2}));
}

ValueId as_scalar(ir::Builder& b, ValueId v) {
  return b("reshape", {as(b, v, DType::i64), b.integers({})});
}

/// The transforms of all frames: elements frame * step + k of the signal, times the window.
std::vector<ValueId> transformed_frames(ir::Builder& b, const ir::Node& node) {
  const ValueId x = node.inputs[0], length = as_scalar(b, extent_of(b, x, 1));
  const auto positive = [&](ValueId v, ValueId most, const char* message) {
    return b("bounded", {v, most}, {{"least", 1}, {"message", std::string(message)}});
  };
  const ValueId step = positive(as_scalar(b, node.inputs[1]),
                                b.scalar(std::numeric_limits<std::int64_t>::max()),
                                "frame_step is {}; expected 1 or more, up to {}");
  const ValueId frame = positive(
      has_input(node, 3)   ? as_scalar(b, node.inputs[3])
      : has_input(node, 2) ? as_scalar(b, extent_of(b, node.inputs[2], 0))
                           : length,
      length, "a frame has {} elements; expected 1 to {}, the length of the signal");
  const ValueId zero = b.scalar<std::int64_t>(0), one = b.scalar<std::int64_t>(1);
  const auto numbers = [&](ValueId count) { return b("range", {zero, count, one}); };
  const ValueId room = b("sub", {length, frame});
  const ValueId frames = b("add", {b("div", {room, step}), one});
  const ValueId starts = b("unsqueeze", {b("mul", {numbers(frames), step}), b.integers({1})});
  // [batch, frames, elements, parts]
  ValueId taken = b("gather", {x, b("add", {starts, numbers(frame)})}, {{"axis", 1}});
  if (has_input(node, 2)) {
    const ValueId window = b("unsqueeze", {node.inputs[2], b.integers({1})});
    taken = as(b, b("mul", {wide_value(b, taken), wide_value(b, window)}), dtype_of(b, x));
  }
  return {b("dft", {taken}, {{"onesided", node.attributes.i("onesided", 1)}})};
}

const ir::OpEntry stft{{
    .name = "stft",
    .doc = "y = the discrete Fourier transforms of the frames of a signal [batch, length, 1 or "
           "2]: frame i begins at i * frame_step and is multiplied by the window",
    .inputs = {{"signal"},
               {"frame_step"},
               {"window", ir::InputDef::optional},
               {"frame_length", ir::InputDef::optional}},
    .attributes = {{"onesided", 1}},
    .type = stft_rule,
    .meaning = composite(transformed_frames),
    .value_inputs = {1, 3},
}};

}  // namespace
}  // namespace rondel::ops
