#include "ops/compose.h"
#include "ops/products/equation.h"
#include "ops/type_rules.h"

#include <algorithm>

namespace rondel::ops {
namespace {

using ir::Ints;
using ir::Type;
using ir::ValueId;

std::int64_t label_axis(const Labels& labels, int label) {
  return std::ranges::find(labels, label) - labels.begin();
}

/// Whether every label that occurs in both operands certainly has the same extent in both. This is
/// required because `multiplied` does not broadcast.
bool same_extents(const AxisLabels& x, const Product& p, const Type& a, const Type& b) {
  for (const Labels* shared : {&p.batch, &p.summed})
    for (const int label : *shared) {
      const ir::Extent& n = a.extent(label_axis(x.operands[0], label));
      const ir::Extent& m = b.extent(label_axis(x.operands[1], label));
      if (!(n == m) || (!n.known() && !n.symbolic())) return false;
    }
  return true;
}

Labels joined(std::initializer_list<const Labels*> parts) {
  Labels all;
  for (const Labels* part : parts) all.insert(all.end(), part->begin(), part->end());
  return all;
}

ValueId ordered(ir::Builder& b, ValueId x, const Labels& from, const Labels& to) {
  if (from == to) return x;
  Ints perm;
  for (const int label : to) perm.push_back(label_axis(from, label));
  return b("transpose", {x}, {{"perm", perm}});
}

/// The extents of the axes [begin, end) of x.
ValueId extents(ir::Builder& b, ValueId x, std::size_t begin, std::size_t end) {
  return b("shape", {x},
           {{"start", static_cast<std::int64_t>(begin)}, {"end", static_cast<std::int64_t>(end)}});
}
/// The product of the extents of the axes [begin, end) of x.
ValueId merged_extent(ir::Builder& b, ValueId x, std::size_t begin, std::size_t end) {
  return reduce_kept(b, "reduce_prod", extents(b, x, begin, end), {0});
}

/// x reshaped to a batch of matrices: the first `batch` axes stay, the next `first` axes are merged
/// into the rows and the last `second` axes into the columns.
ValueId matrices(ir::Builder& b, ValueId x, std::size_t batch, std::size_t first,
                 std::size_t second) {
  if (first == 1 && second == 1) return x;
  const std::size_t middle = batch + first;
  const ValueId shape = b("concat",
                          {extents(b, x, 0, batch), merged_extent(b, x, batch, middle),
                           merged_extent(b, x, middle, middle + second)},
                          {{"axis", 0}});
  return b("reshape", {x, shape}, {{"allowzero", 1}});
}

ValueId multiplied(ir::Builder& b, const ir::Node& node, const AxisLabels& x, const Product& p) {
  const std::size_t batch = p.batch.size(), rows = p.rows.size(), columns = p.columns.size();
  const ValueId left = ordered(b, node.inputs[0], x.operands[0],
                               joined({&p.batch, &p.rows, &p.summed}));
  const ValueId right = ordered(b, node.inputs[1], x.operands[1],
                                joined({&p.batch, &p.summed, &p.columns}));
  ValueId y = b("mat_mul", {matrices(b, left, batch, rows, p.summed.size()),
                            matrices(b, right, batch, p.summed.size(), columns)});
  if (rows != 1 || columns != 1) {
    const std::size_t inner = batch + p.summed.size();
    const ValueId shape = b(
        "concat", {extents(b, left, 0, batch + rows), extents(b, right, inner, inner + columns)},
        {{"axis", 0}});
    y = b("reshape", {y, shape}, {{"allowzero", 1}});
  }
  return ordered(b, y, joined({&p.batch, &p.rows, &p.columns}), x.result);
}

/// A batched matrix product if the equation is one, else the plain sum.
std::vector<ValueId> einsum_of(ir::Builder& b, const ir::Node& node) {
  if (node.inputs.size() == 2) {
    const Type left = b.graph().value(node.inputs[0]).type,
               right = b.graph().value(node.inputs[1]).type;
    if (left.has_rank() && right.has_rank()) {
      const Type* types[] = {&left, &right};
      const AxisLabels x = axis_labels(node.attributes.s("equation", ""), types);
      const auto p = product_of(x);
      if (p && same_extents(x, *p, left, right)) return {multiplied(b, node, x, *p)};
    }
  }
  return {b("einsum_sum", node.inputs, {{"equation", node.attributes.s("equation", "")}})};
}

const ir::OpEntry einsum{{
    .name = "einsum",
    .doc = "y = the sum of products of the operands' elements that the equation says",
    .inputs = {{"x", ir::InputDef::variadic}},
    .required = {"equation"},
    .type = numbers_only(einsum_rule),
    .meaning = composite(einsum_of),
}};

}  // namespace
}  // namespace rondel::ops
