#pragma once
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace rondel {

/// A regular file, opened for reading. Throws Error(caller) naming the file and the reason.
std::ifstream open_file(const std::filesystem::path&);

/// Its first bytes, `most` of them or all.
std::vector<std::byte> read_beginning(const std::filesystem::path&, std::size_t most);

/// All of it, as text.
std::string read_text_file(const std::filesystem::path&);

}  // namespace rondel
