#pragma once
#include <cstddef>
#include <string_view>

namespace rondel {

/// The length of the UTF-8 character that a text begins with; 0 where it begins with none. The text
/// is not empty.
std::size_t character_length(std::string_view text);

}  // namespace rondel
