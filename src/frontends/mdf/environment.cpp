#include "frontends/mdf/environment.h"

#include "base/error.h"

namespace rondel::mdf {

const std::vector<ValueId>& Environment::all(const std::string& name) const {
  const auto it = entries_.find(name);
  if (it == entries_.end()) {
    std::vector<std::string> names;
    for (const auto& [known, entry] : entries_)
      if (std::holds_alternative<std::vector<ValueId>>(entry)) names.push_back(known);
    fail("the name '{}' is not known here; {}", name, known_names(name, names));
  }
  if (const auto* reason = std::get_if<std::string>(&it->second)) fail("{}", *reason);
  return std::get<std::vector<ValueId>>(it->second);
}

bool Environment::readable(const std::string& name) const {
  const auto it = entries_.find(name);
  return it != entries_.end() && std::holds_alternative<std::vector<ValueId>>(it->second);
}

}  // namespace rondel::mdf
