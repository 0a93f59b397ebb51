#pragma once
#include "frontends/mdf/model.h"
#include "frontends/mdf/rule.h"

#include <cstddef>
#include <optional>
#include <string>

namespace rondel::mdf {

/// A condition with its arguments, and the conditions in it. `has_owner`: of a node, else of what
/// ends an evaluation. `n_whens` counts the rules of that kind. Throws Error: `caller` for an
/// unknown type, name or argument, `unsupported` for a condition that is not run here.
Rule read_rule(const Graph&, const Condition&, bool has_owner, std::size_t& n_whens);

/// "PASS", "TimeScale.PASS", in any case; nothing for another name.
std::optional<TimeScale> time_scale_named(const std::string& name);

}  // namespace rondel::mdf
