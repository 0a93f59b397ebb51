#pragma once
#include <cstddef>
#include <utility>

namespace rondel {

/// Owns a file descriptor; negative: there is none.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor();
  Descriptor(Descriptor&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& o) noexcept {
    std::swap(fd_, o.fd_);
    return *this;
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

/// A file mapped into memory, read-only and private. Throws Error(caller) if it can't be mapped.
class MappedFile {
 public:
  MappedFile(int descriptor, std::size_t size);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::size_t size() const { return size_; }
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Whether the address is in the memory of a MappedFile: its elements change with the file.
bool is_mapped(const void*);

}  // namespace rondel
