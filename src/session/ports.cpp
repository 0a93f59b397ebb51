#include "session/ports.h"

#include "base/error.h"

namespace rondel::session {
namespace {

/// ONNX's names of element types.
std::string_view onnx_name(DType t) {
  switch (t) {
    case DType::f64: return "double";
    case DType::f32: return "float";
    case DType::f16: return "float16";
    case DType::bf16: return "bfloat16";
    case DType::f8e4m3fn: return "float8e4m3fn";
    case DType::f8e4m3fnuz: return "float8e4m3fnuz";
    case DType::f8e5m2: return "float8e5m2";
    case DType::f8e5m2fnuz: return "float8e5m2fnuz";
    case DType::f8e8m0: return "float8e8m0";
    case DType::f4e2m1: return "float4e2m1";
    case DType::i64: return "int64";
    case DType::i32: return "int32";
    case DType::i16: return "int16";
    case DType::i8: return "int8";
    case DType::i4: return "int4";
    case DType::i2: return "int2";
    case DType::u64: return "uint64";
    case DType::u32: return "uint32";
    case DType::u16: return "uint16";
    case DType::u8: return "uint8";
    case DType::u4: return "uint4";
    case DType::u2: return "uint2";
    case DType::boolean: return "bool";
    case DType::c64: return "complex64";
    case DType::c128: return "complex128";
    case DType::string: return "string";
  }
  return "?";
}

std::string type_text(const ir::Type& t) {
  switch (t.kind()) {
    case ir::Type::Kind::sequence: return "seq(" + type_text(t.element()) + ")";
    case ir::Type::Kind::optional: return "optional(" + type_text(t.element()) + ")";
    case ir::Type::Kind::map:
      return fmt::format("map({},tensor({}))", onnx_name(t.key()), onnx_name(t.dtype()));
    case ir::Type::Kind::none: return "";
    case ir::Type::Kind::tensor: break;
  }
  return fmt::format("tensor({})", onnx_name(t.dtype()));
}

/// `item`: the index of the tensor in a sequence that is fed, or -1.
void check_tensor(const std::string& name, std::ptrdiff_t item, const Tensor& t,
                  const ir::Type& expected) {
  if (t.defined() && t.dtype() == expected.dtype() &&
      fits(ir::Type::tensor(t.dtype(), t.shape()), expected))
    return;
  const std::string what = item < 0 ? fmt::format("input '{}'", name)
                                    : fmt::format("item {} of input '{}'", item, name);
  fail("{} is {}; expected {}", what, to_text(Value(t)), to_text(expected));
}

void check_sequence(const std::string& name, const Value& v, const ir::Type& expected) {
  if (!v.is_sequence()) fail("input '{}' is {}; expected {}", name, to_text(v), to_text(expected));
  const Sequence& s = v.sequence();
  require(s.items != nullptr,
          "input '{}' is a sequence that was moved from, or whose `items` is null; expected {}",
          name, to_text(expected));
  for (std::size_t k = 0; k < s.items->size(); ++k)
    check_tensor(name, static_cast<std::ptrdiff_t>(k), (*s.items)[k], expected.element());
  require(s.dtype == expected.element().dtype(), "input '{}' is {}; expected {}", name, to_text(v),
          to_text(expected));
}

void check_map(const std::string& name, const Value& v, const ir::Type& expected) {
  if (!v.is_map()) fail("input '{}' is {}; expected {}", name, to_text(v), to_text(expected));
  const auto& [keys, values] = v.map();
  if (ir::Type::of(v) != expected)
    fail("input '{}' is a {}; expected {}", name, to_text(v), to_text(expected));
  if (keys.shape().size() != 1 || keys.shape() != values.shape())
    fail("input '{}' is a map of {} to {}; expected two lists of one length", name,
         to_text(keys.dtype(), keys.shape()), to_text(values.dtype(), values.shape()));
}

/// Symbols that Rondel has made are shown as unknown extents.
std::string extent_text(const ir::Extent& e) {
  if (e.known()) return std::to_string(e.value);
  if (!e.symbolic() || !e.symbol.is_of_models()) return {};
  return e.symbol.is_name() ? e.symbol.name() : e.symbol.text();
}

}  // namespace

PortInfo port(const std::string& name, const ir::Type& t) {
  PortInfo info{name, type_text(t), std::nullopt};
  const ir::Type& tensor = t.is_optional() ? t.element() : t;
  if (!tensor.is_tensor() || !tensor.has_rank()) return info;
  info.shape.emplace();
  for (const ir::Extent& e : tensor.extents()) info.shape->push_back(extent_text(e));
  return info;
}

const ir::Type& output_type(const ir::Graph& g, std::size_t j) {
  const ir::Type& declared = g.declared_outputs[j];
  return declared.kind() == ir::Type::Kind::none ? g.value(g.root().results[j]).type : declared;
}

void check_feed(const std::string& name, const Value& v, const ir::Type& expected) {
  if (expected.is_optional()) {
    if (!v.defined() || (v.is_optional() && !v.optional().held)) return;
    return check_feed(name, v.is_optional() ? *v.optional().held : v, expected.element());
  }
  if (!v.defined())
    fail("input '{}' is {}; expected {}", name, v.is_tensor() ? to_text(v) : "missing",
         to_text(expected));
  if (expected.is_sequence()) return check_sequence(name, v, expected);
  if (expected.is_map()) return check_map(name, v, expected);
  if (!v.is_tensor()) fail("input '{}' is {}; expected {}", name, to_text(v), to_text(expected));
  check_tensor(name, -1, v.tensor(), expected);
}

}  // namespace rondel::session
