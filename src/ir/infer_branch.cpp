// Branches: the types of an if's results are joined.
#include "ir/inference.h"

#include <algorithm>

namespace rondel::ir {

void Inference::need_condition(NodeId n) {
  need_scalar(n, g_.node(n).inputs.at(0), DType::boolean, "the condition");
}

void Inference::branch(NodeId n) {
  need_condition(n);
  const Node& node = g_.node(n);
  if (const std::optional<RegionId> taken = taken_branch(node, k_)) {
    for (const RegionId r : node.regions)
      if (r != *taken) complete_types_inside(r);
    region(*taken);
    for (std::size_t j = 0; j < node.outputs.size(); ++j)
      set_output(node, j, type(g_.region(*taken).results.at(j)));
    return;
  }
  for (const RegionId r : node.regions) region(r);
  join_branches(n);
}

void Inference::join_branches(NodeId n) {
  const Node& node = g_.node(n);
  const Region &then = g_.region(node.regions.at(0)), &otherwise = g_.region(node.regions.at(1));
  std::vector<Symbol> made;
  for (std::size_t j = 0; j < node.outputs.size(); ++j) {
    const Type &a = type(then.results.at(j)), &b = type(otherwise.results.at(j));
    const std::optional<Type> both = join(a, b);
    if (!both)
      fail_at(n, "output {} is {} in one branch and {} in the other", j, to_text(a), to_text(b));
    set_output(node, j, k_.name_unknowns ? either(node.outputs[j], a, b, *both, made) : *both);
  }
}

Type Inference::either(ValueId output, const Type& a, const Type& b, const Type& both,
                       std::vector<Symbol>& made) {
  if (!both.is_tensor() || !both.has_rank() || output == ValueId::none) return both;
  Extents extents = both.extents();
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis].known_or_symbolic()) continue;
    const std::pair pair{a.extents()[axis], b.extents()[axis]};
    const auto same = std::ranges::find_if(made, [&](Symbol name) {
      const auto& [first, second] = k_.either.at(name);
      return first == pair.first && second == pair.second;
    });
    if (same != made.end()) {
      extents[axis] = Extent(*same);
      continue;
    }
    extents[axis] = Extent::own(fmt::format("v{}.{}", index(output), axis));
    k_.either[extents[axis].symbol] = pair;
    made.push_back(extents[axis].symbol);
  }
  return Type::tensor(both.dtype(), std::move(extents));
}

}  // namespace rondel::ir
