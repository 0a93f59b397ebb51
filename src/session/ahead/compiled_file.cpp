#include "session/ahead/compiled_file.h"

#include "base/error.h"
#include "session/ahead/compiled_api.h"
#include "session/ahead/model_table.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <optional>
#include <string_view>
#include <vector>

namespace rondel::ahead {
namespace {

/// A file of which parts are read.
class File {
 public:
  explicit File(const std::filesystem::path& path) : in_(path, std::ios::binary) {
    require(in_.good(), "{} cannot be read: {}", path.string(), std::strerror(errno));
    std::error_code error;
    size_ = std::filesystem::file_size(path, error);
    require(!error, "{} cannot be read: {}", path.string(), error.message());
  }
  bool holds(std::uint64_t at, std::uint64_t bytes) const {
    return at <= size_ && bytes <= size_ - at;
  }
  /// Nothing if the file ends before.
  template <class T> std::optional<T> read(std::uint64_t at) {
    T value;
    if (!holds(at, sizeof value) || !in_.seekg(static_cast<std::streamoff>(at)) ||
        !in_.read(reinterpret_cast<char*>(&value), sizeof value))
      return std::nullopt;
    return value;
  }

 private:
  std::ifstream in_;
  std::uint64_t size_ = 0;
};

constexpr std::uint64_t padded(std::uint64_t bytes) { return (bytes + 3) / 4 * 4; }

/// The number of the layout, if these notes have ours.
std::optional<std::uint32_t> abi_in(File& file, const Elf64_Phdr& notes) {
  constexpr std::string_view name = note_name;
  std::uint64_t at = notes.p_offset;
  const std::uint64_t end = at + notes.p_filesz;
  while (at + sizeof(Elf64_Nhdr) <= end) {
    const auto note = file.read<Elf64_Nhdr>(at);
    if (!note) return std::nullopt;
    const std::uint64_t text = at + sizeof(Elf64_Nhdr);
    const std::uint64_t content = text + padded(note->n_namesz);
    if (note->n_namesz == name.size() + 1 && note->n_type == 1 && note->n_descsz == 4) {
      const auto found = file.read<std::array<char, 7>>(text);
      static_assert(name.size() + 1 == 7);
      if (found && std::string_view(found->data(), name.size()) == name)
        return file.read<std::uint32_t>(content);
    }
    at = content + padded(note->n_descsz);
  }
  return std::nullopt;
}

#if defined(__aarch64__)
constexpr Elf64_Half our_machine = EM_AARCH64;
#else
constexpr Elf64_Half our_machine = EM_X86_64;
#endif

}  // namespace

void check_compiled_file(const std::filesystem::path& path) {
  const std::string shown = path.string();
  std::error_code error;
  require(std::filesystem::exists(path, error), "{} cannot be read: there is no such file", shown);
  require(std::filesystem::is_regular_file(path, error), "{} is no file", shown);
  File file(path);
  const auto header = file.read<Elf64_Ehdr>(0);
  const bool is_library = header && std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
                          header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_type == ET_DYN &&
                          header->e_phentsize == sizeof(Elf64_Phdr);
  require(is_library, "{} is no compiled model; `rondel compile` makes one of a model", shown);
  require(header->e_machine == our_machine, "{} was compiled for another kind of processor", shown);
  const std::uint64_t sections = std::uint64_t{header->e_shnum} * header->e_shentsize;
  bool whole = file.holds(header->e_shoff, sections);
  std::optional<std::uint32_t> found;
  for (std::uint64_t k = 0; k < header->e_phnum; ++k) {
    const auto segment = file.read<Elf64_Phdr>(header->e_phoff + k * sizeof(Elf64_Phdr));
    whole = whole && segment && file.holds(segment->p_offset, segment->p_filesz);
    if (whole && segment->p_type == PT_NOTE && !found) found = abi_in(file, *segment);
  }
  require(whole, "{} is cut off: it ends before its last part", shown);
  require(found.has_value(), "{} is no compiled model; `rondel compile` makes one of a model",
          shown);
  if (*found != abi)
    unsupported("{} was compiled by another version of Rondel; compile the model again", shown);
}

}  // namespace rondel::ahead
