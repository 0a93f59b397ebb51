#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rondel::mdf {

/// A JSON or YAML text as a tree. Maps keep the order of the text, because MDF gives it a meaning.
struct Document {
  struct Null {
    bool operator==(const Null&) const = default;
  };
  using List = std::vector<Document>;
  using Map = std::vector<std::pair<std::string, Document>>;
  std::variant<Null, bool, std::int64_t, double, std::string, List, Map> value;

  template <class T> const T* as() const { return std::get_if<T>(&value); }
  bool is_null() const { return as<Null>() != nullptr; }
  /// The entry of a map; null where this is no map or has no such entry.
  const Document* find(std::string_view key) const;
  /// "a list", "the text 'x'": for errors.
  std::string kind() const;
};

/// Lists and maps may stand in each other this deep. Deeper ones are refused.
inline constexpr std::size_t most_depth = 200;

/// NaN, Infinity and -Infinity are numbers, as for Python's json. Throws Error(caller) with line
/// and column where the text is not JSON; also for a key that stands twice in an object.
Document parse_json(std::string_view text);
/// The same for YAML. A plain scalar that reads as a number is one. Aliases are copied, up to ten
/// million nodes.
Document parse_yaml(std::string_view text);

}  // namespace rondel::mdf
