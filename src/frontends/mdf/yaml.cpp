// Parses YAML to a Document with yaml-cpp.
#include "base/error.h"
#include "frontends/mdf/document.h"
#include "frontends/mdf/yaml_scalar.h"

#include <yaml-cpp/yaml.h>

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
    Document::Map out;
    std::unordered_set<std::string> keys;
    for (const auto& entry : n) {
      require(entry.first.IsScalar(), "{}a key is a list or a map; expected a name",
              place_of(entry.first.Mark()));
      const std::string& key = entry.first.Scalar();
      require(keys.insert(key).second, "{}the key '{}' stands twice in one map",
              place_of(entry.first.Mark()), key);
      out.emplace_back(key, convert(entry.second, depth + 1));
    }
    return out;
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
