#pragma once
#include "ir/graph.h"

#include <rondel/dtype.h>

#include <span>

/// Promotion: ONNX has most ops for fewer dtypes than we do. Where an op gives the same result in a
/// wider dtype, the node is written in that dtype, between Casts.
namespace rondel::exporters {

/// How the results of a promoted op are narrowed to its own dtype.
enum class Narrowing {
  none,       ///< the op cannot be promoted
  exact,      ///< results are elements of the inputs, or facts about them
  wrapped,    ///< integers: the lowest bits, as the op itself wraps
  saturated,  ///< integers: the nearest integer of the dtype, as the op itself saturates
  rounded,    ///< floats: one rounding, the one that the op itself makes
};
Narrowing narrowing_of(const ir::Node&, DType narrow);

/// The dtypes that hold every value of `t`, in the order in which they are tried. A Cast there and
/// back keeps each code; of the three NaNs of f8e5m2 it keeps one.
std::span<const DType> promoted_dtypes(DType t, Narrowing);

/// The attributes of the Cast back to `narrow`: infinities stay infinite.
ir::Attributes narrowing_cast(DType narrow);

}  // namespace rondel::exporters
