#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rondel::mdf {

/// A JSON or YAML text as a tree. Maps keep the order of the text, because it matters in MDF.
struct Document {
  struct Null {
    bool operator==(const Null&) const = default;
  };
  using List = std::vector<Document>;
  using Map = std::vector<std::pair<std::string, Document>>;
  std::variant<Null, bool, std::int64_t, double, std::string, List, Map> value;

  template <class T> const T* as() const { return std::get_if<T>(&value); }
  bool is_null() const { return as<Null>() != nullptr; }
  /// The entry of a map; null if this is not a map or has no such entry.
  const Document* find(std::string_view key) const;
  /// A description for errors: "a list", "the text 'x'".
  std::string kind() const;
};

/// The maximum nesting of lists and maps; deeper texts are rejected.
inline constexpr std::size_t most_depth = 200;

/// Parses JSON. NaN, Infinity and -Infinity are numbers, as in Python's json module. Throws
/// Error(caller), with line and column, for invalid JSON and for a duplicate key.
Document parse_json(std::string_view text);
/// Parses YAML, with the same errors. `plain_scalar` types unquoted scalars. Aliases are copied;
/// the result has at most ten million nodes.
Document parse_yaml(std::string_view text);

}  // namespace rondel::mdf
