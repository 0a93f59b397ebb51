#include "compile/disk_cache.h"

#include "base/mapped_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>
#include <vector>

namespace rondel::compile {
namespace {

constexpr std::string_view suffix = ".code", unfinished = ".unfinished-";

/// The beginning of an entry; the object follows.
struct Header {
  std::array<char, 16> format{'r', 'o', 'n', 'd', 'e', 'l', ' ', 'c', 'o', 'd', 'e', ' ', '1'};
  codegen::Hash key;
  codegen::Hash object;
  std::uint64_t size = 0;  ///< of the object
  bool operator==(const Header&) const = default;
};
static_assert(std::has_unique_object_representations_v<Header>);

std::string file_name(const codegen::Hash& key) { return key.hex() + std::string(suffix); }

/// Whether the file belongs to this user, and nobody else may write to it.
bool is_ours(const struct stat& status) {
  return status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

struct Folder {
  Descriptor descriptor;
  std::string refused;  ///< why it is not used
};

Folder open_folder(const std::filesystem::path& path) {
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) return {std::move(folder), std::strerror(errno)};
  struct stat status {};
  if (::fstat(folder.get(), &status) != 0) return {Descriptor(-1), std::strerror(errno)};
  if (!is_ours(status))
    return {Descriptor(-1), "it belongs to another user, or others may write to it (chmod go-w)"};
  return {std::move(folder), ""};
}

/// Creates the folder and those above it, for this user alone; not in the folders of another user,
/// whose home a privileged process may have been given.
void create(const std::filesystem::path& path) {
  std::filesystem::path made;
  for (const auto& part : path) {
    struct stat above {};
    const bool allowed = ::stat(made.c_str(), &above) == 0 &&
                         (above.st_uid == ::geteuid() || above.st_uid == 0);
    made /= part;
    if (allowed) ::mkdir(made.c_str(), S_IRWXU);
  }
}

bool write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

bool read_all(int file, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::read(file, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

/// The name of a file that no other thread or process writes to; empty if there is no randomness.
std::string unfinished_name() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) return {};
  return fmt::format("{}{:016x}", unfinished, number);
}

struct Found {
  std::string name;
  std::uint64_t bytes;
  std::timespec used;  ///< when it was written or last read
};

bool was_used_before(const Found& a, const Found& b) {
  return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
}

/// Whether the name is one that we give: an entry, or one that is being written.
bool is_named_by_us(std::string_view name, bool unfinished_one) {
  const auto is_hex = [](std::string_view text, std::size_t digits) {
    return text.size() == digits &&
           text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  };
  if (unfinished_one)
    return name.starts_with(unfinished) && is_hex(name.substr(unfinished.size()), 16);
  return name.ends_with(suffix) && is_hex(name.substr(0, name.size() - suffix.size()), 64);
}

/// The entries of the folder, or those that are being written.
std::vector<Found> files_in(int folder, bool unfinished_ones) {
  std::vector<Found> found;
  const int again = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* open = again < 0 ? nullptr : ::fdopendir(again);
  if (open == nullptr) {
    if (again >= 0) ::close(again);
    return found;
  }
  while (const dirent* entry = ::readdir(open)) {
    const std::string_view name = entry->d_name;
    struct stat status {};
    if (is_named_by_us(name, unfinished_ones) &&
        ::fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(status.st_mode))
      found.push_back(
          {std::string(name), static_cast<std::uint64_t>(status.st_size), status.st_mtim});
  }
  ::closedir(open);
  return found;
}

CodeCacheInfo summed(CodeCacheInfo info, const std::vector<Found>& entries) {
  info.entries = entries.size();
  for (const Found& entry : entries) info.bytes += entry.bytes;
  return info;
}

/// A writer was killed if its file is older than this.
constexpr std::chrono::seconds longest_writing = std::chrono::hours(1);

/// RONDEL_CACHE_DIR, or the folder that the XDG base directory specification gives; empty: nothing
/// is kept.
std::filesystem::path folder_of_environment() {
  const auto value = [](const char* name) {
    const char* set = ::secure_getenv(name);
    return std::string_view(set == nullptr ? "" : set);
  };
  if (const auto given = value("RONDEL_CACHE_DIR"); !given.empty())
    return given == "off" ? std::filesystem::path() : std::filesystem::path(given);
  if (const auto caches = value("XDG_CACHE_HOME"); caches.starts_with('/'))
    return std::filesystem::path(caches) / "rondel";
  if (const auto home = value("HOME"); home.starts_with('/'))
    return std::filesystem::path(home) / ".cache" / "rondel";
  return {};
}

}  // namespace

DiskCache& DiskCache::of_process() {
  // No static local: a fork could find it half made.
  static std::atomic<DiskCache*> one{nullptr};
  DiskCache* made = one.load(std::memory_order_acquire);
  if (made != nullptr) return *made;
  auto mine = std::make_unique<DiskCache>(folder_of_environment());
  if (one.compare_exchange_strong(made, mine.get())) return *mine.release();
  return *made;
}

DiskCache::DiskCache(const std::filesystem::path& folder, std::uint64_t most) : most_bytes_(most) {
  std::error_code error;  // no current folder
  if (!folder.empty()) folder_ = std::filesystem::absolute(folder, error);
}

bool DiskCache::has(const codegen::Hash& key) const {
  return !folder_.empty() && ::access((folder_ / file_name(key)).c_str(), R_OK) == 0;
}

DiskCache::Object DiskCache::find(const codegen::Hash& key) const {
  if (folder_.empty()) return {};
  const Folder folder = open_folder(folder_);
  if (folder.descriptor.get() < 0) return {};
  const std::string name = file_name(key);
  const Descriptor file(::openat(folder.descriptor.get(), name.c_str(),
                                 O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      !is_ours(status))
    return {};
  Header header;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  Object object(size > sizeof header && size - sizeof header <= most_bytes_
                    ? static_cast<std::size_t>(size - sizeof header)
                    : 0);
  Header wanted;
  const bool read = !object.empty() &&
                    read_all(file.get(), std::as_writable_bytes(std::span(&header, 1))) &&
                    read_all(file.get(), object);
  wanted.key = key;
  wanted.size = object.size();
  wanted.object = codegen::hash_of(object);
  if (!read || !(header == wanted)) {
    ::unlinkat(folder.descriptor.get(), name.c_str(), 0);  // damaged
    return {};
  }
  ::futimens(file.get(), nullptr);
  return object;
}

void DiskCache::add(const codegen::Hash& key, std::span<const std::byte> object) {
  if (folder_.empty() || object.empty() || object.size() > most_bytes_ / 4) return;
  create(folder_);
  const Folder folder = open_folder(folder_);
  const std::string name = unfinished_name();
  if (folder.descriptor.get() < 0 || name.empty()) return;
  const int at = folder.descriptor.get();
  bool written = false;
  {
    const Descriptor file(::openat(
        at, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
    if (file.get() < 0) return;
    Header header;
    header.key = key;
    header.object = codegen::hash_of(object);
    header.size = object.size();
    written = write_all(file.get(), std::as_bytes(std::span(&header, 1))) &&
              write_all(file.get(), object);
  }
  if (!written || ::renameat(at, name.c_str(), at, file_name(key).c_str()) != 0) {
    ::unlinkat(at, name.c_str(), 0);
    return;
  }
  // The folder is looked at after the first entry of a process, and then now and then.
  const std::uint64_t before = added_.fetch_add(object.size());
  if (before == 0 || before + object.size() > most_bytes_ / 16) {
    added_.store(1);
    trim();
  }
}

void DiskCache::trim() const {
  const Folder folder = open_folder(folder_);
  const int at = folder.descriptor.get();
  if (at < 0) return;
  const auto now = std::time(nullptr);
  for (const Found& f : files_in(at, true))
    if (now - f.used.tv_sec > longest_writing.count()) ::unlinkat(at, f.name.c_str(), 0);
  std::vector<Found> entries = files_in(at, false);
  std::uint64_t bytes = summed({}, entries).bytes;
  if (bytes <= most_bytes_) return;
  std::ranges::sort(entries, was_used_before);
  for (const Found& entry : entries) {
    if (bytes <= most_bytes_ - most_bytes_ / 8) break;
    ::unlinkat(at, entry.name.c_str(), 0);
    bytes -= entry.bytes;
  }
}

CodeCacheInfo DiskCache::info() const {
  CodeCacheInfo info;
  info.folder = folder_.string();
  info.most_bytes = most_bytes_;
  if (folder_.empty()) {
    info.off = "RONDEL_CACHE_DIR is off, or there is no home folder";
    return info;
  }
  const Folder folder = open_folder(folder_);
  const int at = folder.descriptor.get();
  std::error_code error;
  if (at < 0) {
    if (std::filesystem::exists(folder_, error)) info.off = folder.refused;
    return info;
  }
  if (::faccessat(at, ".", W_OK, 0) != 0) info.off = std::strerror(errno);
  return summed(std::move(info), files_in(at, false));
}

CodeCacheInfo DiskCache::clear() {
  CodeCacheInfo before = info();
  if (folder_.empty()) return before;
  const Folder folder = open_folder(folder_);
  const int at = folder.descriptor.get();
  if (at < 0) return before;
  for (const bool unfinished_ones : {false, true})
    for (const Found& f : files_in(at, unfinished_ones)) ::unlinkat(at, f.name.c_str(), 0);
  return before;
}

}  // namespace rondel::compile

namespace rondel {

CodeCacheInfo code_cache_info() { return compile::DiskCache::of_process().info(); }
CodeCacheInfo clear_code_cache() { return compile::DiskCache::of_process().clear(); }

}  // namespace rondel
