#include "frontends/onnx/tensor_loader.h"

#include "base/checked.h"
#include "base/error.h"
#include "formats/onnx/types.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <set>

namespace rondel::onnx {
namespace {

static_assert(std::endian::native == std::endian::little, "raw data is read as it lies");

constexpr int most_axes = 64;
/// A small sparse tensor can describe a huge dense one; this limits the dense size.
constexpr std::int64_t most_dense_bytes = std::int64_t{1} << 31;
constexpr std::size_t map_alignment = 64;

template <class Dims> Shape shape_of(const Dims& dims, std::string_view what) {
  require(dims.size() <= most_axes, "{} has {} axes; at most {} are taken", what, dims.size(),
          most_axes);
  Shape shape(dims.begin(), dims.end());
  for (const std::int64_t e : shape) require(e >= 0, "{} has a negative extent ({})", what, e);
  return shape;
}

std::size_t count_of(const Shape& shape, std::string_view what) {
  std::int64_t n = 1;
  for (const std::int64_t e : shape) n = checked_mul(n, e, what);
  return static_cast<std::size_t>(n);
}

/// The size in bytes of `n` elements in a file.
std::size_t file_bytes(DType t, std::size_t n, std::string_view what) {
  const std::int64_t bits = checked_mul(static_cast<std::int64_t>(n), file_bits(t), what);
  return static_cast<std::size_t>(bits / 8 + (bits % 8 != 0 ? 1 : 0));
}

bool packed_in_files(DType t) { return file_bits(t) < 8; }

/// Unpacks 4- and 2-bit values to one byte each, lowest bits first. Signed integers are
/// sign-extended.
void unpack(DType t, const std::byte* in, std::size_t n, std::uint8_t* out) {
  const auto bits = static_cast<unsigned>(file_bits(t));
  const unsigned each = 8 / bits, mask = (1U << bits) - 1, sign = 1U << (bits - 1);
  const bool extend = is_signed_integer(t);
  for (std::size_t i = 0; i < n; ++i) {
    const unsigned value = (std::to_integer<unsigned>(in[i / each]) >> (i % each * bits)) & mask;
    out[i] = static_cast<std::uint8_t>(extend && (value & sign) != 0 ? value | ~mask : value);
  }
}

/// Fills `t` from little-endian bytes in the packed layout of files.
void fill_from_bytes(const Tensor& t, const std::byte* in, std::size_t bytes, std::size_t n) {
  if (n == 0) return;
  if (packed_in_files(t.dtype())) return unpack(t.dtype(), in, n, t.data_as<std::uint8_t>());
  if (t.dtype() == DType::boolean) {
    for (std::size_t i = 0; i < n; ++i) t.data_as<std::uint8_t>()[i] = in[i] != std::byte{0};
    return;
  }
  std::memcpy(t.data(), in, bytes);
}

/// The repeated field of a TensorProto that holds elements of a dtype.
enum class Field { floats, int32s, strings, int64s, doubles, uint64s };
Field field_of(DType t) {
  switch (t) {
    case DType::f32:
    case DType::c64: return Field::floats;
    case DType::f64:
    case DType::c128: return Field::doubles;
    case DType::i64: return Field::int64s;
    case DType::u64:
    case DType::u32: return Field::uint64s;
    case DType::string: return Field::strings;
    default: return Field::int32s;
  }
}

std::size_t entries(const pb::TensorProto& t, Field f) {
  int n = 0;
  switch (f) {
    case Field::floats: n = t.float_data_size(); break;
    case Field::int32s: n = t.int32_data_size(); break;
    case Field::strings: n = t.string_data_size(); break;
    case Field::int64s: n = t.int64_data_size(); break;
    case Field::doubles: n = t.double_data_size(); break;
    case Field::uint64s: n = t.uint64_data_size(); break;
  }
  return static_cast<std::size_t>(n);
}

std::size_t entries_elsewhere(const pb::TensorProto& t, std::optional<Field> own) {
  std::size_t n = 0;
  for (const Field f : {Field::floats, Field::int32s, Field::strings, Field::int64s, Field::doubles,
                        Field::uint64s})
    if (f != own) n += entries(t, f);
  return n;
}

template <class To, class From>
void narrow(const Tensor& out, const From& in, std::string_view what) {
  To* to = out.data_as<To>();
  for (const auto v : in) {
    require(v >= static_cast<decltype(v)>(std::numeric_limits<To>::min()) &&
                v <= static_cast<decltype(v)>(std::numeric_limits<To>::max()),
            "{}: element {} does not fit {}", what, v, name(out.dtype()));
    *to++ = static_cast<To>(v);
  }
}

void fill_from_int32s(const Tensor& out, const pb::TensorProto& t, std::size_t n,
                      const std::string& what) {
  const auto& in = t.int32_data();
  if (packed_in_files(out.dtype())) {
    std::vector<std::byte> bytes;
    for (const std::int32_t v : in) bytes.push_back(static_cast<std::byte>(v & 0xff));
    return unpack(out.dtype(), bytes.data(), n, out.data_as<std::uint8_t>());
  }
  switch (out.dtype()) {
    case DType::boolean: {
      auto* to = out.data_as<std::uint8_t>();
      for (const std::int32_t v : in) *to++ = v != 0 ? 1 : 0;
      return;
    }
    case DType::i32: std::memcpy(out.data(), in.data(), n * sizeof(std::int32_t)); return;
    case DType::i16: return narrow<std::int16_t>(out, in, what);
    case DType::i8: return narrow<std::int8_t>(out, in, what);
    case DType::u16:
    case DType::f16:
    case DType::bf16: return narrow<std::uint16_t>(out, in, what);
    default: return narrow<std::uint8_t>(out, in, what);
  }
}

void fill_from_field(const Tensor& out, const pb::TensorProto& t, std::size_t n,
                     const std::string& what) {
  if (n == 0) return;
  switch (field_of(out.dtype())) {
    case Field::floats:
      std::memcpy(out.data(), t.float_data().data(), entries(t, Field::floats) * sizeof(float));
      return;
    case Field::doubles:
      std::memcpy(out.data(), t.double_data().data(), entries(t, Field::doubles) * sizeof(double));
      return;
    case Field::int64s:
      std::memcpy(out.data(), t.int64_data().data(), n * sizeof(std::int64_t));
      return;
    case Field::uint64s:
      if (out.dtype() == DType::u32) return narrow<std::uint32_t>(out, t.uint64_data(), what);
      std::memcpy(out.data(), t.uint64_data().data(), n * sizeof(std::uint64_t));
      return;
    case Field::strings: {
      auto* to = out.data_as<std::string>();
      for (const std::string& s : t.string_data()) *to++ = s;
      return;
    }
    case Field::int32s: return fill_from_int32s(out, t, n, what);
  }
}

std::size_t entries_needed(DType t, std::size_t n, std::string_view what) {
  if (is_complex(t))
    return static_cast<std::size_t>(checked_mul(static_cast<std::int64_t>(n), 2, what));
  if (t != DType::string && packed_in_files(t)) return file_bytes(t, n, what);
  return n;
}

std::size_t parse_size(const std::string& text, const char* key, const std::string& what) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(!text.empty() && error == std::errc() && end == text.data() + text.size(),
          "{}: external data has {} '{}'; expected a number of bytes", what, key, text);
  return value;
}

struct ExternalSpan {
  std::string location;
  std::size_t offset = 0;
  std::optional<std::size_t> length;
};

ExternalSpan external_span(const pb::TensorProto& t, const std::string& what) {
  ExternalSpan span;
  std::set<std::string> seen;
  for (const auto& entry : t.external_data()) {
    const std::string& key = entry.key();
    require(seen.insert(key).second, "{}: external data says '{}' twice", what, key);
    if (key == "location") span.location = entry.value();
    else if (key == "offset") span.offset = parse_size(entry.value(), "offset", what);
    else if (key == "length") span.length = parse_size(entry.value(), "length", what);
    else
      require(key == "checksum" || key == "basepath",
              "{}: external data has an unknown key '{}'; known are location, offset, length and "
              "checksum",
              what, key);
  }
  require(seen.contains("location"), "{}: external data without a location", what);
  return span;
}

}  // namespace

