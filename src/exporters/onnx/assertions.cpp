#include "exporters/onnx/assertions.h"

#include "base/text.h"
#include "exporters/onnx/live.h"
#include "ir/builder.h"
#include "ir/infer.h"

#include <algorithm>

namespace rondel::exporters {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;

bool is_assertion(const Graph& g, NodeId n) { return g.node(n).outputs.empty(); }

/// The number of the first result of a region that can be gathered. The first of a loop's body is
/// its condition, which may decide nothing.
std::optional<std::size_t> gathered_result(const Graph& g, RegionId r) {
  const ir::Region& region = g.region(r);
  const bool body = region.parent != NodeId::none && g.node(region.parent).op->name == "loop";
  for (std::size_t k = body ? 1 : 0; k < region.results.size(); ++k)
    if (g.value(region.results[k]).type.is_tensor()) return k;
  return std::nullopt;
}

/// How many elements of a condition do not hold: i64[].
ValueId failures(ir::Builder& b, ValueId condition) {
  const ValueId failed = b("cast", {b("not", {condition})}, {{"to", ir::Type::scalar(DType::i64)}});
  return b("reduce_sum", {failed}, {{"keepdims", std::int64_t{0}}});
}

void guard(Graph& g, RegionId r, std::size_t result, NodeId assertion) {
  ir::Builder b(g, r);
  b.source(g.node(assertion).source);
  const ValueId y = g.region(r).results[result];
  const ValueId failed = failures(b, g.node(assertion).inputs[0]);
  const ValueId guarded = b("gather", {b("unsqueeze", {y, b.integers({0})}), failed});
  g.value(guarded).name = g.value(y).name;
  g.region(r).results[result] = guarded;
  g.erase_node(assertion);
}

}  // namespace

std::vector<std::string> keep_assertions(Graph& g) {
  const Live live(g);
  std::vector<std::string> notes;
  for (std::size_t k = 0; k < g.region_count(); ++k) {
    const auto r = static_cast<RegionId>(k);
    for (const NodeId n : std::vector<NodeId>(g.region(r).nodes)) {
      if (!is_assertion(g, n)) continue;
      const NodeId parent = g.region(r).parent;
      const bool runs = parent == NodeId::none || live(g.node(parent));
      const auto result = runs ? gathered_result(g, r) : std::nullopt;
      if (result) guard(g, r, *result, n);
      else
        notes.push_back(fmt::format("{} is left out: no result of its graph can be made an error",
                                    ir::where(g, n)));
    }
  }
  return notes;
}

}  // namespace rondel::exporters
