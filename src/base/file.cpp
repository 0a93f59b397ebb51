#include "base/file.h"

#include "base/error.h"

#include <iterator>
#include <system_error>

namespace rondel {
namespace {

/// As many as the system follows.
constexpr int most_links = 40;

}  // namespace

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

std::filesystem::path replaced_file(const std::filesystem::path& given) {
  namespace fs = std::filesystem;
  std::error_code error;
  require(!given.filename().empty() && !fs::is_directory(given, error),
          "cannot write to '{}': it is a folder; expected the name of a file", given.string());
  require(!fs::exists(given, error) || fs::is_regular_file(given, error),
          "cannot write to '{}': it is there, and is no file that could be replaced",
          given.string());
  fs::path to = given;  // where a link leads to need not be there yet
  for (int links = 0; fs::is_symlink(to, error); ++links) {
    require(links < most_links, "cannot write to '{}': links lead in a circle", given.string());
    to = to.parent_path() / fs::read_symlink(to);
  }
  return to;
}

std::string read_text_file(const std::filesystem::path& path) {
  std::ifstream file = open_file(path);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  require(!file.bad(), "cannot read '{}'", path.string());
  return text;
}

}  // namespace rondel
