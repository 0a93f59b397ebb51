#pragma once
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace rondel {

/// A regular file, opened for reading. Throws Error(caller) naming the file and the reason.
std::ifstream open_file(const std::filesystem::path&);

/// The first `most` bytes of a file, or all of a shorter file. Throws like `open_file`.
std::vector<std::byte> read_beginning(const std::filesystem::path&, std::size_t most);

/// The path of a file that a new one replaces: where a link leads to, which stays. Throws
/// Error(caller) if there is a folder, or what cannot be replaced, such as a device.
std::filesystem::path replaced_file(const std::filesystem::path&);

/// Puts a new file, which is complete, in the place of another one, whose permissions it gets.
/// Throws Error(caller) naming the place.
void replace_file(const std::filesystem::path& made, const std::filesystem::path& to);

/// The whole file as text. Throws like `open_file`.
std::string read_text_file(const std::filesystem::path&);

}  // namespace rondel
