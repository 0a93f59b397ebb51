#include "codegen/object_key.h"

#include "scalar/same_code.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/Support/BLAKE3.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace rondel::codegen {
namespace {

/// The build id among the notes of a loaded file; empty if there is none.
std::string build_id_in(const std::byte* notes, std::size_t size) {
  const auto padded = [](std::size_t n) { return (n + 3) / 4 * 4; };
  for (std::size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes + at, sizeof note);
    const std::byte* name = notes + at + sizeof note;
    const std::byte* id = name + padded(note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0)
      return {reinterpret_cast<const char*>(id), note.n_descsz};
    at += sizeof note + padded(note.n_namesz) + padded(note.n_descsz);
  }
  return {};
}

/// The build id of the loaded file that has this address.
std::string build_id_of(std::uintptr_t address) {
  struct Search {
    std::uintptr_t address;
    std::string found = {};
  } search{address};
  const auto visit = [](dl_phdr_info* file, std::size_t, void* data) {
    auto& wanted = *static_cast<Search*>(data);
    const std::span segments(file->dlpi_phdr, file->dlpi_phnum);
    const auto holds = [&](const ElfW(Phdr) & s) {
      const std::uintptr_t begin = file->dlpi_addr + s.p_vaddr;
      return s.p_type == PT_LOAD && begin <= wanted.address && wanted.address < begin + s.p_memsz;
    };
    if (!std::ranges::any_of(segments, holds)) return 0;
    for (const ElfW(Phdr) & s : segments)
      if (s.p_type == PT_NOTE && wanted.found.empty())
        wanted.found = build_id_in(reinterpret_cast<const std::byte*>(file->dlpi_addr + s.p_vaddr),
                                   s.p_memsz);
    return 1;
  };
  dl_iterate_phdr(visit, &search);
  return search.found;
}

/// The processor and all that it can do, in words.
std::string host_name() {
  std::string name = llvm::sys::getHostCPUName().str();
  std::map<std::string, bool> features;
  for (const auto& feature : llvm::sys::getHostCPUFeatures())
    features[feature.getKey().str()] = feature.getValue();
  for (const auto& [feature, has] : features) name += (has ? " +" : " -") + feature;
  return name;
}

void add(llvm::BLAKE3& hasher, std::span<const std::byte> bytes) {
  hasher.update({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

Hash result_of(llvm::BLAKE3& hasher) {
  Hash hash;
  hasher.final(hash.bytes);
  return hash;
}

}  // namespace

std::string Hash::hex() const {
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

Hash hash_of(std::span<const std::byte> bytes) {
  llvm::BLAKE3 hasher;
  add(hasher, bytes);
  return result_of(hasher);
}

std::string maker_of_objects() {
  const std::string own = build_id_of(reinterpret_cast<std::uintptr_t>(&maker_of_objects));
  const std::string llvm = build_id_of(
      reinterpret_cast<std::uintptr_t>(&llvm::sys::getHostCPUName));
  if (own.empty() || llvm.empty()) return {};
  return own + llvm + LLVM_VERSION_STRING + host_name();
}

std::optional<Hash> object_key(const scalar::Program& program, Compiler::Tier tier) {
  // Never destroyed: compiling threads read it while the process exits.
  static const auto& maker = *new const std::string(maker_of_objects());
  return maker.empty() ? std::nullopt : std::optional(object_key(maker, program, tier));
}

Hash object_key(std::string_view maker, const scalar::Program& program, Compiler::Tier tier) {
  llvm::BLAKE3 hasher;
  hasher.update(llvm::StringRef(maker));
  hasher.update(tier == Compiler::Tier::quick ? "quick" : "optimised");
  const auto content = scalar::code_content(program);
  add(hasher, std::as_bytes(std::span(content)));
  return result_of(hasher);
}

}  // namespace rondel::codegen
