#pragma once
#include "scalar/program.h"

#include <compare>
#include <cstdint>

namespace rondel::scalar {

/// Whether two programs have the same instructions. Names and messages may differ: each reads its
/// status with its own sites.
bool same_code(const Program&, const Program&);

/// 128 bits of what a program does, the same in every process and on every machine: equal for
/// programs with the same code, and for others in practice never. Kernels count by their names.
struct CodeKey {
  std::uint64_t high = 0, low = 0;
  auto operator<=>(const CodeKey&) const = default;
};
CodeKey code_key(const Program&);

}  // namespace rondel::scalar
