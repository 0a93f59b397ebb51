// Array functions of expressions: reductions, searches, scans and comparisons.
#include "base/error.h"
#include "frontends/mdf/arithmetic.h"
#include "frontends/mdf/call_table.h"

#include <limits>

namespace rondel::mdf {
namespace {

using ir::Builder;
using Values = Call::Arguments;

constexpr std::int64_t no = 0;

/// A value and the axis that a call works along. A call without an axis flattens the value.
struct Along {
  ValueId v;
  std::int64_t axis;
};

Along along(Builder& b, ValueId v, Values x) {
  if (x.size() > 1) return {v, axis_of(b, x[1])};
  return {b("reshape", {v, b.integers({-1})}), 0};
}

Call search(const char* op) {
  return {1, 2,
          [op](Builder& b, Values x) {
            const auto [v, axis] = along(b, as_number(b, x[0]), x);
            return b(op, {v}, {{"axis", axis}, {"keepdims", no}});
          },
          "axis"};
}

Call running(const char* op) {
  return {1, 2,
          [op](Builder& b, Values x) {
            const auto [v, axis] = along(b, as_number(b, x[0]), x);
            return b(op, {v, b.scalar(axis)});
          },
          "axis"};
}

/// Whether any (`reduce_max`) or all (`reduce_min`) elements are true; of none, the least and the
/// greatest integer.
Call truth(const char* op) {
  return {1, 2,
          [op](Builder& b, Values x) {
            const auto [v, axis] = along(b, cast(b, as_bool(b, x[0]), DType::i64), x);
            const ValueId found = b(op, {v, b.integers({axis})}, {{"keepdims", no}});
            return b("greater", {found, b.scalar(no)});
          },
          "axis"};
}

Call comparison(const char* sign) {
  return {2, 2, [sign](Builder& b, Values x) { return compare(b, sign, x[0], x[1]); }};
}

/// The population variance: the mean of the squared distances from the mean.
ValueId variance(Builder& b, Values x) {
  const auto [v, axis] = along(b, as_float(b, x[0]), x);
  const ValueId axes = b.integers({axis});
  const ValueId distance = b("sub", {v, b("reduce_mean", {v, axes})});
  const ValueId found = b("reduce_mean", {b("mul", {distance, distance}), axes},
                          {{"keepdims", no}});
  return nan_of_nothing(b, found, reduced_elements(b, v, axis));
}

/// log(1 + x), accurate for small x: corrects for the rounding error of 1 + x.
ValueId log1p_call(Builder& b, Values x) {
  const ValueId v = as_float(b, x[0]), one = b.scalar(dtype_of(b, v), 1);
  const ValueId sum = b("add", {one, v}), rounded = b("sub", {sum, one});
  const ValueId small = b("equal", {rounded, b.scalar(dtype_of(b, v), 0)});
  const ValueId infinite = b("is_inf", {sum});
  const ValueId corrected = b("mul", {b("log", {sum}), b("div", {v, rounded})});
  return b("where", {small, v, b("where", {infinite, b("log", {sum}), corrected})});
}

/// exp(x) - 1, accurate for small x: 2 sinh(x/2) exp(x/2).
ValueId expm1_call(Builder& b, Values x) {
  const ValueId v = as_float(b, x[0]), one = b.scalar(dtype_of(b, v), 1);
  const ValueId half = b("mul", {v, b.scalar(dtype_of(b, v), 0.5)});
  const ValueId near = b(
      "mul", {b("mul", {b.scalar(dtype_of(b, v), 2), b("sinh", {half})}), b("exp", {half})});
  const ValueId is_near = b("less", {b("abs", {v}), one});
  return b("where", {is_near, near, b("sub", {b("exp", {v}), one})});
}

/// sqrt(x^2 + y^2), without overflow of the squares; infinite beside an infinity, even of NaN.
ValueId hypot_call(Builder& b, Values x) {
  const auto [p, q] = promoted(b, b("abs", {as_float(b, x[0])}), b("abs", {as_float(b, x[1])}));
  const ValueId more = b("max", {p, q}), less = b("min", {p, q});
  const ValueId zero = b.scalar(dtype_of(b, p), 0), one = b.scalar(dtype_of(b, p), 1);
  const ValueId slope = b("where", {b("equal", {more, zero}), zero, b("div", {less, more})});
  const ValueId found = b("mul", {more, b("sqrt", {b("add", {one, b("mul", {slope, slope})})})});
  const ValueId infinite = b("or", {b("is_inf", {p}), b("is_inf", {q})});
  return b("where",
           {infinite, b.scalar(dtype_of(b, p), std::numeric_limits<double>::infinity()), found});
}

/// The step function: 0 below 0, 1 above, `x[1]` at 0.
ValueId step(Builder& b, Values x) {
  const auto [v, at_zero] = promoted(b, as_float(b, x[0]), as_float(b, x[1]));
  const ValueId zero = b.scalar(dtype_of(b, v), 0);
  const ValueId side = cast(b, b("greater", {v, zero}), dtype_of(b, v));
  const ValueId known = b("where", {b("equal", {v, zero}), at_zero, side});
  return b("where", {b("is_nan", {v}), v, known});
}

ValueId is_finite(Builder& b, Values x) {
  const ValueId v = as_float(b, x[0]);
  return b("not", {b("or", {b("is_nan", {v}), b("is_inf", {v})})});
}

/// Python's len: the extent of the first axis.
ValueId extent(Builder& b, Values x) {
  const Shape shape = shape_of(b, x[0]);
  require(!shape.empty(), "len is given a number; expected a list");
  return b.scalar(shape[0]);
}

/// The remainder of a division that truncates towards 0.
ValueId rest(Builder& b, Values x) {
  const auto [p, q] = promoted(b, as_number(b, x[0]), as_number(b, x[1]));
  return b("mod", {p, q}, {{"fmod", 1}});
}

ValueId outer(Builder& b, Values x) {
  const auto [p, q] = promoted(b, as_number(b, x[0]), as_number(b, x[1]));
  return b("mul", {b("reshape", {p, b.integers({-1, 1})}), b("reshape", {q, b.integers({1, -1})})});
}

/// An array with the shape and dtype of the argument, filled with a number.
Call like(double with) {
  return {1, 1, [with](Builder& b, Values x) {
            return fitted(b, b.scalar(dtype_of(b, as_number(b, x[0])), with), dtype_of(b, x[0]),
                          shape_of(b, x[0]));
          }};
}

Call written(std::size_t arguments, ValueId (*write)(Builder&, Values)) {
  return {arguments, arguments, write};
}

}  // namespace

void add_array_calls(CallTable& t) {
  t.insert({
      {"len", written(1, extent)},
      {"numpy.argmax", search("arg_max")},
      {"numpy.argmin", search("arg_min")},
      {"numpy.cumsum", running("cum_sum")},
      {"numpy.cumprod", running("cum_prod")},
      {"any", {1, 1, truth("reduce_max").write}},
      {"all", {1, 1, truth("reduce_min").write}},
      {"numpy.any", truth("reduce_max")},
      {"numpy.all", truth("reduce_min")},
      {"numpy.var", {1, 2, variance, "axis"}},
      {"numpy.std",
       {1, 2, [](Builder& b, Values x) { return b("sqrt", {variance(b, x)}); }, "axis"}},
      {"numpy.equal", comparison("==")},
      {"numpy.not_equal", comparison("!=")},
      {"numpy.less", comparison("<")},
      {"numpy.less_equal", comparison("<=")},
      {"numpy.greater", comparison(">")},
      {"numpy.greater_equal", comparison(">=")},
      {"numpy.logical_xor",
       {2, 2,
        [](Builder& b, Values x) {
          return b("xor", {as_bool(b, x[0]), as_bool(b, x[1])});
        }}},
      {"numpy.heaviside", written(2, step)},
      {"numpy.outer", written(2, outer)},
      {"numpy.fmod", written(2, rest)},
      {"math.fmod",
       {2, 2,
        [](Builder& b, Values x) {
          const ValueId floats[] = {as_float(b, x[0]), as_float(b, x[1])};
          return rest(b, floats);
        }}},
      {"numpy.zeros_like", like(0)},
      {"numpy.ones_like", like(1)},
      {"numpy.ravel",
       {1, 1,
        [](Builder& b, Values x) {
          return b("reshape", {x[0], b.integers({-1})});
        }}},
  });
  for (const std::string module : {"numpy.", "math."}) {
    t.emplace(module + "log1p", written(1, log1p_call));
    t.emplace(module + "expm1", written(1, expm1_call));
    t.emplace(module + "hypot", written(2, hypot_call));
    t.emplace(module + "isfinite", written(1, is_finite));
  }
}

}  // namespace rondel::mdf
