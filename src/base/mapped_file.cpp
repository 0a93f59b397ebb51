#include "base/mapped_file.h"

#include "base/error.h"
#include "base/fork.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>

namespace rondel {
namespace {

/// The memory of all mapped files: where each begins and ends.
struct Mapped {
  ForkMutex mutex;
  std::map<const std::byte*, const std::byte*> ranges;
};
Mapped& mapped() {
  static auto* one = new Mapped;
  return *one;
}
/// Made when the library is loaded: a fork must not find it half made.
[[maybe_unused]] const Mapped& made_early = mapped();

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

MappedFile::MappedFile(int descriptor, std::size_t size) : size_(size) {
  if (size == 0) return;
  void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  require(at != MAP_FAILED, "cannot map a file of {} bytes: {}", size, std::strerror(errno));
  data_ = static_cast<std::byte*>(at);
  const std::lock_guard lock(mapped().mutex);
  mapped().ranges.emplace(data_, data_ + size);
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  {
    const std::lock_guard lock(mapped().mutex);
    mapped().ranges.erase(data_);
  }
  ::munmap(data_, size_);
}

bool is_mapped(const void* at) {
  const auto* address = static_cast<const std::byte*>(at);
  const std::lock_guard lock(mapped().mutex);
  const auto after = mapped().ranges.upper_bound(address);
  return after != mapped().ranges.begin() && address < std::prev(after)->second;
}

}  // namespace rondel
