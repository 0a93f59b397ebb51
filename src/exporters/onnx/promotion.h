#pragma once
#include "ir/graph.h"

#include <rondel/dtype.h>

#include <span>

/// Promotion: most ops of ONNX take fewer dtypes than ours. If an op gives the same result in a
/// wider dtype, the node is written in that dtype, between Casts.
namespace rondel::exporters {

/// How the results of a promoted op are narrowed to its own dtype.
enum class Narrowing {
  none,       ///< the op cannot be promoted
  exact,      ///< no arithmetic: results are elements of the inputs, masks or indices
  wrapped,    ///< integers: the lowest bits, because the op itself wraps
  saturated,  ///< integers: the nearest integer of the dtype, because the op itself saturates
  rounded,    ///< floats: rounded once, as the op itself rounds
};
Narrowing narrowing_of(const ir::Node&, DType narrow);

/// The dtypes that hold every value of `t`, in the order in which they are tried. A Cast to such a
/// dtype and back keeps every bit pattern, except that f8e5m2 keeps one of its three NaNs.
std::span<const DType> promoted_dtypes(DType t, Narrowing);

/// The attributes of the Cast back to `narrow`, which keep infinities.
ir::Attributes narrowing_cast(DType narrow);

}  // namespace rondel::exporters
