#pragma once
#include "frontends/front_end.h"
#include "frontends/mdf/model.h"

namespace rondel::mdf {

/// The graph of a file or of bytes. Throws Error(caller) with line and column, or naming the node,
/// port or edge at fault.
Graph read(const frontends::Source&);

}  // namespace rondel::mdf
