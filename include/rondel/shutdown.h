#pragma once
#include <rondel/export.h>

namespace rondel {

/// Waits until no thread of this process compiles, and lets none begin again: programs that are not
/// compiled stay interpreted. For the end of a process, before its global data is destroyed; LLVM
/// makes some of its own as late as in its first compilations. The Python package calls it by
/// itself.
RONDEL_API void stop_compiling();

}  // namespace rondel
