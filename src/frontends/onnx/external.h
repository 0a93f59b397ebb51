#pragma once
#include "base/mapped_file.h"

#include <rondel/error.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace rondel::onnx {

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
