#include <rondel/network.h>

#include "frontends/network/lower.h"
#include "session/from_graph.h"

namespace rondel::network {

Session buildSession(const INetworkDefinition& network, const SessionOptions& options) {
  ModelInfo info;
  info.graph_name = network.getName();
  return session::FromGraph::make(lower(network), std::move(info), options);
}

}  // namespace rondel::network
