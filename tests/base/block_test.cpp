#include "base/block.h"

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

namespace rondel {
namespace {

/// The flags of the mapping that an address lies in, as the system lists them ("rd wr mr hg").
std::string flags_of_mapping(std::uintptr_t address) {
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t from = 0, to = 0;
    char dash = 0;
    if (std::istringstream range(line); range >> std::hex >> from >> dash >> to && dash == '-')
      inside = from <= address && address < to;
    if (inside && line.starts_with("VmFlags:")) return line;
  }
  return "";
}

TEST(Block, LargeOnesLieInHugePages) {
  constexpr std::size_t bytes = std::size_t{40} << 20, page = 4096;
  void* own = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(own, MAP_FAILED);
  const bool has_them = ::madvise(own, bytes, MADV_HUGEPAGE) == 0;
  ::munmap(own, bytes);
  // A kernel may be built without them; then the wish is refused, and nothing is there to be seen.
  if (!has_them) GTEST_SKIP() << "the system has no huge pages";
  const OwnedBlock block = take_owned_block(bytes);
  ASSERT_NE(block, nullptr);
  const auto middle = reinterpret_cast<std::uintptr_t>(block.get()) + bytes / 2 / page * page;
  const std::string flags = flags_of_mapping(middle);
  // Nor need it list the flags, which alone tell whether the block asked.
  if (flags.empty()) GTEST_SKIP() << "the system lists no flags of mappings";
  EXPECT_NE(flags.find(" hg"), std::string::npos) << flags;
}

}  // namespace
}  // namespace rondel
