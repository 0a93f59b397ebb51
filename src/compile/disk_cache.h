#pragma once
#include <rondel/code_cache.h>

#include "codegen/object_key.h"

#include <atomic>
#include <filesystem>
#include <span>
#include <vector>

namespace rondel::compile {

/// Objects of programs in a folder, shared by the processes of one user. An entry is a file that is
/// written under another name and then renamed, so that it is whole or not there; what is read is
/// verified by its hash. Nothing here throws: what can't be kept or read is compiled again.
/// Thread-safe, also across forks: there are no locks.
class DiskCache {
 public:
  /// The one that the environment selects (rondel/code_cache.h). Never destroyed.
  static DiskCache& of_process();

  static constexpr std::uint64_t most_bytes = 256 << 20;
  /// The folder is created when something is kept. Empty: nothing is kept.
  explicit DiskCache(const std::filesystem::path& folder, std::uint64_t most = most_bytes);

  /// Whether there is a folder at all.
  bool is_used() const { return !folder_.empty(); }
  using Object = std::vector<std::byte>;
  /// Whether there is a file for the key; `find` may still refuse it.
  bool has(const codegen::Hash& key) const;
  /// Empty: there is none. Read, not mapped: what was verified is what is linked, and a file that
  /// somebody shortens meanwhile ends nothing.
  Object find(const codegen::Hash& key) const;
  void add(const codegen::Hash& key, std::span<const std::byte> object);

  CodeCacheInfo info() const;
  /// Removes all entries; tells what was there.
  CodeCacheInfo clear();

 private:
  void trim() const;

  std::filesystem::path folder_;
  std::uint64_t most_bytes_;
  std::atomic<std::uint64_t> added_{0};  ///< bytes since the size of the folder was looked at
};

}  // namespace rondel::compile
