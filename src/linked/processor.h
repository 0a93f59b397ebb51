#pragma once
#include <span>
#include <string>

namespace rondel::linked {

/// The instruction sets of this list (LLVM's names) that this processor lacks, as text: "avx2 and
/// fma". Empty: none.
std::string missing_instruction_sets(std::span<const std::string> needed);

}  // namespace rondel::linked
