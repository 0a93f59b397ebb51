#include "formats/onnx/schemas.h"

#include "base/fork.h"

#include <atomic>
#include <mutex>

namespace rondel::onnx {
namespace {

/// Makes onnx's registry of schemas, which takes some time, at the first use. A fork waits until it
/// is made: a child of a fork in between would wait forever for the thread that made it.
class Registry {
 public:
  static Registry& instance() {
    static auto* one = new Registry;  // never destroyed: a process may fork while it exits
    return *one;
  }
  void make() {
    if (made_.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(mutex_);
    if (made_.load(std::memory_order_relaxed)) return;
    (void)pb::OpSchemaRegistry::Schema("Identity", 1, "");
    made_.store(true, std::memory_order_release);
  }

 private:
  std::atomic<bool> made_ = false;
  ForkMutex mutex_;
};

/// Made when the library is loaded: a fork must not find it half made.
[[maybe_unused]] const Registry& made_early = Registry::instance();

}  // namespace

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
  Registry::instance().make();
  return pb::OpSchemaRegistry::Schema(op, static_cast<int>(version), domain);
}

}  // namespace rondel::onnx
