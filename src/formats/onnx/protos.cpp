#include "formats/onnx/protos.h"

#include "formats/onnx/types.h"

#include <algorithm>
#include <array>

namespace rondel::onnx {

using AP = pb::AttributeProto;

std::string packed_bytes(const Tensor& given) {
  const Tensor t = given.packed();
  const auto n = static_cast<std::size_t>(t.size());
  const auto bits = static_cast<unsigned>(file_bits(t.dtype()));
  if (bits >= 8) return {static_cast<const char*>(t.data()), n * byte_size(t.dtype())};
  const unsigned each = 8 / bits, mask = (1U << bits) - 1;
  std::string packed((n + each - 1) / each, '\0');
  for (std::size_t i = 0; i < n; ++i) {
    const unsigned value = (t.data_as<std::uint8_t>()[i] & mask) << (i % each * bits);
    packed[i / each] = static_cast<char>(static_cast<unsigned char>(packed[i / each]) | value);
  }
  return packed;
}

pb::TensorProto tensor_header(const Tensor& t) {
  pb::TensorProto out;
  for (const std::int64_t e : t.shape()) out.add_dims(e);
  out.set_data_type(data_type_of(t.dtype()));
  return out;
}

pb::TensorProto tensor_proto(const Tensor& given) {
  pb::TensorProto out = tensor_header(given);
  if (given.dtype() != DType::string) {
    out.set_raw_data(packed_bytes(given));
    return out;
  }
  const Tensor t = given.packed();
  for (std::int64_t i = 0; i < t.size(); ++i)
    out.add_string_data(t.data_as<std::string>()[static_cast<std::size_t>(i)]);
  return out;
}

AP::AttributeType kind_of(const AP& a) {
  if (a.type() != AP::UNDEFINED) return a.type();
  if (a.has_f()) return AP::FLOAT;
  if (a.has_i()) return AP::INT;
  if (a.has_s()) return AP::STRING;
  if (a.has_t()) return AP::TENSOR;
  if (a.has_g()) return AP::GRAPH;
  if (a.floats_size() > 0) return AP::FLOATS;
  if (a.ints_size() > 0) return AP::INTS;
  if (a.strings_size() > 0) return AP::STRINGS;
  return AP::UNDEFINED;
}

bool holds_only(const AP& a, AP::AttributeType kind) {
  return (kind == AP::FLOAT || !a.has_f()) && (kind == AP::INT || !a.has_i()) &&
         (kind == AP::STRING || !a.has_s()) && (kind == AP::TENSOR || !a.has_t()) &&
         (kind == AP::GRAPH || !a.has_g()) && (kind == AP::FLOATS || a.floats_size() == 0) &&
         (kind == AP::INTS || a.ints_size() == 0) && (kind == AP::STRINGS || a.strings_size() == 0);
}

bool holds_dtype(std::string_view name) {
  static constexpr std::array<std::string_view, 7> names = {
      "to",       "dtype", "output_dtype", "output_datatype", "stash_type", "softmax_precision",
      "precision"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

AP attribute_proto(const std::string& name, const ir::Attribute& value) {
  AP a;
  a.set_name(name);
  std::visit(
      [&](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::int64_t>) {
          a.set_type(AP::INT);
          a.set_i(v);
        } else if constexpr (std::is_same_v<T, double>) {
          a.set_type(AP::FLOAT);
          a.set_f(static_cast<float>(v));
        } else if constexpr (std::is_same_v<T, std::string>) {
          a.set_type(AP::STRING);
          a.set_s(v);
        } else if constexpr (std::is_same_v<T, ir::Ints>) {
          a.set_type(AP::INTS);
          a.mutable_ints()->Add(v.begin(), v.end());
        } else if constexpr (std::is_same_v<T, ir::Floats>) {
          a.set_type(AP::FLOATS);
          for (const double f : v) a.add_floats(static_cast<float>(f));
        } else if constexpr (std::is_same_v<T, ir::Strings>) {
          a.set_type(AP::STRINGS);
          for (const std::string& s : v) a.add_strings(s);
        } else if constexpr (std::is_same_v<T, Tensor>) {
          a.set_type(AP::TENSOR);
          *a.mutable_t() = tensor_proto(v);
        } else if constexpr (std::is_same_v<T, ir::TypeList>) {
          a.set_type(AP::TYPE_PROTOS);
          for (const ir::Type& t : v) *a.add_type_protos() = type_proto(t);
        } else {
          // The attribute is an element type, which ONNX writes as a number.
          if (holds_dtype(name)) {
            a.set_type(AP::INT);
            a.set_i(data_type_of(v.dtype()));
          } else {
            a.set_type(AP::TYPE_PROTO);
            *a.mutable_tp() = type_proto(v);
          }
        }
      },
      value);
  return a;
}

}  // namespace rondel::onnx
