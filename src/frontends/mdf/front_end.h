#pragma once
#include "frontends/front_end.h"

namespace rondel::mdf {

/// Its row in the table of front ends: a model as a graph whose inputs `steps` and `dt` may be left
/// out (0 steps, dt 1), and whose outputs are all output ports.
const frontends::FrontEnd& front_end();

}  // namespace rondel::mdf
