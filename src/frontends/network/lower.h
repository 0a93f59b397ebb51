#pragma once
#include <rondel/network.h>

#include "ir/graph.h"

namespace rondel::network {

/// The network as a graph. Throws Error(caller) if the network breaks a rule; the error names the
/// layers and loops.
ir::Graph lower(const INetworkDefinition&);

}  // namespace rondel::network
