#include "base/kernel_fn.h"

#include <fmt/format.h>

namespace rondel {

std::size_t values_shown(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = text.find("{}"); at != text.npos; at = text.find("{}", at + 2)) ++count;
  return count;
}

std::string site_text(std::string_view text, std::span<const std::int64_t> shown) {
  std::string out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) != "{}" || next == shown.size()) {
      out += text[i];
      continue;
    }
    out += fmt::format("{}", shown[next++]);
    ++i;
  }
  return out;
}

}  // namespace rondel