Tensor TensorLoader::tensor(const pb::TensorProto& t, std::string_view what) {
  if (const auto known = read_.find(&t); known != read_.end()) return known->second;
  Tensor out = read(t, std::string(what));
  read_.emplace(&t, out);
  return out;
}

Tensor TensorLoader::read(const pb::TensorProto& t, const std::string& what) {
  const DType dtype = require_dtype(t.data_type(), what);
  Shape shape = shape_of(t.dims(), what);
  const std::size_t n = count_of(shape, what);
  if (t.has_segment()) unsupported("{}: tensors in segments are not supported", what);
  const bool text = dtype == DType::string;
  const std::size_t bytes = text ? 0 : file_bytes(dtype, n, what);
  if (t.data_location() == pb::TensorProto::EXTERNAL) {
    require(!text, "{}: strings cannot lie in external data", what);
    require(!t.has_raw_data() && entries_elsewhere(t, {}) == 0,
            "{} has its data both inside the model and outside", what);
    return read_external(t, dtype, std::move(shape), bytes, what);
  }
  require(t.external_data_size() == 0, "{} names external data but is not marked external", what);
  if (t.has_raw_data()) {
    require(!text, "{}: strings cannot be raw data", what);
    require(entries_elsewhere(t, {}) == 0, "{} has raw data and typed data", what);
    if (t.raw_data().size() != bytes)
      fail("{} is {}, which takes {} bytes; it has {}", what, to_text(dtype, shape), bytes,
           t.raw_data().size());
    Tensor out(dtype, std::move(shape));
    fill_from_bytes(out, reinterpret_cast<const std::byte*>(t.raw_data().data()), bytes, n);
    return out;
  }
  const Field own = field_of(dtype);
  if (entries_elsewhere(t, own) != 0)
    fail("{} is {} but has data of another type", what, to_text(dtype, shape));
  const std::size_t needed = entries_needed(dtype, n, what);
  if (entries(t, own) != needed)
    fail("{} is {}, which takes {} values; it has {}", what, to_text(dtype, shape), needed,
         entries(t, own));
  Tensor out(dtype, std::move(shape));
  fill_from_field(out, t, n, what);
  return out;
}

