#pragma once
#include "scalar/program.h"

#include <compare>
#include <cstdint>
#include <vector>

namespace rondel::scalar {

/// Whether two programs have the same instructions. Names and messages may differ, because each
/// program looks up a status in its own sites.
bool same_code(const Program&, const Program&);

/// All that the code of a program depends on, as numbers, the same in every process and on every
/// machine: equal for programs with the same code, different for others. Kernels are identified by
/// their names.
std::vector<std::uint64_t> code_content(const Program&);

/// A 128-bit hash of `code_content`.
struct CodeKey {
  std::uint64_t high = 0, low = 0;
  auto operator<=>(const CodeKey&) const = default;
};
CodeKey code_key(const Program&);

}  // namespace rondel::scalar
