#pragma once
#include <rondel/dtype.h>

#include "frontends/deepx/statement.h"

#include <span>

namespace rondel::deepx {

/// A named set of dtypes.
struct DTypes {
  std::string_view name;  ///< "floats"
  std::span<const DType> all;
  bool contains(DType) const;
};
extern const DTypes floats;      ///< float64, float32, float16, bfloat16
extern const DTypes integers;    ///< int64, int32, int16, int8
extern const DTypes numbers;     ///< floats and integers
extern const DTypes bits;        ///< integers and bool
extern const DTypes all_dtypes;  ///< numbers and bool
extern const DTypes booleans;    ///< bool

/// "float32": the deepx name of a dtype, which must be one of `all_dtypes`.
std::string_view dtype_text(DType);
/// The dtype of this name. Throws Error(caller), with a position, if it is unknown or unsupported.
DType dtype_of(const Word&);
/// "float32[2, 3]"
std::string type_text(DType, std::span<const std::int64_t> shape);

}  // namespace rondel::deepx
