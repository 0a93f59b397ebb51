// Parses YAML to a Document with yaml-cpp.
#include "base/error.h"
#include "frontends/mdf/document.h"
#include "frontends/mdf/yaml_scalar.h"

#include <yaml-cpp/yaml.h>

#include <unordered_map>
#include <unordered_set>

namespace rondel::mdf {
namespace {

constexpr std::size_t most_nodes = 10'000'000;

std::string place_of(const YAML::Mark& m) {
  if (m.is_null()) return "";
  return fmt::format("line {}, column {}: ", m.line + 1, m.column + 1);
}

class Converter {
 public:
  Document convert(const YAML::Node& n, std::size_t depth = 0) {
    require(depth <= most_depth, "{}lists and maps stand more than {} deep in each other",
            place_of(n.Mark()), most_depth);
    require(++count_ <= most_nodes, "the text has more than {} nodes, aliases counted", most_nodes);
    switch (n.Type()) {
      case YAML::NodeType::Scalar:
        return n.Tag() == "!" ? Document{n.Scalar()} : plain_scalar(n.Scalar());
      case YAML::NodeType::Sequence: return {list(n, depth)};
      case YAML::NodeType::Map: return {map(n, depth)};
      default: return {};
    }
  }

 private:
  Document::List list(const YAML::Node& n, std::size_t depth) {
    Document::List out;
    for (const YAML::Node& item : n) out.push_back(convert(item, depth + 1));
    return out;
  }
  Document::Map map(const YAML::Node& n, std::size_t depth) {
    Merged out;
    for (const auto& entry : n)
      if (is_merge(entry.first)) merge(entry.second, depth + 1, out);
    std::unordered_set<std::string> keys;
    for (const auto& entry : n) {
      if (is_merge(entry.first)) continue;
      require(entry.first.IsScalar(), "{}a key is a list or a map; expected a name",
              place_of(entry.first.Mark()));
      const std::string& key = entry.first.Scalar();
      require(keys.insert(key).second, "{}the key '{}' stands twice in one map",
              place_of(entry.first.Mark()), key);
      out.set(key, convert(entry.second, depth + 1));
    }
    return std::move(out.entries);
  }

  /// A map whose values can be replaced. As in PyYAML, a key stays where it first stood.
  struct Merged {
    Document::Map entries;
    std::unordered_map<std::string, std::size_t> positions = {};

    void set(const std::string& key, Document value) {
      const auto [at, is_new] = positions.try_emplace(key, entries.size());
      if (is_new) entries.emplace_back(key, std::move(value));
      else entries[at->second].second = std::move(value);
    }
  };

  /// Whether a key is YAML 1.1's merge key: `<<` without quotes.
  static bool is_merge(const YAML::Node& key) {
    return key.IsScalar() && key.Tag() != "!" && key.Scalar() == "<<";
  }

  /// Takes the entries of a map, or of a list of maps, of which the first one with a key wins.
  void merge(const YAML::Node& n, std::size_t depth, Merged& out) {
    require(n.IsMap() || n.IsSequence(),
            "{}'<<' stands before {}; expected a map or a list of maps", place_of(n.Mark()),
            convert(n, depth).kind());
    if (n.IsMap()) {
      for (auto& [key, value] : map(n, depth)) out.set(key, std::move(value));
      return;
    }
    for (std::size_t k = n.size(); k > 0; --k) {
      const YAML::Node one = n[k - 1];
      require(one.IsMap(), "{}'<<' stands before a list with {}; expected maps",
              place_of(one.Mark()), convert(one, depth + 1).kind());
      merge(one, depth + 1, out);
    }
  }

  std::size_t count_ = 0;
};

}  // namespace

Document parse_yaml(std::string_view text) {
  try {
    return Converter().convert(YAML::Load(std::string(text)));
  } catch (const YAML::Exception& e) { fail("{}{}", place_of(e.mark), e.msg); }
}

}  // namespace rondel::mdf
