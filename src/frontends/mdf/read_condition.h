#pragma once
#include "frontends/mdf/model.h"
#include "frontends/mdf/rule.h"

#include <cstddef>
#include <optional>
#include <string>

namespace rondel::mdf {

/// Reads a condition, with the conditions nested in it. `has_owner`: it is the condition of a node,
/// not a termination. `n_whens` is incremented for each `n_when` rule. Throws Error: `caller` for
/// an unknown type, name or argument, `unsupported` for a condition that is not implemented.
Rule read_rule(const Graph&, const Condition&, bool has_owner, std::size_t& n_whens);

/// Parses "PASS" or "TimeScale.PASS", case-insensitive; nothing for an unknown name.
std::optional<TimeScale> time_scale_named(const std::string& name);

}  // namespace rondel::mdf
