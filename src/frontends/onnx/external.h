#pragma once
#include <rondel/error.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace rondel::onnx {

/// A file mapped into memory, read-only and private.
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

/// The only folder from which a model's external data is read. Locations are relative paths without
/// `..`. In the model's own folder (`given` false) no component may be a symbolic link, and the
/// file may not have a second hard link. A folder that the caller gave may contain links.
class DataFolder {
 public:
  DataFolder() = default;
  DataFolder(std::filesystem::path folder, bool given)
      : folder_(std::move(folder)), given_(given) {}

  /// Maps the file; each file is opened once. Throws Error(caller) naming `what`.
  std::shared_ptr<MappedFile> open(const std::string& location, const std::string& what);

 private:
  std::optional<std::filesystem::path> folder_;
  bool given_ = false;
  std::map<std::string, std::shared_ptr<MappedFile>> files_;
};

}  // namespace rondel::onnx
