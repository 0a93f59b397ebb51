#include "base/float_formats.h"
#include "base/text.h"
#include "scalar/random_program.h"
#include "scalar/run.h"

#include <cmath>
#include <cstring>
#include <random>

namespace rondel::scalar {
namespace {

using Random = std::mt19937_64;

std::uint64_t random_float_bits(Random& rng, DType t) {
  static const double edges[] = {0.0, -0.0,  1.0,        -1.0,    0.5,    HUGE_VAL, -HUGE_VAL,
                                 NAN, 1e-40, -3e38,      65519.0, 448.0,  1e300,    -1e-310,
                                 2.5, -1.5,  2147483648, 9.3e18,  -128.5, 255.5};
  const auto small = std::uniform_real_distribution<double>(-4, 4)(rng);
  const double value = rng() % 4 ? small : edges[rng() % std::size(edges)];
  if (t == DType::f64) return std::bit_cast<std::uint64_t>(value);
  if (t == DType::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return f64_to_narrow(t, value);
}

std::uint64_t random_bits(Random& rng, DType t) {
  if (t == DType::boolean) return rng() % 2;
  if (is_float(t)) return random_float_bits(rng, t);
  if (is_complex(t)) {
    const auto part = t == DType::c64 ? DType::f32 : DType::f64;
    return random_float_bits(rng, part) |
           (t == DType::c64 ? random_float_bits(rng, part) << 32 : 0);
  }
  const int bits = file_bits(t);
  std::uint64_t value = rng() % 3 ? rng() % 11 - 5 : rng();
  if (rng() % 8 == 0) value = std::uint64_t{1} << (bits - 1);
  if (rng() % 8 == 0) value = (std::uint64_t{1} << (bits - 1)) - 1;
  if (bits == 64) return value;
  value &= (std::uint64_t{1} << bits) - 1;
  if (is_signed_integer(t) && (value >> (bits - 1))) value |= ~std::uint64_t{0} << bits;
  return value;
}

/// The bits of an element; every NaN gives the same bits.
std::vector<std::uint64_t> comparable(const Tensor& t, const char* at) {
  const std::size_t bytes = byte_size(t.dtype());
  std::vector<std::uint64_t> words((bytes + 7) / 8);
  std::memcpy(words.data(), at, bytes);
  const auto nan64 = [](std::uint64_t w) { return std::isnan(std::bit_cast<double>(w)); };
  const auto nan32 = [](std::uint64_t w) {
    return std::isnan(std::bit_cast<float>(static_cast<std::uint32_t>(w)));
  };
  constexpr std::uint64_t some_nan = 0x7ff7;
  switch (t.dtype()) {
    case DType::f64:
    case DType::c128:
      for (auto& w : words) w = nan64(w) ? some_nan : w;
      break;
    case DType::f32: words[0] = nan32(words[0]) ? some_nan : words[0]; break;
    case DType::c64: {
      const std::uint64_t low = words[0] & 0xffffffffu, high = words[0] >> 32;
      words = {nan32(low) ? some_nan : low, nan32(high) ? some_nan : high};
      break;
    }
    default:
      if (is_float(t.dtype()) &&
          std::isnan(narrow_to_f32(t.dtype(), static_cast<std::uint16_t>(words[0]))))
        words[0] = some_nan;
  }
  return words;
}

/// The address of every element, in row-major order.
std::vector<char*> addresses(const Tensor& t) {
  std::vector<char*> out;
  std::vector<std::int64_t> index(t.shape().size());
  const auto bytes = static_cast<std::int64_t>(byte_size(t.dtype()));
  for (std::int64_t n = t.size(); n > 0; --n) {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis)
      offset += index[axis] * t.strides()[axis];
    out.push_back(static_cast<char*>(t.data()) + offset * bytes);
    for (std::size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < t.shape()[axis]) break;
      index[axis] = 0;
    }
  }
  return out;
}

/// A tensor with this shape and these strides, in a block of exactly the size it needs and `behind`
/// more elements.
Tensor with_strides(DType dtype, const Shape& shape, const Shape& strides,
                    std::int64_t behind = 0) {
  std::int64_t low = 0, high = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 0) continue;
    const std::int64_t reach = (shape[axis] - 1) * strides[axis];
    (reach < 0 ? low : high) += reach;
  }
  return Tensor::zeros(dtype, {high - low + 1 + behind}).strided(-low, shape, strides);
}

Tensor copy_with_strides(const Tensor& t, std::int64_t behind) {
  Tensor copy = with_strides(t.dtype(), t.shape(), t.strides(), behind);
  const auto from = addresses(t), to = addresses(copy);
  for (std::size_t i = 0; i < from.size(); ++i) std::memcpy(to[i], from[i], byte_size(t.dtype()));
  return copy;
}

}  // namespace

Tensor random_tensor(std::uint64_t seed, DType dtype, Shape shape, int layout) {
  Random rng(seed);
  Shape strides = row_major_strides(shape);
  if (layout == 1 && shape.size() == 2) strides = {1, shape[0]};
  if (layout == 2)
    for (auto& s : strides) s *= 3;
  if (layout == 3 && !strides.empty()) strides.back() = -strides.back();
  if (layout == 4 && !strides.empty()) strides.front() = 0;
  if (layout == dense_rows)
    for (std::size_t axis = 0; axis + 1 < strides.size(); ++axis) strides[axis] *= 3;
  Tensor t = with_strides(dtype, shape, strides);
  for (char* at : addresses(t)) {
    const std::uint64_t words[2] = {random_bits(rng, dtype), random_bits(rng, dtype)};
    std::memcpy(at, words, byte_size(dtype));
  }
  return t;
}

Outcome run_copies(const Executable& executable, const RandomProgram& random, std::int64_t behind) {
  Outcome outcome;
  for (const Tensor& t : random.tensors) outcome.tensors.push_back(copy_with_strides(t, behind));
  if (random.shared >= 0) {
    const auto k = static_cast<std::size_t>(random.shared);
    outcome.tensors[k] = outcome.tensors[k - 1];
  }
  Context context;
  outcome.status = run(executable, context, outcome.tensors, random.params);
  if (outcome.status > done) outcome.shown = context.shown;
  return outcome;
}

std::string difference(const RandomProgram& random, const Outcome& a, const Outcome& b) {
  const std::string who = fmt::format("random program of seed {}: ", random.seed);
  if (a.status != b.status) return who + fmt::format("status {} and {}", a.status, b.status);
  if (a.shown != b.shown)
    return who + fmt::format("shown [{}] and [{}]", join(a.shown), join(b.shown));
  if (a.status != done) return {};
  for (std::size_t k = 0; k < a.tensors.size(); ++k) {
    const auto left = addresses(a.tensors[k]), right = addresses(b.tensors[k]);
    for (std::size_t i = 0; i < left.size(); ++i) {
      const auto x = comparable(a.tensors[k], left[i]), y = comparable(b.tensors[k], right[i]);
      if (x == y) continue;
      return who + fmt::format("{} {} differs at element {}: bits {:#x} and {:#x}",
                               random.program->buffers[k].name,
                               to_text(a.tensors[k].dtype(), a.tensors[k].shape()), i, x[0], y[0]);
    }
  }
  return {};
}

}  // namespace rondel::scalar
