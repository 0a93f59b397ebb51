#include "exporters/onnx/carriers.h"

#include <array>
#include <string_view>

namespace rondel::exporters {
namespace {

struct Row {
  std::string_view op;
  Carried how;
};
constexpr Row rows[] = {
    {"array_feature_extractor", Carried::kept},
    {"concat", Carried::kept},
    {"equal", Carried::kept},
    {"expand", Carried::kept},
    {"eye_like", Carried::kept},
    {"flatten", Carried::kept},
    {"gather", Carried::kept},
    {"gather_elements", Carried::kept},
    {"gather_nd", Carried::kept},
    {"is_inf", Carried::kept},
    {"is_nan", Carried::kept},
    {"max_pool", Carried::saturated},
    {"non_zero", Carried::kept},
    {"one_hot", Carried::kept},
    {"pad", Carried::kept},
    {"reduce_max", Carried::saturated},
    {"reduce_min", Carried::saturated},
    {"reshape", Carried::kept},
    {"scatter_elements", Carried::kept},
    {"scatter_nd", Carried::kept},
    {"slice", Carried::kept},
    {"split", Carried::kept},
    {"squeeze", Carried::kept},
    {"tile", Carried::kept},
    {"transpose", Carried::kept},
    {"trilu", Carried::kept},
    {"unique", Carried::kept},
    {"unsqueeze", Carried::kept},
    {"where", Carried::kept},
    {"cum_prod", Carried::wrapped},
    {"cum_sum", Carried::wrapped},
    {"mat_mul", Carried::wrapped},
    {"p_relu", Carried::wrapped},
    {"range", Carried::wrapped},
    {"reduce_l1", Carried::wrapped},
    {"reduce_prod", Carried::wrapped},
    {"reduce_sum", Carried::wrapped},
    {"reduce_sum_square", Carried::wrapped},
    {"reduce_l2", Carried::saturated},
    {"reduce_log_sum", Carried::saturated},
    {"reduce_log_sum_exp", Carried::saturated},
    {"shrink", Carried::rounded},
};

constexpr std::array f8s{DType::f16, DType::f32};
constexpr std::array real{DType::f32};
constexpr std::array f32s{DType::f64};
constexpr std::array unsigned_small{DType::u8, DType::i32, DType::i64, DType::f32};
constexpr std::array signed_small{DType::i8, DType::i32, DType::i64, DType::f32};
constexpr std::array whole{DType::i32, DType::i64, DType::f32};
constexpr std::array long_whole{DType::i64, DType::f64};
constexpr std::array u64s{DType::i64};  // not its values, but its bits
constexpr std::span<const DType> none;

}  // namespace

Carried carried(const ir::Node& n, DType narrow) {
  Carried how = Carried::no;
  for (const Row& r : rows)
    if (r.op == n.op->name) how = r.how;
  // What is added to is rounded, or wraps, after each term.
  const std::string reduction = n.attributes.s("reduction", "none");
  if (reduction == "add" || reduction == "mul") how = Carried::wrapped;
  const bool whole = is_integer(narrow);
  // How many numbers there are depends on their signs.
  if (n.op->name == "range" && narrow == DType::u64) return Carried::no;
  if ((how == Carried::wrapped || how == Carried::saturated) && !whole) return Carried::no;
  if (how == Carried::rounded && !is_float(narrow)) return Carried::no;
  return how;
}

std::span<const DType> carriers(DType t, Carried how) {
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
    case DType::u64: return how == Carried::saturated ? none : std::span<const DType>(u64s);
    default: return {};
  }
}

ir::Attributes cast_back(DType narrow) {
  ir::Attributes how{{"to", ir::Type::scalar(narrow)}};
  if (is_small_float(narrow) && narrow != DType::f8e8m0 && narrow != DType::f4e2m1)
    how.set("saturate", std::int64_t{0});
  return how;
}

}  // namespace rondel::exporters
