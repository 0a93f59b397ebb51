#pragma once
#include "kernels/unsized_kernel.h"

#include <string>

namespace rondel::kernels {

/// A kernel whose output y tells, as a bool, whether the whole of each text of x matches a regular
/// expression in RE2's syntax. Throws Error(caller) with RE2's reason if it is none.
UnsizedKernel matches_of(const std::string& pattern);

}  // namespace rondel::kernels
