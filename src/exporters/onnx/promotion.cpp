#include "exporters/onnx/promotion.h"

#include <array>
#include <string_view>

namespace rondel::exporters {
namespace {

struct Row {
  std::string_view op;
  Narrowing how;
};
constexpr Row rows[] = {
    {"array_feature_extractor", Narrowing::exact},
    {"compress", Narrowing::exact},
    {"concat", Narrowing::exact},
    {"equal", Narrowing::exact},
    {"expand", Narrowing::exact},
    {"eye_like", Narrowing::exact},
    {"flatten", Narrowing::exact},
    {"gather", Narrowing::exact},
    {"gather_elements", Narrowing::exact},
    {"gather_nd", Narrowing::exact},
    {"is_inf", Narrowing::exact},
    {"is_nan", Narrowing::exact},
    {"max_pool", Narrowing::saturated},
    {"non_zero", Narrowing::exact},
    {"one_hot", Narrowing::exact},
    {"pad", Narrowing::exact},
    {"reduce_max", Narrowing::saturated},
    {"reduce_min", Narrowing::saturated},
    {"reshape", Narrowing::exact},
    {"reverse_sequence", Narrowing::exact},
    {"scatter_elements", Narrowing::exact},
    {"scatter_nd", Narrowing::exact},
    {"slice", Narrowing::exact},
    {"split", Narrowing::exact},
    {"squeeze", Narrowing::exact},
    {"tensor_scatter", Narrowing::exact},
    {"tile", Narrowing::exact},
    {"transpose", Narrowing::exact},
    {"trilu", Narrowing::exact},
    {"unique", Narrowing::exact},
    {"unsqueeze", Narrowing::exact},
    {"where", Narrowing::exact},
    {"cum_prod", Narrowing::wrapped},
    {"cum_sum", Narrowing::wrapped},
    {"mat_mul", Narrowing::wrapped},
    {"p_relu", Narrowing::wrapped},
    {"range", Narrowing::wrapped},
    {"reduce_l1", Narrowing::wrapped},
    {"reduce_prod", Narrowing::wrapped},
    {"reduce_sum", Narrowing::wrapped},
    {"reduce_sum_square", Narrowing::wrapped},
    {"reduce_l2", Narrowing::saturated},
    {"reduce_log_sum", Narrowing::saturated},
    {"reduce_log_sum_exp", Narrowing::saturated},
    {"shrink", Narrowing::rounded},
};

constexpr std::array f8s{DType::f16, DType::f32};
constexpr std::array real{DType::f32};
constexpr std::array f32s{DType::f64};
constexpr std::array unsigned_small{DType::u8, DType::i32, DType::i64, DType::f32};
constexpr std::array signed_small{DType::i8, DType::i32, DType::i64, DType::f32};
constexpr std::array whole{DType::i32, DType::i64, DType::f32};
constexpr std::array long_whole{DType::i64, DType::f64};
constexpr std::array u64s{DType::i64};  // holds the bits of a u64, but not every value
constexpr std::span<const DType> none;

}  // namespace

Narrowing narrowing_of(const ir::Node& n, DType narrow) {
  Narrowing how = Narrowing::none;
  for (const Row& r : rows)
    if (r.op == n.op->name) how = r.how;
  // Reductions round or wrap after each term.
  const std::string reduction = n.attributes.s("reduction", "none");
  if (reduction == "add" || reduction == "mul") how = Narrowing::wrapped;
  const bool whole = is_integer(narrow);
  // The sign of the limits determines the number of elements, and i64 would change it.
  if (n.op->name == "range" && narrow == DType::u64) return Narrowing::none;
  if ((how == Narrowing::wrapped || how == Narrowing::saturated) && !whole) return Narrowing::none;
  if (how == Narrowing::rounded && !is_float(narrow)) return Narrowing::none;
  return how;
}

std::span<const DType> promoted_dtypes(DType t, Narrowing how) {
  switch (t) {
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz:
    case DType::f4e2m1: return f8s;
    case DType::f8e8m0:
    case DType::f16:
    case DType::bf16: return real;
    case DType::f32: return f32s;
    case DType::boolean:
    case DType::u4:
    case DType::u2: return unsigned_small;
    case DType::i4:
    case DType::i2: return signed_small;
    case DType::i16:
    case DType::i8:
    case DType::u16:
    case DType::u8: return whole;
    case DType::i32:
    case DType::u32: return long_whole;
    case DType::u64: return how == Narrowing::saturated ? none : std::span<const DType>(u64s);
    default: return {};
  }
}

ir::Attributes narrowing_cast(DType narrow) {
  ir::Attributes how{{"to", ir::Type::scalar(narrow)}};
  if (is_small_float(narrow) && narrow != DType::f8e8m0 && narrow != DType::f4e2m1)
    how.set("saturate", std::int64_t{0});
  return how;
}

}  // namespace rondel::exporters
