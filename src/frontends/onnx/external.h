#pragma once
#include <rondel/error.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace rondel::onnx {

/// A file, mapped read-only and private.
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

/// The one folder a model's external data may lie in. Locations are relative paths without `..`.
/// In the model's own folder (`given` false) no component may be a symbolic link, and the file may
/// have no second name (a hard link to something else). A folder that the caller gave may hold
/// links.
class DataFolder {
 public:
  DataFolder() = default;
  DataFolder(std::filesystem::path folder, bool given)
      : folder_(std::move(folder)), given_(given) {}

  /// Opens each file once. Throws Error(caller) naming `what`.
  std::shared_ptr<MappedFile> open(const std::string& location, const std::string& what);

 private:
  std::optional<std::filesystem::path> folder_;
  bool given_ = false;
  std::map<std::string, std::shared_ptr<MappedFile>> files_;
};

}  // namespace rondel::onnx
