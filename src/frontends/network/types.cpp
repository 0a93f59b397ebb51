#include <rondel/network/types.h>

#include "base/error.h"

#include <utility>

namespace rondel::network {
namespace {

constexpr std::pair<DataType, DType> pairs[] = {
    {DataType::kFLOAT, DType::f32},
    {DataType::kHALF, DType::f16},
    {DataType::kINT8, DType::i8},
    {DataType::kINT32, DType::i32},
    {DataType::kBOOL, DType::boolean},
    {DataType::kUINT8, DType::u8},
    {DataType::kFP8, DType::f8e4m3fn},
    {DataType::kBF16, DType::bf16},
    {DataType::kINT64, DType::i64},
    {DataType::kINT4, DType::i4},
    {DataType::kFP4, DType::f4e2m1},
    {DataType::kE8M0, DType::f8e8m0},
    {DataType::kDOUBLE, DType::f64},
    {DataType::kINT16, DType::i16},
    {DataType::kUINT16, DType::u16},
    {DataType::kUINT32, DType::u32},
    {DataType::kUINT64, DType::u64},
    {DataType::kUINT4, DType::u4},
    {DataType::kINT2, DType::i2},
    {DataType::kUINT2, DType::u2},
    {DataType::kFP8E4M3FNUZ, DType::f8e4m3fnuz},
    {DataType::kFP8E5M2, DType::f8e5m2},
    {DataType::kFP8E5M2FNUZ, DType::f8e5m2fnuz},
    {DataType::kCOMPLEX64, DType::c64},
    {DataType::kCOMPLEX128, DType::c128},
    {DataType::kSTRING, DType::string},
};
static_assert(std::size(pairs) == dtype_count);

}  // namespace

DType dtype(DataType t) {
  for (const auto& [theirs, ours] : pairs)
    if (theirs == t) return ours;
  fail("there is no DataType {}", static_cast<int>(t));
}

DataType data_type(DType t) {
  for (const auto& [theirs, ours] : pairs)
    if (ours == t) return theirs;
  fail("there is no DType {}", static_cast<int>(t));
}

}  // namespace rondel::network