Tensor TensorLoader::read_external(const pb::TensorProto& t, DType dtype, Shape shape,
                                   std::size_t bytes, const std::string& what) {
  const ExternalSpan span = external_span(t, what);
  const auto file = folder_.open(span.location, what);
  if (span.length.value_or(bytes) != bytes)
    fail("{} is {}, which takes {} bytes; its length is {}", what, to_text(dtype, shape), bytes,
         span.length.value_or(0));
  require(span.offset <= file->size() && bytes <= file->size() - span.offset,
          "{} needs {} bytes from byte {} of '{}', which has {}", what, bytes, span.offset,
          span.location, file->size());
  if (!span.length && file->size() - span.offset != bytes)
    fail("{} is {}, which takes {} bytes; '{}' has {} from {} on, and no length is given", what,
         to_text(dtype, shape), bytes, span.location, file->size() - span.offset, span.offset);
  const std::size_t n = count_of(shape, what);
  std::byte* at = n == 0 ? nullptr : file->data() + span.offset;
  const bool as_it_lies = !packed_in_files(dtype) && dtype != DType::boolean && n > 0 &&
                          span.offset % map_alignment == 0;
  if (as_it_lies) {
    Shape strides = row_major_strides(shape);
    return Tensor(dtype, std::move(shape), std::move(strides), at, file);
  }
  Tensor out(dtype, std::move(shape));
  fill_from_bytes(out, at, bytes, n);
  return out;
}

Tensor TensorLoader::sparse(const pb::SparseTensorProto& s, std::string_view name_) {
  if (const auto known = read_.find(&s); known != read_.end()) return known->second;
  const std::string what(name_);
  const Tensor values = tensor(s.values(), what + " (values)");
  const Tensor indices = tensor(s.indices(), what + " (indices)");
  Shape shape = shape_of(s.dims(), what);
  const std::size_t n = count_of(shape, what);
  require(values.rank() == 1, "{}: the values of a sparse tensor have one axis, not {}", what,
          values.rank());
  require(indices.dtype() == DType::i64, "{}: indices are {}; expected i64", what,
          name(indices.dtype()));
  const std::int64_t count = values.size(), rank = static_cast<std::int64_t>(shape.size());
  const bool linear = indices.rank() == 1 && indices.shape()[0] == count;
  require(linear || (indices.rank() == 2 && indices.shape() == Shape{count, rank}),
          "{}: {} values need indices i64[{}] or i64[{},{}]; they are {}", what, count, count,
          count, rank, to_text(indices.dtype(), indices.shape()));
  if (checked_mul(static_cast<std::int64_t>(n),
                  static_cast<std::int64_t>(byte_size(values.dtype())), what) > most_dense_bytes)
    throw_error(Blame::limit, fmt::format("{}: {} would take more than {} bytes when dense", what,
                                          to_text(values.dtype(), shape), most_dense_bytes));
  Tensor out = Tensor::zeros(values.dtype(), shape);
  const auto* index = indices.data_as<std::int64_t>();
  std::int64_t before = -1;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t at = 0;
    if (linear) at = index[i];
    for (std::int64_t a = 0; !linear && a < rank; ++a) {
      const std::int64_t k = index[i * rank + a], extent = shape[static_cast<std::size_t>(a)];
      require(k >= 0 && k < extent, "{}: index {} on axis {} is outside 0..{}", what, k, a, extent);
      at = at * extent + k;
    }
    require(at >= 0 && at < static_cast<std::int64_t>(n), "{}: index {} is outside its {} elements",
            what, at, n);
    require(at > before, "{}: indices must ascend without repetition", what);
    before = at;
    const Shape one{1};
    Tensor(
        out.dtype(), one, one,
        static_cast<std::byte*>(out.data()) + static_cast<std::size_t>(at) * byte_size(out.dtype()),
        out.owner())
        .assign(values.strided(i, one, one));
  }
  read_.emplace(&s, out);
  return out;
}

}  // namespace rondel::onnx
