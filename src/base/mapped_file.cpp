#include "base/mapped_file.h"

#include "base/error.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace rondel {

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

MappedFile::MappedFile(int descriptor, std::size_t size) : size_(size) {
  if (size == 0) return;
  void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  require(at != MAP_FAILED, "cannot map a file of {} bytes: {}", size, std::strerror(errno));
  data_ = static_cast<std::byte*>(at);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace rondel
