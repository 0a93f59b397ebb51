#include "formats/onnx/types.h"

#include <array>
#include <utility>

namespace rondel::onnx {
namespace {

struct Row {
  DType dtype;
  std::int32_t number;
  const char* text;
};
using TP = pb::TensorProto;
constexpr std::array<Row, dtype_count> table = {{
    {DType::f64, TP::DOUBLE, "double"},
    {DType::f32, TP::FLOAT, "float"},
    {DType::f16, TP::FLOAT16, "float16"},
    {DType::bf16, TP::BFLOAT16, "bfloat16"},
    {DType::f8e4m3fn, TP::FLOAT8E4M3FN, "float8e4m3fn"},
    {DType::f8e4m3fnuz, TP::FLOAT8E4M3FNUZ, "float8e4m3fnuz"},
    {DType::f8e5m2, TP::FLOAT8E5M2, "float8e5m2"},
    {DType::f8e5m2fnuz, TP::FLOAT8E5M2FNUZ, "float8e5m2fnuz"},
    {DType::f8e8m0, TP::FLOAT8E8M0, "float8e8m0"},
    {DType::f4e2m1, TP::FLOAT4E2M1, "float4e2m1"},
    {DType::i64, TP::INT64, "int64"},
    {DType::i32, TP::INT32, "int32"},
    {DType::i16, TP::INT16, "int16"},
    {DType::i8, TP::INT8, "int8"},
    {DType::i4, TP::INT4, "int4"},
    {DType::i2, TP::INT2, "int2"},
    {DType::u64, TP::UINT64, "uint64"},
    {DType::u32, TP::UINT32, "uint32"},
    {DType::u16, TP::UINT16, "uint16"},
    {DType::u8, TP::UINT8, "uint8"},
    {DType::u4, TP::UINT4, "uint4"},
    {DType::u2, TP::UINT2, "uint2"},
    {DType::boolean, TP::BOOL, "bool"},
    {DType::c64, TP::COMPLEX64, "complex64"},
    {DType::c128, TP::COMPLEX128, "complex128"},
    {DType::string, TP::STRING, "string"},
}};

const Row& row(DType t) {
  for (const Row& r : table)
    if (r.dtype == t) return r;
  throw_error(Blame::internal, "a dtype without a number in ONNX");
}

constexpr int deepest_type = 8;

ir::Type tensor_type(const pb::TypeProto::Tensor& t, std::string_view what) {
  const DType dtype = require_dtype(t.elem_type(), what);
  if (!t.has_shape()) return ir::Type::unranked(dtype);
  ir::Extents extents;
  for (const auto& dim : t.shape().dim()) {
    if (dim.has_dim_value() && dim.dim_value() >= 0) extents.emplace_back(dim.dim_value());
    else if (dim.has_dim_param() && !dim.dim_param().empty())
      extents.push_back(ir::Extent::named(dim.dim_param()));
    else extents.emplace_back();
  }
  return ir::Type::tensor(dtype, std::move(extents));
}

ir::Type map_type(const pb::TypeProto::Map& t, std::string_view what) {
  const DType key = require_dtype(t.key_type(), what);
  if (key != DType::i64 && key != DType::string)
    unsupported("{}: a map with keys of {} is not supported; int64 and string are", what,
                name(key));
  if (!t.value_type().has_tensor_type())
    unsupported("{}: a map to other values than numbers and strings is not supported", what);
  return ir::Type::map(key, require_dtype(t.value_type().tensor_type().elem_type(), what));
}

ir::Type type_of(const pb::TypeProto& t, std::string_view what, int depth) {
  require(depth < deepest_type, "{}: its type is nested deeper than {}", what, deepest_type);
  switch (t.value_case()) {
    case pb::TypeProto::kTensorType: return tensor_type(t.tensor_type(), what);
    case pb::TypeProto::kSequenceType:
      return ir::Type::sequence(type_of(t.sequence_type().elem_type(), what, depth + 1));
    case pb::TypeProto::kOptionalType:
      return ir::Type::optional(type_of(t.optional_type().elem_type(), what, depth + 1));
    case pb::TypeProto::kMapType:
      if (depth > 0) unsupported("{}: lists and optionals of maps are not supported", what);
      return map_type(t.map_type(), what);
    case pb::TypeProto::kSparseTensorType:
      unsupported("{}: sparse tensors are supported as constants only", what);
    case pb::TypeProto::kOpaqueType: unsupported("{}: opaque types are not supported", what);
    case pb::TypeProto::VALUE_NOT_SET: break;
  }
  fail("{} has no type", what);
}

}  // namespace

std::optional<DType> dtype_of(std::int32_t number) {
  for (const Row& r : table)
    if (r.number == number) return r.dtype;
  return std::nullopt;
}

DType require_dtype(std::int32_t number, std::string_view what) {
  if (const auto t = dtype_of(number)) return *t;
  if (pb::TensorProto::DataType_IsValid(number) && number != TP::UNDEFINED)
    unsupported("{}: element type {} ({}) is not supported", what, number,
                TP::DataType_Name(static_cast<TP::DataType>(number)));
  fail("{}: {} is not an element type of ONNX", what, number);
}

std::int32_t data_type_of(DType t) { return row(t).number; }

ir::Type type_of(const pb::TypeProto& t, std::string_view what) { return type_of(t, what, 0); }

bool declares_type(const pb::TypeProto& t) {
  switch (t.value_case()) {
    case pb::TypeProto::kTensorType: return t.tensor_type().elem_type() != TP::UNDEFINED;
    case pb::TypeProto::kSequenceType: return declares_type(t.sequence_type().elem_type());
    case pb::TypeProto::kOptionalType: return declares_type(t.optional_type().elem_type());
    case pb::TypeProto::VALUE_NOT_SET: return false;
    default: return true;
  }
}

pb::TypeProto type_proto(const ir::Type& t) {
  pb::TypeProto out;
  switch (t.kind()) {
    case ir::Type::Kind::none: break;
    case ir::Type::Kind::sequence:
      *out.mutable_sequence_type()->mutable_elem_type() = type_proto(t.element());
      break;
    case ir::Type::Kind::optional:
      *out.mutable_optional_type()->mutable_elem_type() = type_proto(t.element());
      break;
    case ir::Type::Kind::map:
      out.mutable_map_type()->set_key_type(data_type_of(t.key()));
      *out.mutable_map_type()->mutable_value_type() = type_proto(ir::Type::scalar(t.dtype()));
      break;
    case ir::Type::Kind::tensor: {
      out.mutable_tensor_type()->set_elem_type(data_type_of(t.dtype()));
      if (!t.has_rank()) break;
      auto* shape = out.mutable_tensor_type()->mutable_shape();
      for (const ir::Extent& e : t.extents()) {
        auto* dim = shape->add_dim();
        if (e.known()) dim->set_dim_value(e.value);
        // The text of any other symbol could be the name of another dimension.
        else if (e.symbolic() && e.symbol.is_name_of_models()) dim->set_dim_param(e.symbol.name());
      }
    }
  }
  return out;
}

std::string schema_text(const ir::Type& t) {
  switch (t.kind()) {
    case ir::Type::Kind::none: return "";
    case ir::Type::Kind::sequence: return "seq(" + schema_text(t.element()) + ")";
    case ir::Type::Kind::optional: return "optional(" + schema_text(t.element()) + ")";
    case ir::Type::Kind::map:
      return fmt::format("map({},tensor({}))", row(t.key()).text, row(t.dtype()).text);
    case ir::Type::Kind::tensor: return std::string("tensor(") + row(t.dtype()).text + ")";
  }
  return "";
}

}  // namespace rondel::onnx
