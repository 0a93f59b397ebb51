#include "base/file.h"

#include "base/error.h"

#include <iterator>
#include <system_error>

namespace rondel {

std::ifstream open_file(const std::filesystem::path& path) {
  std::error_code error;
  require(std::filesystem::is_regular_file(path, error), "cannot read '{}': {}", path.string(),
          error ? error.message() : "it is not a file");
  std::ifstream file(path, std::ios::binary);
  require(file.good(), "cannot open '{}'", path.string());
  return file;
}

std::vector<std::byte> read_beginning(const std::filesystem::path& path, std::size_t most) {
  std::ifstream file = open_file(path);
  std::vector<std::byte> bytes(most);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(most));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

std::string read_text_file(const std::filesystem::path& path) {
  std::ifstream file = open_file(path);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  require(!file.bad(), "cannot read '{}'", path.string());
  return text;
}

}  // namespace rondel
