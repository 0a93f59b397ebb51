// Element-wise comparisons, selection, bit operations and casts.
#include "frontends/deepx/rows.h"

namespace rondel::deepx {
namespace {

using ir::ValueId;

/// Whether a and b differ by at most operand `k`; whether they are equal if operand `k` is
/// omitted.
ValueId equal(Call& c, ValueId a, ValueId b, std::size_t k) {
  if (!c.has(k)) return c("equal", {a, b});
  const DType t = c.b.graph().value(a).type.dtype();
  if (is_integer(t)) {
    // A distance that does not fit into the dtype is negative.
    const ValueId distance = c("sub", {c("max", {a, b}), c("min", {a, b})});
    return c("and", {c("less_or_equal", {distance, c.number(k)}),
                     c("greater_or_equal", {distance, c.b.scalar(t, 0)})});
  }
  const ValueId distance = c("abs", {c("sub", {a, b})});
  // Infinities of one sign are equal, but their difference is NaN.
  return c("or", {c("less_or_equal", {distance, c.number(k)}), c("equal", {a, b})});
}

Instruction comparison(std::string_view name, std::string_view other, std::string_view doc,
                       bool with_scalar, bool with_epsilon, std::function<ValueId(Call&)> value) {
  Instruction i{.name = name,
                .doc = doc,
                .inputs = {tensor("a"), with_scalar ? argument("s") : tensor("b")},
                .outputs = {tensor("c", Takes::boolean)},
                .dtypes = numbers,
                .one_shape = true,
                .value = std::move(value)};
  if (with_epsilon) i.inputs.push_back(optional(argument("epsilon")));
  if (!other.empty()) i.spellings.push_back(other);
  return i;
}

ValueId second(Call& c) { return c.is_tensor(1) ? c.tensor(1) : c.number(1); }
ValueId is_equal(Call& c) { return equal(c, c.tensor(0), second(c), 2); }
ValueId is_not_equal(Call& c) { return c("not", {is_equal(c)}); }
ValueId is_less(Call& c) { return c("less", {c.tensor(0), second(c)}); }
ValueId is_greater(Call& c) { return c("greater", {c.tensor(0), second(c)}); }

/// Selects each element from the tensor whose index is the element of `cases`.
ValueId chosen(Call& c) {
  const std::vector<ValueId>& all = c.tensors(0);
  const ValueId which = c.tensor(1);
  const DType t = c.b.graph().value(which).type.dtype();
  if (t == DType::boolean) {
    if (all.size() != 2)
      fail_at_position(c.at(1), "cases of bool choose between 2 tensors; there are {}", all.size());
    return c("where", {which, all[1], all[0]});
  }
  const auto most = static_cast<std::int64_t>(all.size()) - 1;
  const ValueId number = c(
      "bounded", {c.cast(which, DType::i64), c.b.scalar(most)},
      {{"least", std::int64_t{0}}, {"message", "case {} is not one of 0 to {}"}});
  ValueId value = all[0];
  for (std::int64_t k = 1; k <= most; ++k)
    value = c("where",
              {c("equal", {number, c.b.scalar(k)}), all[static_cast<std::size_t>(k)], value});
  return value;
}

const InstructionRows comparisons{{
    comparison("equal", "", "c = whether a and b are equal, or differ by at most epsilon", false,
               true, is_equal),
    comparison("equal_scalar", "equalscalar",
               "c = whether a and s are equal, or differ by at most epsilon", true, true, is_equal),
    comparison("notequal", "not_equal", "c = whether a and b differ, by more than epsilon", false,
               true, is_not_equal),
    comparison("notequal_scalar", "notequalscalar",
               "c = whether a and s differ, by more than epsilon", true, true, is_not_equal),
    comparison("less", "", "c = whether a is less than b", false, false, is_less),
    comparison("less_scalar", "lessscalar", "c = whether a is less than s", true, false, is_less),
    comparison("greater", "", "c = whether a is greater than b", false, false, is_greater),
    comparison("greater_scalar", "greaterscalar", "c = whether a is greater than s", true, false,
               is_greater),
    {.name = "switch",
     .doc = "c = the element of the tensor that cases number, from 0; of bool: false the first, "
            "true the second",
     .inputs = {tensors("a"), tensor("cases", Takes::any)},
     .outputs = {tensor("c")},
     .dtypes = all_dtypes,
     .one_shape = true,
     .two_way = true,
     .value = chosen},
    {.name = "invert",
     .doc = "c = a with every bit inverted; of bool: not a",
     .inputs = {tensor("a")},
     .outputs = {tensor("c")},
     .dtypes = bits,
     .one_shape = true,
     .value =
         [](Call& c) {
           return c(c.dtype() == DType::boolean ? "not" : "bitwise_not", {c.tensor(0)});
         }},
    {.name = "todtype",
     .doc =
         "c = a in the dtype of c: floats to integers towards zero, saturating; to bool: not zero",
     .inputs = {tensor("a")},
     .outputs = {tensor("c", Takes::any)},
     .dtypes = all_dtypes,
     .one_shape = true,
     .two_way = true,
     .value = [](Call& c) { return c.cast(c.tensor(0), c.output_dtype()); }},
}};

}  // namespace
}  // namespace rondel::deepx
