#include "gradients/stop_gradients.h"

#include "ir/builder.h"

namespace rondel::gradients {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::ValueId;

void stop_gradient(Graph& g, ValueId v) {
  const ir::ValueInfo info = g.value(v);
  ir::Builder b(g, info.region);
  if (info.producer == NodeId::none) {
    b.insert_first();
  } else {
    b.source(g.node(info.producer).source);
    b.insert_after(info.producer);
  }
  const ValueId stopped = b("stop_gradient", {v});
  g.replace_uses(v, stopped);
  g.set_input(g.value(stopped).producer, 0, v);
}

}  // namespace

void stop_gradients(Graph& g, std::span<const ValueId> values) {
  for (const ValueId v : values) stop_gradient(g, v);
}

}  // namespace rondel::gradients
