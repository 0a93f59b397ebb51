#pragma once
#include "codegen/compiler.h"

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace rondel::codegen {

/// A cryptographic hash (BLAKE3): equal for equal bytes only.
struct Hash {
  std::array<std::uint8_t, 32> bytes{};
  auto operator<=>(const Hash&) const = default;
  std::string hex() const;
};
Hash hash_of(std::span<const std::byte>);

/// What the object of a program depends on: its code, the tier, the processor, and the build of
/// this library, the code generator included. nullopt if this build has no identity of its own.
std::optional<Hash> object_key(const scalar::Program&, Compiler::Tier);

}  // namespace rondel::codegen
