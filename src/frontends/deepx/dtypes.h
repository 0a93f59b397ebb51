#pragma once
#include <rondel/dtype.h>

#include "frontends/deepx/statement.h"

#include <span>

namespace rondel::deepx {

/// A set of dtypes that instructions take.
struct DTypes {
  std::string_view name;  ///< "floats"
  std::span<const DType> all;
  bool contains(DType) const;
};
extern const DTypes floats;      ///< float64, float32, float16, bfloat16
extern const DTypes integers;    ///< int64, int32, int16, int8
extern const DTypes numbers;     ///< both
extern const DTypes bits;        ///< integers and bool
extern const DTypes all_dtypes;  ///< numbers and bool
extern const DTypes booleans;    ///< bool

/// "float32": how the language writes a dtype. Only of `all_dtypes`.
std::string_view dtype_text(DType);
/// Throws Error(caller) at the word for what is no dtype, or one that no tensor has here.
DType dtype_of(const Word&);
/// "float32[2, 3]"
std::string type_text(DType, std::span<const std::int64_t> shape);

}  // namespace rondel::deepx
