#pragma once
#include "frontends/deepx/program.h"
#include "frontends/deepx/statement.h"

#include <optional>

namespace rondel::deepx {

class LineGraphs;

/// Checks a statement and appends what it computes. `known`: graphs of lines so far, of any
/// program. Throws Error(caller) at a place in the text, and Error(limit); nothing has changed
/// then. What the line asks for beside values is given back.
std::optional<Effect> append(Program&, LineGraphs& known, const Statement&);

}  // namespace rondel::deepx
