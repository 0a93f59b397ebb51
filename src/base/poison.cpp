#include "base/poison.h"

#include "base/float_formats.h"

#include <algorithm>
#include <cstring>

namespace rondel {
namespace {

/// The bits of one element, or of each part of a complex number.
std::uint64_t pattern(DType t) {
  switch (t) {
    case DType::f64:
    case DType::c128: return 0x7ff8a5a5a5a5a5a5;
    case DType::f32:
    case DType::c64: return 0x7fe5a5a5;
    case DType::f16: return 0x7fa5;
    case DType::bf16: return 0x7fe5;
    case DType::f8e8m0: return 0xff;
    case DType::f4e2m1: return 0x0d;
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz: return small_format(t).nan;
    case DType::boolean: return 1;
    case DType::i4: return 0xfa;
    case DType::u4: return 0x0a;
    case DType::i2: return 0xfe;
    case DType::u2: return 0x02;
    default: return 0xa5a5a5a5a5a5a5a5;
  }
}

}  // namespace

void poison(DType t, void* data, std::size_t bytes) {
  if (t == DType::string) return;
  const std::uint64_t bits = pattern(t);
  const std::size_t part = is_complex(t) ? byte_size(t) / 2 : byte_size(t);
  unsigned char block[64];
  for (std::size_t at = 0; at < sizeof(block); at += part) std::memcpy(block + at, &bits, part);
  auto* const to = static_cast<unsigned char*>(data);
  for (std::size_t at = 0; at < bytes; at += sizeof(block))
    std::memcpy(to + at, block, std::min(sizeof(block), bytes - at));
}

}  // namespace rondel
