#include "formats/onnx/schemas.h"

namespace rondel::onnx {

std::string normal_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

std::string domain_text(const std::string& domain) { return domain.empty() ? "ai.onnx" : domain; }

int newest_version(const std::string& domain) {
  const auto& map = pb::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  const auto it = map.find(domain);
  return it == map.end() ? 0 : it->second.second;
}

Opsets read_opsets(const OpsetImports& imports, std::string_view what) {
  Opsets opsets;
  for (const auto& import : imports) {
    const std::string domain = normal_domain(import.domain());
    const int newest = newest_version(domain);
    require(import.version() >= 1 || newest == 0,
            "{} imports version {} of {}; versions begin at 1", what, import.version(),
            domain_text(domain));
    require(newest == 0 || import.version() <= newest,
            "{} imports version {} of {}; the newest known here is {}", what, import.version(),
            domain_text(domain), newest);
    const auto [it, added] = opsets.emplace(domain, import.version());
    require(added || it->second == import.version(), "{} imports {} in versions {} and {}", what,
            domain_text(domain), it->second, import.version());
  }
  return opsets;
}

const pb::OpSchema* find_schema(const std::string& op, std::int64_t version,
                                const std::string& domain) {
  const int newest = newest_version(domain);
  if (newest == 0 || version < 1 || version > newest) return nullptr;
  return pb::OpSchemaRegistry::Schema(op, static_cast<int>(version), domain);
}

}  // namespace rondel::onnx
