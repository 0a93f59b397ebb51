#pragma once
#include "scalar/program.h"

#include <cstddef>

namespace rondel::scalar {

/// Whether two programs do the same, step for step. Their names and messages may differ: a status
/// of one is read with the sites of the other.
bool same_code(const Program&, const Program&);

/// Equal for programs with the same code.
std::size_t code_hash(const Program&);

}  // namespace rondel::scalar
