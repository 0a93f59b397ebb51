#pragma once
#include <rondel/export.h>

#include <cstdint>
#include <string>

namespace rondel {

/// The folder in which compiled code is kept for later processes. It is given by the environment
/// variable RONDEL_CACHE_DIR; else it is `rondel` in XDG_CACHE_HOME, or in `.cache` of the home
/// folder. With RONDEL_CACHE_DIR=off nothing is kept. The variable is read when code is first
/// needed. The folder and the files must belong to this user, and nobody else may write to them.
struct CodeCacheInfo {
  std::string folder;  ///< empty if there is none
  std::string off;     ///< why nothing is kept; empty if code is kept
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;       ///< of all entries
  std::uint64_t most_bytes = 0;  ///< above it, the entries that were unused for longest are removed
};

RONDEL_API CodeCacheInfo code_cache_info();
/// Removes all entries; tells what was there. Code that this process uses stays in memory.
RONDEL_API CodeCacheInfo clear_code_cache();

}  // namespace rondel
