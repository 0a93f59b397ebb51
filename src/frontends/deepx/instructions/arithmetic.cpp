// Element-wise arithmetic on tensors, and on a tensor and an argument.
#include "frontends/deepx/rows.h"

namespace rondel::deepx {
namespace {

/// c = a op b.
Instruction binary(std::string_view name, std::string_view op, std::string_view doc,
                   ir::Attributes attributes = {}) {
  return {.name = name,
          .doc = doc,
          .inputs = {tensor("a"), tensor("b")},
          .outputs = {tensor("c")},
          .dtypes = numbers,
          .one_shape = true,
          .two_way = true,
          .value = op_of_tensors(op, std::move(attributes))};
}

/// c = a op s.
Instruction with_scalar(std::string_view name, std::string_view other, std::string_view op,
                        std::string_view doc, ir::Attributes attributes = {}) {
  return {.name = name,
          .doc = doc,
          .inputs = {tensor("a"), argument("s")},
          .outputs = {tensor("c")},
          .dtypes = numbers,
          .spellings = {other},
          .one_shape = true,
          .two_way = true,
          .value = op_with_scalar(op, false, std::move(attributes))};
}

/// c = s op a.
Instruction after_scalar(std::string_view name, std::string_view other, std::string_view op,
                         std::string_view doc) {
  return {.name = name,
          .doc = doc,
          .inputs = {argument("s"), tensor("a")},
          .outputs = {tensor("c")},
          .dtypes = numbers,
          .spellings = {other},
          .one_shape = true,
          .two_way = true,
          .value = op_with_scalar(op, true)};
}

/// c = op a.
Instruction unary(std::string_view name, std::string_view doc) {
  return {.name = name,
          .doc = doc,
          .inputs = {tensor("a")},
          .outputs = {tensor("c")},
          .dtypes = floats,
          .one_shape = true,
          .two_way = true,
          .value = op_of_tensors(name)};
}

const ir::Attributes c_remainder{{"fmod", 1}};

const InstructionRows arithmetic{{
    binary("add", "add", "c = a + b"),
    with_scalar("add_scalar", "addscalar", "add", "c = a + s"),
    binary("sub", "sub", "c = a - b"),
    with_scalar("sub_scalar", "subscalar", "sub", "c = a - s"),
    after_scalar("rsubscalar", "rsub_scalar", "sub", "c = s - a"),
    binary("mul", "mul", "c = a * b, element by element"),
    with_scalar("mul_scalar", "mulscalar", "mul", "c = a * s"),
    binary("div", "div", "c = a / b; integers towards zero"),
    with_scalar("div_scalar", "divscalar", "div", "c = a / s; integers towards zero"),
    after_scalar("rdivscalar", "rdiv_scalar", "div", "c = s / a; integers towards zero"),
    binary("mod", "mod", "c = the remainder of a / b, with the sign of a", c_remainder),
    with_scalar("mod_scalar", "modscalar", "mod", "c = the remainder of a / s, with the sign of a",
                c_remainder),
    binary("pow", "pow", "c = a to the power b"),
    with_scalar("pow_scalar", "powscalar", "pow", "c = a to the power s"),
    after_scalar("rpowscalar", "rpow_scalar", "pow", "c = s to the power a"),
    binary("max", "max", "c = the greater of a and b, element by element; ties share the gradient"),
    with_scalar("max_scalar", "maxscalar", "max",
                "c = the greater of a and s; at a tie a gets half of the gradient"),
    binary("min", "min", "c = the less of a and b, element by element; ties share the gradient"),
    with_scalar("min_scalar", "minscalar", "min",
                "c = the less of a and s; at a tie a gets half of the gradient"),
    unary("exp", "c = e to the power a"),
    unary("sqrt", "c = the square root of a"),
    unary("log", "c = the natural logarithm of a"),
    unary("sin", "c = the sine of a, in radians"),
    unary("cos", "c = the cosine of a, in radians"),
    unary("tan", "c = the tangent of a, in radians"),
}};

}  // namespace
}  // namespace rondel::deepx
