#pragma once
#include <cstddef>
#include <string_view>

namespace rondel {

/// The length in bytes of the UTF-8 character at the start of `text`, which must not be empty; 0 if
/// the text does not start with a valid character.
std::size_t character_length(std::string_view text);

}  // namespace rondel
