#pragma once
#include "frontends/front_end.h"

namespace rondel::mdf {

/// The row of MDF in the table of front ends. A model becomes a graph whose inputs `steps` and `dt`
/// are optional (defaults 0 and 1) and whose outputs are all output ports.
const frontends::FrontEnd& front_end();

}  // namespace rondel::mdf
