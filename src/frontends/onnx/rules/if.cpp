// If: two regions without parameters.
#include "frontends/onnx/rules/control.h"

namespace rondel::onnx {

std::vector<ValueId> import_if(Call& c) {
  const ValueId condition = scalar_of(c, c.in(0), DType::boolean, "the condition", c.scope.region);
  std::vector<ir::RegionId> regions;
  for (const char* name : {"then_branch", "else_branch"}) {
    const BodyGraph branch = body_graph(c, name, 0);
    const ir::RegionId region = c.importer.graph().add_region();
    Scope scope = body_scope(branch, region);
    std::vector<ValueId> results = c.importer.body(branch.graph, scope, *branch.binding.frame);
    require(results.size() == c.outputs, "its {} has {} outputs; the node has {}", name,
            results.size(), c.outputs);
    c.importer.graph().set_results(region, std::move(results));
    regions.push_back(region);
  }
  return c.importer.add_if(condition, std::move(regions), c.outputs, c.source, c.scope.region);
}

}  // namespace rondel::onnx
