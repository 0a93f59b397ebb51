// Reductions whose axes were an attribute, and softmax when it worked on a matrix.
#include "frontends/onnx/rules.h"

namespace rondel::onnx {
namespace {

std::vector<ValueId> reduce_axes(Call& c) {
  const auto axes = c.take("axes");
  if (axes && !std::get<ir::Ints>(*axes).empty())
    c.set_input(1, c.integers(std::get<ir::Ints>(*axes)));
  return c.newest();
}

/// Before 13 the input was flattened to a matrix: `axis` is the first axis that becomes part of the
/// columns. The op works along axis 1 of that matrix.
std::vector<ValueId> as_matrix(Call& c) {
  const auto given = c.take("axis");
  const std::int64_t axis = given ? std::get<std::int64_t>(*given) : 1;
  const ValueId x = c.in(0);
  if (const ir::Type& t = c.importer.type(x); t.is_tensor() && t.has_rank())
    require(axis < t.rank(), "axis {} of {}; expected one of its axes", axis, ir::to_text(t));
  const ValueId matrix = c.one("Flatten", {x}, {{"axis", axis}});
  const ValueId y = c.one(c.op, {matrix}, {{"axis", std::int64_t{1}}});
  return c.add("Reshape", {y, c.one("Shape", {x})}, {{"allowzero", std::int64_t{1}}});
}

}  // namespace

std::span<const Rule> reduction_rules() {
  static constexpr Rule rules[] = {
      {"ReduceSum", 1, 12, reduce_axes},       {"ReduceMean", 1, 17, reduce_axes},
      {"ReduceMax", 1, 17, reduce_axes},       {"ReduceMin", 1, 17, reduce_axes},
      {"ReduceProd", 1, 17, reduce_axes},      {"ReduceL1", 1, 17, reduce_axes},
      {"ReduceL2", 1, 17, reduce_axes},        {"ReduceLogSum", 1, 17, reduce_axes},
      {"ReduceLogSumExp", 1, 17, reduce_axes}, {"ReduceSumSquare", 1, 17, reduce_axes},
      {"Softmax", 1, 12, as_matrix},           {"LogSoftmax", 1, 12, as_matrix},
      {"Hardmax", 1, 12, as_matrix},
  };
  return rules;
}

}  // namespace rondel::onnx
