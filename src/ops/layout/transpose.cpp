#include "base/error.h"
#include "ops/batching.h"
#include "ops/positions.h"
#include "ops/type_rules.h"

#include <algorithm>

namespace rondel::ops {
namespace {

/// For each axis of y, its axis in x. The default is the reversed order.
ir::Ints permutation(const ir::Attributes& attributes, std::int64_t rank) {
  ir::Ints perm = attributes.ints("perm");
  if (perm.empty())
    for (std::int64_t a = rank; a-- > 0;) perm.push_back(a);
  ir::Ints sorted = perm;
  std::ranges::sort(sorted);
  bool is_permutation = static_cast<std::int64_t>(perm.size()) == rank;
  for (std::size_t a = 0; is_permutation && a < sorted.size(); ++a)
    is_permutation = sorted[a] == static_cast<std::int64_t>(a);
  require(is_permutation, "perm {} is no permutation of {} axes", to_text(ir::Attribute(perm)),
          rank);
  return perm;
}

void transpose_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  const ir::Type& x = c.input(0);
  if (!x.has_rank()) {
    const auto rank = static_cast<std::int64_t>(c.attributes().ints("perm").size());
    return c.output(0,
                    rank > 0 ? ir::Type::ranked(x.dtype(), rank) : ir::Type::unranked(x.dtype()));
  }
  ir::Extents extents;
  for (const std::int64_t from : permutation(c.attributes(), x.rank()))
    extents.push_back(x.extent(from));
  c.output(0, ir::Type::tensor(x.dtype(), std::move(extents)));
  c.holds_while();
}

std::optional<std::vector<Tensor>> transposed_view(const ir::Attributes& attributes,
                                                   std::span<const Value> inputs,
                                                   std::span<const Shape> shapes) {
  const Tensor& x = inputs[0].tensor();
  Shape strides;
  for (const std::int64_t from : permutation(attributes, x.rank()))
    strides.push_back(x.strides()[static_cast<std::size_t>(from)]);
  return std::vector<Tensor>{x.strided(0, shapes[0], std::move(strides))};
}

Ex transposed_element(Emitter& e, std::size_t, const Indices& out) {
  Indices in(out.size());
  const ir::Ints perm = permutation(e.attributes(), e.rank(0));
  for (std::size_t a = 0; a < out.size(); ++a) in[static_cast<std::size_t>(perm[a])] = out[a];
  return e.load(0, in);
}

bool keeps_rows(const ir::Node& node, const ir::Type& x, const ir::Type&) {
  return x.rank() > 0 && permutation(node.attributes, x.rank()).back() == x.rank() - 1;
}

std::shared_ptr<const ir::Meaning> transposition() {
  auto meaning = view(transposed_view, transposed_element);
  meaning->keeps_rows = keeps_rows;
  return meaning;
}

std::vector<ir::ValueId> batched_transpose(ir::Builder& b, const ir::Node& node,
                                           std::span<const ir::Batch> inputs) {
  const auto rank = element_rank(b, inputs[0]);
  if (!rank) return {};
  ir::Ints perm{0};
  for (const std::int64_t from : permutation(node.attributes, *rank)) perm.push_back(from + 1);
  return same_call(b, node, values_of(inputs), {{"perm", perm}});
}

/// Applies the inverse permutation. Reversed order is its own inverse.
std::vector<ir::ValueId> transpose_gradient(ir::Builder& b, const ir::Node& node,
                                            std::span<const ir::ValueId> adjoints) {
  const ir::Ints perm = node.attributes.ints("perm");
  ir::Ints inverse(perm.size());
  for (std::size_t a = 0; a < perm.size(); ++a)
    inverse[static_cast<std::size_t>(perm[a])] = static_cast<std::int64_t>(a);
  return {b("transpose", {adjoints[0]}, {{"perm", inverse}})};
}

const ir::OpEntry transpose{{
    .name = "transpose",
    .doc = "y = x with its axes in the order `perm` (reversed where it is left out)",
    .inputs = {{"x"}},
    .attributes = {{"perm", ir::Ints{}}},
    .type = transpose_rule,
    .meaning = transposition(),
    .batch = batched_transpose,
    .gradient = transpose_gradient,
}};

}  // namespace
}  // namespace rondel::ops
