#include "frontends/onnx/external.h"

#include "base/error.h"
#include "base/text.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace rondel::onnx {
namespace {

constexpr int read_flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

std::vector<std::string> components(const std::string& location, const std::string& what) {
  require(!location.empty(), "{}: the location of its external data is empty", what);
  require(location.find('\0') == std::string::npos, "{}: its location has a zero byte", what);
  require(location.front() != '/', "{}: location '{}' is an absolute path", what, location);
  std::vector<std::string> parts;
  for (std::string& part : split(location, '/')) {
    require(part != "..", "{}: location '{}' leads out of the model's folder", what, location);
    if (!part.empty() && part != ".") parts.push_back(std::move(part));
  }
  require(!parts.empty(), "{}: location '{}' names no file", what, location);
  return parts;
}

/// Opens a path component by component without following links, for kernels without openat2.
int open_stepwise(int folder, const std::vector<std::string>& parts) {
  Descriptor here(::dup(folder));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool last = i + 1 == parts.size();
    Descriptor next(
        ::openat(here.get(), parts[i].c_str(), read_flags | O_NOFOLLOW | (last ? 0 : O_DIRECTORY)));
    if (next.get() < 0) return -1;
    here = std::move(next);
  }
  return ::dup(here.get());
}

int open_beneath(int folder, const std::vector<std::string>& parts) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(read_flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  const std::string path = join(parts, "/");
  const long fd = ::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how);
  if (fd < 0 && (errno == ENOSYS || errno == EPERM)) return open_stepwise(folder, parts);
  return static_cast<int>(fd);
}

}  // namespace

std::shared_ptr<MappedFile> DataFolder::open(const std::string& location, const std::string& what) {
  require(folder_.has_value(),
          "{} has external data in '{}'; for a model given as bytes, set external_data_dir", what,
          location);
  const std::vector<std::string> parts = components(location, what);
  const std::string path = join(parts, "/");
  if (const auto known = files_.find(path); known != files_.end()) return known->second;

  const std::string base = folder_->empty() ? "." : folder_->string();
  const Descriptor folder(::open(base.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  require(folder.get() >= 0, "{}: cannot open folder '{}': {}", what, base, std::strerror(errno));
  const Descriptor file(given_ ? ::openat(folder.get(), path.c_str(), read_flags)
                               : open_beneath(folder.get(), parts));
  require(
      file.get() >= 0, "{}: cannot open its external data '{}' in '{}': {}{}", what, location, base,
      std::strerror(errno),
      errno == ELOOP ? " (links are followed only in a folder given as external_data_dir)" : "");
  struct stat status {};
  require(::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode),
          "{}: external data '{}' is not a regular file", what, location);
  require(given_ || status.st_nlink == 1,
          "{}: external data '{}' has {} names (hard links); allowed only in a folder given as "
          "external_data_dir",
          what, location, static_cast<std::uint64_t>(status.st_nlink));
  auto mapped = std::make_shared<MappedFile>(file.get(), static_cast<std::size_t>(status.st_size));
  files_.emplace(path, mapped);
  return mapped;
}

}  // namespace rondel::onnx
