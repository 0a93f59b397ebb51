#include "frontends/deepx/dtypes.h"

#include "base/text.h"

#include <algorithm>
#include <array>
#include <utility>

namespace rondel::deepx {
namespace {

constexpr std::array every{DType::f64, DType::f32, DType::f16, DType::bf16,   DType::i64,
                           DType::i32, DType::i16, DType::i8,  DType::boolean};
constexpr std::array spelt{"float64", "float32", "float16", "bfloat16", "int64",
                           "int32",   "int16",   "int8",    "bool"};
/// Dtypes of the language that are not supported here.
constexpr std::array storage_only{"float8e5m2", "float8e4m3", "float4e2m1", "int4", "string"};

constexpr std::span<const DType> from(std::size_t first, std::size_t count) {
  return std::span<const DType>(every).subspan(first, count);
}

}  // namespace

const DTypes floats{"floats", from(0, 4)};
const DTypes integers{"integers", from(4, 4)};
const DTypes numbers{"numbers", from(0, 8)};
const DTypes bits{"integers and bool", from(4, 5)};
const DTypes all_dtypes{"all", from(0, 9)};
const DTypes booleans{"bool", from(8, 1)};

bool DTypes::contains(DType t) const { return std::ranges::find(all, t) != all.end(); }

std::string_view dtype_text(DType t) {
  return spelt[static_cast<std::size_t>(std::ranges::find(every, t) - every.begin())];
}

DType dtype_of(const Word& w) {
  const auto* const found = std::ranges::find(spelt, w.text);
  if (found != spelt.end()) return every[static_cast<std::size_t>(found - spelt.begin())];
  if (std::ranges::find(storage_only, w.text) != storage_only.end())
    fail_at_position(w.at, "dtype '{}' is not supported; expected one of {}", w.text, join(spelt));
  fail_at_position(w.at, "there is no dtype '{}'; expected one of {}", w.text, join(spelt));
}

std::string type_text(DType t, std::span<const std::int64_t> shape) {
  return fmt::format("{}[{}]", dtype_text(t), join(shape));
}

}  // namespace rondel::deepx
