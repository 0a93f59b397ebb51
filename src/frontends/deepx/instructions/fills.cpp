// Tensors filled from arguments or random draws.
#include "frontends/deepx/rows.h"

#include "base/text.h"
#include "frontends/deepx/scalars.h"

#include <cmath>

namespace rondel::deepx {
namespace {

using ir::ValueId;

ValueId filled(Call& c) { return c("expand", {c.number(0), c.b.integers(c.output_shape())}); }

ValueId copied_values(Call& c) {
  const ValueId values = c.number(0);
  const std::int64_t count = c.b.graph().value(values).type.static_shape()[0];
  if (count != element_count(c.output_shape()))
    fail_at_position(c.at(0), "{} values; the tensor is [{}]", count, join(c.output_shape()));
  return c.reshaped(values, c.output_shape());
}

/// The dtype to compute in: floats narrower than float32 use float32 and are rounded once.
DType wide(DType t) { return t == DType::f16 || t == DType::bf16 ? DType::f32 : t; }

ValueId sequence(Call& c) {
  const DType t = wide(c.dtype());
  const std::int64_t count = element_count(c.output_shape());
  const ValueId numbers = c(
      "range", {c.b.scalar(std::int64_t{0}), c.b.scalar(count), c.b.scalar(std::int64_t{1})});
  const ValueId steps = c("mul", {c.cast(numbers, t), c.cast(c.number(1), t)});
  return c.reshaped(c.cast(c("add", {steps, c.cast(c.number(0), t)}), c.dtype()), c.output_shape());
}

/// A random draw of this line from [0, 1).
ValueId unit_draw(Call& c, DType t, std::size_t seed) {
  return c("uniform",
           {c.draw_key(seed), c.b.scalar(t, 0), c.b.scalar(t, 1), c.b.integers(c.output_shape())});
}

std::string text_of(const Slot& s) { return element_text(s.number, 0, ""); }

/// Integers are low + a draw from [0, high - low). The draw goes by way of float64, so it is
/// uniform up to that rounding. The distance may not fit into int64: it is in uint64, and sums
/// wrap.
ValueId drawn_evenly(Call& c) {
  const DType t = c.dtype();
  if (is_float(t)) {
    const ValueId low = c.number(0), high = c.number(1);
    const ValueId drawn = c("uniform", {c.draw_key(2), low, high, c.b.integers(c.output_shape())});
    // Rounding may give `high`, which is not in the interval.
    return c("where", {c("equal", {drawn, high}), low, drawn});
  }
  const ValueId low = c.cast(c.number(0), DType::i64), high = c.cast(c.number(1), DType::i64);
  const ValueId distance = c.cast(c("sub", {high, low}), DType::u64);
  const ValueId last = c("sub", {distance, c.b.scalar(std::uint64_t{1})});
  const ValueId drawn = c("floor",
                          {c("mul", {unit_draw(c, DType::f64, 2), c.cast(distance, DType::f64)})});
  const ValueId offset = c("min", {c.cast(drawn, DType::u64), last});
  return c.cast(c("add", {low, c.cast(offset, DType::i64)}), t);
}

/// In the dtype that the op computes in.
double distance(const Tensor& low, const Tensor& high) {
  const double from = real_of(low), to = real_of(high);
  return low.dtype() == DType::f64 ? to - from : static_cast<float>(to) - static_cast<float>(from);
}

void check_bounds(const Operands& o) {
  const Slot &low = o.inputs()[0], &high = o.inputs()[1];
  for (const Slot* s : {&low, &high})
    if (!std::isfinite(real_of(s->number)))
      fail_at_position(s->written->at, "{} is no bound; expected a finite number", text_of(*s));
  const bool are_integers = is_integer(o.dtype());
  const bool is_backward = are_integers ? integer_of(low.number) > integer_of(high.number)
                                        : real_of(low.number) > real_of(high.number);
  if (is_backward)
    fail_at_position(low.written->at,
                     "there is nothing in [{}, {}); expected the lower bound first: uniform {} {}",
                     text_of(low), text_of(high), text_of(high), text_of(low));
  if (!are_integers && !std::isfinite(distance(low.number, high.number)))
    fail_at_position(low.written->at,
                     "the distance between {} and {} is more than float{} holds; expected bounds "
                     "that are closer to each other",
                     text_of(low), text_of(high), o.dtype() == DType::f64 ? 64 : 32);
  if (are_integers && integer_of(low.number) == integer_of(high.number))
    fail_at_position(low.written->at,
                     "there is nothing in [{}, {}); the upper bound is not drawn, but those below "
                     "it are",
                     text_of(low), text_of(high));
}

void check_normal(const Operands& o) {
  const Slot &mean = o.inputs()[0], &deviation = o.inputs()[1];
  if (!std::isfinite(real_of(mean.number)))
    fail_at_position(mean.written->at, "the mean is {}; expected a finite number", text_of(mean));
  if (const double d = real_of(deviation.number); !(d >= 0) || std::isinf(d))
    fail_at_position(deviation.written->at, "the deviation is {}; expected 0 or more, and finite",
                     text_of(deviation));
}

void check_probability(const Operands& o) {
  const Slot& p = o.inputs()[0];
  if (const double d = real_of(p.number); !(d >= 0 && d <= 1))
    fail_at_position(p.written->at, "{} is no probability; expected a number from 0 to 1",
                     text_of(p));
}

ValueId drawn_normally(Call& c) {
  return c("normal", {c.draw_key(2), c.number(0), c.number(1), c.b.integers(c.output_shape())});
}

ValueId dropped_out(Call& c) {
  const DType t = wide(c.dtype());
  const ValueId kept = c("greater_or_equal", {unit_draw(c, t, 1), c.cast(c.number(0), t)});
  return c("where", {kept, c.value_of_output(), c.constant(0)});
}

const OperandDef seed = optional(argument("seed", Takes::integer));

const InstructionRows fills{{
    {.name = "settensor",
     .doc = "c = the values, in row-major order",
     .inputs = {vector("values", Takes::same)},
     .outputs = {tensor("c")},
     .value = copied_values},
    {.name = "constant",
     .doc = "every element of c = s",
     .inputs = {argument("s")},
     .outputs = {tensor("c")},
     .value = filled},
    {.name = "arange",
     .doc = "element i of c, in row-major order, = start + i * step",
     .inputs = {argument("start"), argument("step")},
     .outputs = {tensor("c")},
     .dtypes = numbers,
     .value = sequence},
    {.name = "uniform",
     .doc = "c = numbers drawn evenly from [low, high)",
     .inputs = {argument("low"), argument("high"), seed},
     .outputs = {tensor("c")},
     .dtypes = numbers,
     .check = check_bounds,
     .value = drawn_evenly},
    {.name = "normal",
     .doc = "c = numbers drawn from the normal distribution",
     .inputs = {argument("mean"), argument("deviation"), seed},
     .outputs = {tensor("c")},
     .dtypes = floats,
     .check = check_normal,
     .value = drawn_normally},
    {.name = "dropout",
     .doc = "each element of c becomes 0 with the probability p; the others stay as they are",
     .inputs = {argument("p"), seed},
     .outputs = {tensor("c")},
     .dtypes = floats,
     .check = check_probability,
     .value = dropped_out},
}};

}  // namespace
}  // namespace rondel::deepx
