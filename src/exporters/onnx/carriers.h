#pragma once
#include "ir/graph.h"

#include <rondel/dtype.h>

#include <span>

/// ONNX has most ops for fewer dtypes than we do. Where an op gives the same in a wider dtype, it
/// is written in that one, between Casts.
namespace rondel::exporters {

/// How the results of an op that was given wider elements become its own.
enum class Carried {
  no,         ///< not at all
  kept,       ///< they are elements that were given, or facts about them
  wrapped,    ///< of integers: by their lowest bits, as the op itself wraps
  saturated,  ///< of integers: by the nearest that there is, as the op itself saturates
  rounded,    ///< of floats: by the one rounding that the op itself makes
};
Carried carried(const ir::Node&, DType narrow);

/// The dtypes that hold every value of `t`, in the order they are tried in. Through a Cast there
/// and back each code comes again, but that of the three NaNs of f8e5m2 only one is left.
std::span<const DType> carriers(DType t, Carried);

/// The attributes of the Cast back: what is infinite stays so.
ir::Attributes cast_back(DType narrow);

}  // namespace rondel::exporters
