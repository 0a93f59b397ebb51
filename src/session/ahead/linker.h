#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace rondel::ahead {

/// A temporary folder, removed at the end of the scope.
class WorkFolder {
 public:
  WorkFolder();
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A program of a compiled model: its key, its place among the contents, and its function.
struct LinkedProgram {
  std::uint64_t high, low, first_word, words;
  std::string symbol;
};

/// What a compiled model is linked from. The files are in one folder.
struct LinkInput {
  std::string name;  ///< the prefix of the model's functions
  std::filesystem::path folder;
  std::string description, contents, weights;  ///< names of files
  std::uint64_t description_bytes = 0, weight_bytes = 0;
  std::vector<LinkedProgram> programs;
  std::vector<std::string> objects;  ///< names of files
};

/// The C compiler of the system with what a compiled model is linked with.
class Linker {
 public:
  /// Throws Error(unsupported), in one line, if something is missing.
  Linker();
  /// Writes the shared object. Throws Error(unsupported) with the linker's words if it fails.
  void link(const LinkInput&, const std::filesystem::path& library) const;

 private:
  std::string compiler_;
  std::filesystem::path runtime_;
};

}  // namespace rondel::ahead
