#pragma once
#include "scalar/native_executable.h"

#include <cstddef>
#include <cstdint>

/// What a compiled model is linked from: the assembler file that link.cpp writes has the same
/// layout.
namespace rondel::ahead {

/// The number of this layout and of the functions in `CompiledModelApi`.
inline constexpr std::uint32_t abi = 1;

struct LinkedCode {
  std::uint64_t high, low;  ///< scalar::CodeKey
  const std::uint64_t* content;
  std::uint64_t content_words;
  scalar::NativeFunction function;
};

struct ModelTable {
  const std::byte* description;
  std::uint64_t description_bytes;
  const std::byte* weights;
  std::uint64_t weight_bytes;
  const LinkedCode* codes;
  std::uint64_t code_count;
};

}  // namespace rondel::ahead
