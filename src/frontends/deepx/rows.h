// Helpers for writing rows of the instruction table.
#pragma once
#include "frontends/deepx/call.h"

namespace rondel::deepx {

inline OperandDef tensor(std::string_view name, Takes takes = Takes::same) {
  return {name, Category::tensor, takes};
}
inline OperandDef tensors(std::string_view name) { return {name, Category::tensors}; }
inline OperandDef argument(std::string_view name, Takes takes = Takes::same) {
  return {name, Category::argument, takes};
}
inline OperandDef vector(std::string_view name, Takes takes = Takes::integer) {
  return {name, Category::vector, takes};
}
inline OperandDef optional(OperandDef d) {
  d.optional = true;
  return d;
}

/// Computes the value by one op, whose inputs are the tensor operands in order.
inline std::function<ir::ValueId(Call&)> op_of_tensors(std::string_view op,
                                                       ir::Attributes attributes = {}) {
  return [op, attributes = std::move(attributes)](Call& c) {
    std::vector<ir::ValueId> all;
    for (std::size_t k = 0; c.is_tensor(k); ++k) all.push_back(c.tensor(k));
    return c(op, std::move(all), attributes);
  };
}
/// Computes the value by one op of a tensor and an argument; the argument comes first if `swapped`.
inline std::function<ir::ValueId(Call&)> op_with_scalar(std::string_view op, bool swapped = false,
                                                        ir::Attributes attributes = {}) {
  return [op, swapped, attributes = std::move(attributes)](Call& c) {
    const std::size_t t = swapped ? 1 : 0, a = swapped ? 0 : 1;
    const ir::ValueId x = c.tensor(t), y = c.number(a);
    return c(op, swapped ? std::vector{y, x} : std::vector{x, y}, attributes);
  };
}

}  // namespace rondel::deepx
