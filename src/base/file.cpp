#include "base/file.h"

#include "base/error.h"
#include "base/utf8.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string_view>
#include <system_error>

namespace rondel {
namespace {

/// As many as the system follows.
constexpr int most_links = 40;

/// A text that is given as a path, for messages: its beginning, without bytes that are no text.
struct Shown {
  explicit Shown(std::string_view path) {
    constexpr std::size_t most = 200;
    while (!path.empty() && text.size() < most) {
      const std::size_t length = character_length(path);
      const bool is_text = length > 0 && static_cast<unsigned char>(path[0]) >= ' ';
      if (is_text) text += path.substr(0, length);
      else text += fmt::format("\\x{:02x}", static_cast<unsigned char>(path[0]));
      is_usual = is_usual && is_text;
      path.remove_prefix(std::max<std::size_t>(1, length));
    }
    if (path.empty()) return;
    text += "...";
    is_usual = false;
  }
  std::string text;
  bool is_usual = true;
};

constexpr const char* no_path =
    "; a text is taken as a path; to read a model's bytes, pass bytes: in C++ "
    "std::as_bytes(std::span(text))";

}  // namespace

std::ifstream open_file(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::is_regular_file(status)) {
    const Shown shown(path.string());
    const std::string why = status.type() == std::filesystem::file_type::not_found
                                ? "there is no such file"
                            : error ? error.message()
                                    : "it is not a file";
    fail("cannot read '{}': {}{}", shown.text, why, shown.is_usual ? "" : no_path);
  }
  std::ifstream file(path, std::ios::binary);
  if (!file.good()) fail("cannot read '{}': {}", path.string(), std::strerror(errno));
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

void replace_file(const std::filesystem::path& made, const std::filesystem::path& to) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status old = fs::status(to, error);
  if (fs::exists(old)) fs::permissions(made, old.permissions(), error);
  fs::rename(made, to, error);
  require(!error, "cannot write '{}': {}", to.string(), error.message());
}

std::string read_text_file(const std::filesystem::path& path) {
  std::ifstream file = open_file(path);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  require(!file.bad(), "cannot read '{}'", path.string());
  return text;
}

}  // namespace rondel
