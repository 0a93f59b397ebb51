#pragma once
#include <rondel/network.h>

#include "ir/graph.h"

namespace rondel::network {

/// The network as a graph. Throws Error(caller) naming layers and loops where a rule is broken.
ir::Graph lower(const INetworkDefinition&);

}  // namespace rondel::network
