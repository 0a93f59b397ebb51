#pragma once
#include "codegen/compiler.h"

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rondel::codegen {

/// A cryptographic hash (BLAKE3): equal for equal bytes only.
struct Hash {
  std::array<std::uint8_t, 32> bytes{};
  auto operator<=>(const Hash&) const = default;
  std::string hex() const;
};
Hash hash_of(std::span<const std::byte>);

/// What the object of a program depends on: its code, the tier, and who makes it. nullopt if this
/// build has no identity of its own.
std::optional<Hash> object_key(const scalar::Program&, Compiler::Tier);
Hash object_key(std::string_view maker, const scalar::Program&, Compiler::Tier);
/// The build of this library, that of LLVM, and the processor. Empty if one has no identity.
std::string maker_of_objects();

}  // namespace rondel::codegen
