#pragma once
#include "frontends/onnx/importer.h"

#include <cstdint>
#include <string>

/// Lengths that a rule requires to fit each other: at once, or in the run if only the run knows
/// them.
namespace rondel::onnx {

/// An extent of a tensor, on an axis from the front or the end, in a formula: times * extent +
/// plus. Without a tensor it is the number `plus`.
struct Length {
  ValueId x = ValueId::none;
  std::int64_t axis = 0, times = 1, plus = 0;
};

ir::Integer known(const Call&, const Length&);
/// The length as a scalar.
ValueId computed(const Call&, const Length&);
/// Whether the length is 0 in some run.
bool may_be_zero(const Call&, const Length&);

/// Requires that a == b, or (`at_most`) a <= b.
void require_lengths(const Call&, const Length& a, const Length& b, bool at_most,
                     const std::string& message);
/// Requires that a is one of two lengths.
void require_either(const Call&, const Length& a, const Length& one, const Length& other,
                    const std::string& message);

}  // namespace rondel::onnx
