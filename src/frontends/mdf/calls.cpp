// The functions that expressions can call.
#include "frontends/mdf/calls.h"

#include "base/error.h"
#include "base/text.h"
#include "frontends/mdf/arithmetic.h"
#include "frontends/mdf/call_table.h"
#include "frontends/mdf/model.h"

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <optional>

namespace rondel::mdf {
namespace {

using ir::Builder;
using Values = Call::Arguments;

/// An op that takes floats.
Call of_floats(const char* op) {
  return {1, 1, [op](Builder& b, Values x) { return b(op, {as_float(b, x[0])}); }};
}

/// An op that takes integers or floats.
Call of_numbers(const char* op) {
  return {1, 1, [op](Builder& b, Values x) { return b(op, {as_number(b, x[0])}); }};
}

/// A binary operator, by its sign.
Call of_sign(const char* sign) {
  return {2, 2, [sign](Builder& b, Values x) { return binary(b, sign, x[0], x[1]); }};
}

/// The element-wise maximum or minimum of two or more values.
ValueId extreme(Builder& b, const char* op, Values x) {
  ValueId so_far = as_number(b, x[0]);
  for (const ValueId v : x.subspan(1)) {
    const auto [p, q] = promoted(b, so_far, as_number(b, v));
    so_far = b(op, {p, q});
  }
  return so_far;
}

Call of_two(const char* op) {
  return {2, 2, [op](Builder& b, Values x) { return extreme(b, op, x); }};
}

/// The axis of a reduction; none: it is over all elements.
std::optional<std::int64_t> reduced_axis(const Builder& b, Values x) {
  if (x.size() == 1) return std::nullopt;
  return axis_of(b, x[1]);
}

/// A reduction over all elements, or along a constant axis.
ValueId reduced(Builder& b, const char* op, ValueId v, std::optional<std::int64_t> axis) {
  if (!axis) return b(op, {v}, {{"keepdims", std::int64_t{0}}});
  return b(op, {v, b.integers({*axis})}, {{"keepdims", std::int64_t{0}}});
}

Call reduction(const char* op) {
  return {
      1, 2,
      [op](Builder& b, Values x) { return reduced(b, op, as_number(b, x[0]), reduced_axis(b, x)); },
      "axis"};
}

/// The greatest or least element, which nothing has.
ValueId extreme_element(Builder& b, const char* op, Values x) {
  const ValueId v = as_number(b, x[0]);
  const std::optional<std::int64_t> axis = reduced_axis(b, x);
  require(reduced_elements(b, v, axis) != 0,
          "the greatest or least of no elements; expected one at least");
  return reduced(b, op, v, axis);
}

Call extreme_of(const char* op) {
  return {1, 2, [op](Builder& b, Values x) { return extreme_element(b, op, x); }, "axis"};
}

ValueId mean_call(Builder& b, Values x) {
  const ValueId v = as_float(b, x[0]);
  const std::optional<std::int64_t> axis = reduced_axis(b, x);
  return nan_of_nothing(b, reduced(b, "reduce_mean", v, axis), reduced_elements(b, v, axis));
}

/// Python's sum and math.prod, of the elements of a list: of a matrix, its rows.
Call of_items(const char* op) {
  return {1, 1, [op](Builder& b, Values x) {
            const ValueId v = as_number(b, x[0]);
            if (rank_of(b, v) == 0) return reduced(b, op, v, std::nullopt);
            return reduced(b, op, v, 0);
          }};
}

/// Python's max and min: of the elements of a single list, or of several numbers.
Call python_extreme(const char* reduce, const char* op) {
  return {1, 1000, [reduce, op](Builder& b, Values x) {
            return x.size() == 1 ? extreme_element(b, reduce, x) : extreme(b, op, x);
          }};
}

/// NumPy's round: to the nearest multiple of a power of ten, which is scaled to an integer and
/// back.
ValueId rounded_to(Builder& b, Values x) {
  const ValueId v = as_number(b, x[0]);
  const Tensor* digits = x.size() == 1 ? nullptr : b.graph().constant(x[1]);
  require(
      x.size() == 1 || (digits != nullptr && digits->dtype() == DType::i64 && digits->size() == 1),
      "the number of decimals is given by an integer");
  const std::int64_t decimals = digits == nullptr ? 0 : digits->data_as<std::int64_t>()[0];
  if (dtype_of(b, v) == DType::i64 && decimals >= 0) return v;
  if (decimals == 0) return b("round", {v});
  const ValueId scale = b.scalar(std::pow(10.0, std::abs(static_cast<double>(decimals))));
  const ValueId rounded = b("round", {binary(b, decimals > 0 ? "*" : "/", v, scale)});
  const ValueId back = binary(b, decimals > 0 ? "/" : "*", rounded, scale);
  return dtype_of(b, v) == DType::i64 ? cast(b, back, DType::i64) : back;
}

/// A rounding function. Those of math and Python return integers, those of NumPy keep floats.
Call rounding(const char* op, bool to_integer) {
  return {1, 1, [op, to_integer](Builder& b, Values x) {
            const ValueId v = as_number(b, x[0]);
            if (dtype_of(b, v) == DType::i64) return v;
            const ValueId rounded = op[0] == '\0' ? v : b(op, {v});
            return to_integer ? cast(b, rounded, DType::i64) : rounded;
          }};
}

Call conversion(DType to) {
  return {1, 1, [to](Builder& b, Values x) {
            return to == DType::boolean ? as_bool(b, x[0]) : cast(b, x[0], to);
          }};
}

/// A quotient of logarithms is inexact: of a power of the base, it is the exponent. Powers beyond
/// those that floats hold exactly are known up to the rounding of `pow`; subnormal numbers are not
/// near enough to one.
Call logarithm_to(double base) {
  return {1, 1, [base](Builder& b, Values x) {
            const ValueId v = as_float(b, x[0]);
            const bool is_narrow = dtype_of(b, v) == DType::f32;
            const auto number = [&](double n) { return b.scalar(dtype_of(b, v), n); };
            const ValueId quotient = binary(b, "/", b("log", {v}), b.scalar(std::log(base)));
            const ValueId whole = b("round", {quotient});
            const ValueId power = b("pow", {number(base), whole});
            const ValueId off = b("abs", {b("sub", {power, v})});  // NaN at infinity
            const ValueId rounding = b("mul", {v, number(is_narrow ? 0x1p-22 : 0x1p-51)});
            const ValueId is_exact = b("less", {b("abs", {whole}), number(is_narrow ? 11 : 23)});
            const ValueId most = b("where", {is_exact, number(0), rounding});
            const ValueId is_normal = b("less", {number(is_narrow ? 0x1p-126 : 0x1p-1022), v});
            const ValueId known = b("and", {is_normal, b("less_or_equal", {off, most})});
            const ValueId correction = b("where", {known, b("sub", {quotient, whole}), number(0)});
            // The correction is constant for gradients.
            return b("sub", {quotient, b("stop_gradient", {correction})});
          }};
}

const CallTable& shared_functions() {
  static const CallTable table{
      {"exp", of_floats("exp")},
      {"sqrt", of_floats("sqrt")},
      {"log", of_floats("log")},
      {"log2", logarithm_to(2)},
      {"log10", logarithm_to(10)},
      {"sin", of_floats("sin")},
      {"cos", of_floats("cos")},
      {"tan", of_floats("tan")},
      {"sinh", of_floats("sinh")},
      {"cosh", of_floats("cosh")},
      {"tanh", of_floats("tanh")},
      {"isnan", of_floats("is_nan")},
      {"isinf", of_floats("is_inf")},
      {"fabs", of_floats("abs")},
      {"degrees",
       {1, 1,
        [](Builder& b, Values x) {
          return binary(b, "*", x[0], b.scalar(180 / std::numbers::pi));
        }}},
      {"radians",
       {1, 1,
        [](Builder& b, Values x) {
          return binary(b, "*", x[0], b.scalar(std::numbers::pi / 180));
        }}},
  };
  return table;
}

/// NumPy's dot: a product if an operand is a scalar, else a contraction of the last axis of x with
/// the second to last of y.
ValueId dot_call(Builder& b, Values x) {
  const std::int64_t p = rank_of(b, x[0]), q = rank_of(b, x[1]);
  if (q > 2) unsupported("numpy.dot of a second array of rank {}; expected 2 at most", q);
  return binary(b, p == 0 || q == 0 ? "*" : "@", x[0], x[1]);
}

/// arctan2(y, x).
ValueId arctan2_call(Builder& b, Values x) {
  const auto [p, q] = promoted(b, as_float(b, x[0]), as_float(b, x[1]));
  return arctan2(b, p, q);
}

ValueId where_call(Builder& b, Values x) { return choose(b, x[0], x[1], x[2]); }

ValueId clip_call(Builder& b, Values x) {
  const ValueId low = extreme(b, "max", x.first(2));
  return extreme(b, "min", std::array{low, x[2]});
}

/// An array filled with a number. Its shape must be a constant.
ValueId filled(Builder& b, ValueId shape, ValueId with) {
  const Tensor* extents = b.graph().constant(shape);
  require(extents != nullptr && extents->dtype() == DType::i64 && extents->rank() <= 1,
          "a shape is given by numbers");
  return b(
      "expand",
      {with, extents->rank() == 1 ? shape : b.integers({extents->data_as<std::int64_t>()[0]})});
}

const CallTable& functions() {
  static const auto table = [] {
    CallTable t;
    add_array_calls(t);
    for (const auto& [name, c] : shared_functions()) {
      t.emplace("numpy." + name, c);
      if (name != "log") t.emplace("math." + name, c);
    }
    t.insert({
        {"abs", of_numbers("abs")},
        {"numpy.abs", of_numbers("abs")},
        {"numpy.absolute", of_numbers("abs")},
        {"numpy.sign", of_numbers("sign")},
        {"numpy.negative", of_numbers("neg")},
        {"numpy.square", {1, 1, [](Builder& b, Values x) { return binary(b, "*", x[0], x[0]); }}},
        {"numpy.reciprocal", of_floats("reciprocal")},
        {"numpy.arcsin", of_floats("asin")},
        {"numpy.arccos", of_floats("acos")},
        {"numpy.arctan", of_floats("atan")},
        {"numpy.arcsinh", of_floats("asinh")},
        {"numpy.arccosh", of_floats("acosh")},
        {"numpy.arctanh", of_floats("atanh")},
        {"math.asin", of_floats("asin")},
        {"math.acos", of_floats("acos")},
        {"math.atan", of_floats("atan")},
        {"math.asinh", of_floats("asinh")},
        {"math.acosh", of_floats("acosh")},
        {"math.atanh", of_floats("atanh")},
        {"math.erf", of_floats("erf")},
        {"math.log",
         {1, 2,
          [](Builder& b, Values x) {
            const ValueId y = b("log", {as_float(b, x[0])});
            return x.size() == 1 ? y : binary(b, "/", y, b("log", {as_float(b, x[1])}));
          }}},
        {"math.prod", of_items("reduce_prod")},
        {"math.fsum",
         {1, 1,
          [](Builder& b, Values x) { return reduced(b, "reduce_sum", as_float(b, x[0]), {}); }}},
        {"pow", of_sign("**")},
        {"math.pow",
         {2, 2,
          [](Builder& b, Values x) {
            return binary(b, "**", as_float(b, x[0]), as_float(b, x[1]));
          }}},
        {"numpy.power", of_sign("**")},
        {"numpy.mod", of_sign("%")},
        {"numpy.remainder", of_sign("%")},
        {"numpy.floor_divide", of_sign("//")},
        {"numpy.add", of_sign("+")},
        {"numpy.subtract", of_sign("-")},
        {"numpy.multiply", of_sign("*")},
        {"numpy.divide", of_sign("/")},
        {"numpy.matmul", of_sign("@")},
        {"numpy.dot", {2, 2, dot_call}},
        {"numpy.arctan2", {2, 2, arctan2_call}},
        {"math.atan2", {2, 2, arctan2_call}},
        {"numpy.maximum", of_two("max")},
        {"numpy.minimum", of_two("min")},
        {"max", python_extreme("reduce_max", "max")},
        {"min", python_extreme("reduce_min", "min")},
        {"sum", of_items("reduce_sum")},
        {"numpy.sum", reduction("reduce_sum")},
        {"numpy.prod", reduction("reduce_prod")},
        {"numpy.mean", {1, 2, mean_call, "axis"}},
        {"numpy.max", extreme_of("reduce_max")},
        {"numpy.min", extreme_of("reduce_min")},
        {"numpy.amax", extreme_of("reduce_max")},
        {"numpy.amin", extreme_of("reduce_min")},
        {"round",
         {1, 2,
          [](Builder& b, Values x) {
            return x.size() == 1 ? rounding("round", true).write(b, x) : rounded_to(b, x);
          },
          "ndigits"}},
        {"int", rounding("", true)},
        {"math.floor", rounding("floor", true)},
        {"math.ceil", rounding("ceil", true)},
        {"math.trunc", rounding("", true)},
        {"numpy.floor", rounding("floor", false)},
        {"numpy.ceil", rounding("ceil", false)},
        {"numpy.round", {1, 2, rounded_to, "decimals"}},
        {"numpy.around", {1, 2, rounded_to, "decimals"}},
        {"numpy.rint", rounding("round", false)},
        {"float", conversion(DType::f64)},
        {"bool", conversion(DType::boolean)},
        {"numpy.float64", conversion(DType::f64)},
        {"numpy.trunc",
         {1, 1,
          [](Builder& b, Values x) {
            const ValueId v = as_number(b, x[0]);
            const ValueId whole = b(
                "where", {b("less", {v, b.scalar(dtype_of(b, v), 0)}), b("ceil", {as_float(b, v)}),
                          b("floor", {as_float(b, v)})});
            return dtype_of(b, v) == DType::i64 ? v : whole;
          }}},
        {"numpy.asarray", {1, 1, [](Builder&, Values x) { return x[0]; }}},
        {"numpy.array", {1, 1, [](Builder&, Values x) { return x[0]; }}},
        {"numpy.where", {3, 3, where_call}},
        {"numpy.clip", {3, 3, clip_call}},
        {"numpy.zeros",
         {1, 1, [](Builder& b, Values x) { return filled(b, x[0], b.scalar(0.0)); }}},
        {"numpy.ones", {1, 1, [](Builder& b, Values x) { return filled(b, x[0], b.scalar(1.0)); }}},
        {"numpy.full", {2, 2, [](Builder& b, Values x) { return filled(b, x[0], x[1]); }}},
        {"numpy.logical_and",
         {2, 2,
          [](Builder& b, Values x) {
            return b("and", {as_bool(b, x[0]), as_bool(b, x[1])});
          }}},
        {"numpy.logical_or",
         {2, 2,
          [](Builder& b, Values x) {
            return b("or", {as_bool(b, x[0]), as_bool(b, x[1])});
          }}},
        {"numpy.logical_not",
         {1, 1, [](Builder& b, Values x) { return b("not", {as_bool(b, x[0])}); }}},
        {"numpy.transpose", {1, 1, [](Builder& b, Values x) { return b("transpose", {x[0]}); }}},
    });
    return t;
  }();
  return table;
}

/// The function that a wrong name may mean: that of a module where the module is missing (`exp`),
/// else the nearest name.
std::string near_function(const std::string& name) {
  for (const std::string_view module : {"numpy.", "math."})
    if (std::string full = fmt::format("{}{}", module, name); functions().contains(full))
      return full;
  return near_name(name, names_of_calls());
}

std::string count_text(const Call& c) {
  if (c.least == c.most) return fmt::format("{}", c.least);
  return c.most == 1000 ? fmt::format("{} or more", c.least)
                        : fmt::format("{} to {}", c.least, c.most);
}

}  // namespace

std::int64_t axis_of(const Builder& b, ValueId v) {
  const Tensor* axis = b.graph().constant(v);
  require(axis != nullptr && axis->dtype() == DType::i64 && axis->size() == 1,
          "an axis is given by a number");
  return axis->data_as<std::int64_t>()[0];
}

std::vector<std::string> names_of_calls() {
  std::vector<std::string> names;
  for (const auto& [name, c] : functions()) names.push_back(name);
  return names;
}

ValueId call(Builder& b, const std::string& function, Values arguments,
             std::span<const std::string> keywords) {
  const auto it = functions().find(function);
  if (it == functions().end()) {
    const std::string near = near_function(function);
    fail("there is no function '{}' here; {}", function,
         near.empty() ? "functions of numpy, math and a few of Python's are called"
                      : "did you mean '" + near + "'?");
  }
  const Call& c = it->second;
  require(arguments.size() >= c.least && arguments.size() <= c.most,
          "{} is given {} arguments; it takes {}", function, arguments.size(), count_text(c));
  for (const std::string& keyword : keywords)
    if (keywords.size() > 1 || arguments.size() != 2 || keyword != c.second)
      fail("{} is given '{}' by name; {}", function, keyword,
           c.second.empty() ? "its arguments are given by position here"
                            : fmt::format("only '{}' may be", c.second));
  return c.write(b, arguments);
}

double constant_of(const std::string& name) {
  static const std::map<std::string, double, std::less<>> constants{
      {"pi", std::numbers::pi},
      {"e", std::numbers::e},
      {"inf", std::numeric_limits<double>::infinity()},
      {"nan", std::numeric_limits<double>::quiet_NaN()},
  };
  const auto it = constants.find(name.substr(name.find('.') + 1));
  require(it != constants.end(), "there is no constant '{}' here; expected pi, e, inf or nan",
          name);
  return it->second;
}

}  // namespace rondel::mdf
