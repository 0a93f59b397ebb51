#include "frontends/mdf/document.h"

#include <fmt/format.h>

namespace rondel::mdf {

const Document* Document::find(std::string_view key) const {
  if (const Map* map = as<Map>())
    for (const auto& [name, entry] : *map)
      if (name == key) return &entry;
  return nullptr;
}

std::string Document::kind() const {
  switch (value.index()) {
    case 0: return "nothing";
    case 1: return *as<bool>() ? "true" : "false";
    case 2: return fmt::format("the number {}", *as<std::int64_t>());
    case 3: return fmt::format("the number {}", *as<double>());
    case 4: return fmt::format("the text '{}'", *as<std::string>());
    case 5: return "a list";
    default: return "a map";
  }
}

}  // namespace rondel::mdf
