#pragma once
#include "scalar/program.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

/// Indices that were split from one number for several axes. LLVM finds that they are one index
/// over all these axes too late, or not at all.
namespace rondel::codegen {

/// The instruction that defines a register, by Reg.
using Definitions = std::vector<const scalar::Inst*>;
Definitions definitions_of(const scalar::Program&);

/// The number that a constant has, or the extent of a buffer that is known; nullopt: neither.
std::optional<std::int64_t> known_number(const scalar::Program&, const Definitions&, scalar::Reg);

/// One index over some axes.
struct JoinedIndex {
  scalar::Reg index;
  std::size_t first, last;  ///< of its axes; it counts elements of the last one
};

/// The indices of an access of buffer `id`. In a contiguous buffer, n / extent and n % extent on
/// neighbouring axes are n, if `is_there` says that n is at hand.
std::vector<JoinedIndex> joined_indices(const scalar::Program&, const Definitions&, std::int32_t id,
                                        std::span<const scalar::Reg> indices,
                                        const std::function<bool(scalar::Reg)>& is_there);

/// By Reg: whether code needs the value. It does not need quotients and remainders that are only
/// read as indices which are joined, as far as they are computed beside the access: the number is
/// then at hand in each part of the program that has the access. Emission may join more of them
/// (what is computed elsewhere, if the number is at hand), never fewer; what is not joined is
/// needed.
std::vector<bool> needed_registers(const scalar::Program&, const Definitions&);

}  // namespace rondel::codegen
