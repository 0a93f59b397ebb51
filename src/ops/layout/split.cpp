#include "base/checked.h"
#include "base/error.h"
#include "ops/batching.h"
#include "ops/gradients.h"
#include "ops/positions.h"
#include "ops/type_rules.h"

#include <numeric>

namespace rondel::ops {
namespace {

/// The lengths of the parts of `extent` elements: the given lengths, or equal lengths, of which the
/// last may be shorter.
ir::Ints lengths_of(const std::optional<ir::Ints>& given, std::int64_t parts, std::int64_t extent) {
  if (given) {
    std::int64_t sum = 0;
    for (const std::int64_t length : *given) sum = checked_add(sum, length, "the lengths");
    require(static_cast<std::int64_t>(given->size()) == parts, "{} lengths for {} outputs",
            given->size(), parts);
    require(sum == extent, "the lengths add up to {}, the extent is {}", sum, extent);
    return *given;
  }
  const std::int64_t each = extent / parts + (extent % parts == 0 ? 0 : 1);
  ir::Ints lengths;
  for (std::int64_t j = 0, left = extent; j < parts; ++j) {
    lengths.push_back(std::min(each, left));
    left -= lengths.back();
  }
  return lengths;
}

/// The extent of part j if no lengths are given.
ir::Extent equal_part(const ir::Extent& extent, std::int64_t parts, std::int64_t j) {
  const ir::Integer each = ceil_div(extent, parts);
  return ir::Extent(max(min(each, extent - each * j), 0));
}

/// States the conditions that the lengths are not negative and add up to the extent.
void state_conditions(ir::TypeContext& c, const std::optional<ir::Integers>& lengths) {
  const ir::Type& x = c.input(0);
  Conditions conditions;
  ir::Integer sum = 0;
  for (const ir::Integer& length : lengths.value_or(ir::Integers())) {
    conditions.not_negative(length);
    sum = sum + length;
  }
  if (lengths) conditions.equal(x.extent(normal_axis(c.attributes().i("axis"), x.rank())), sum);
  conditions.state(c);
}

void split_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  const ir::Type& x = c.input(0);
  const auto parts = static_cast<std::int64_t>(c.output_count());
  const auto given = c.has(1) ? c.integers(1) : std::nullopt;
  auto listed = c.has(1) ? c.elements(1) : std::nullopt;
  if (listed && listed->size() != c.output_count()) listed.reset();
  if (given)
    for (const std::int64_t length : *given) require(length >= 0, "a length is {}", length);
  if (x.has_rank() && (listed || !c.has(1))) state_conditions(c, listed);
  for (std::size_t j = 0; j < c.output_count(); ++j) {
    if (!x.has_rank()) {
      c.output(j, ir::Type::unranked(x.dtype()));
      continue;
    }
    const auto axis = static_cast<std::size_t>(normal_axis(c.attributes().i("axis"), x.rank()));
    ir::Extents extents = x.extents();
    ir::Extent& extent = extents[axis];
    if (extent.known() && (given || !c.has(1))) extent = lengths_of(given, parts, extent.value)[j];
    else if (c.has(1)) extent = ir::Extent(listed ? listed->at(j) : ir::Integer());
    else extent = equal_part(extent, parts, static_cast<std::int64_t>(j));
    c.output(j, ir::Type::tensor(x.dtype(), std::move(extents)));
  }
}

std::optional<std::vector<Tensor>> split_view(const ir::Attributes& attributes,
                                              std::span<const Value> inputs,
                                              std::span<const Shape> shapes) {
  const Tensor& x = inputs[0].tensor();
  const auto axis = static_cast<std::size_t>(normal_axis(attributes.i("axis"), x.rank()));
  std::vector<Tensor> parts;
  std::int64_t offset = 0;
  for (const Shape& shape : shapes) {
    parts.push_back(x.strided(x.size() > 0 ? offset * x.strides()[axis] : 0, shape, x.strides()));
    offset += shape[axis];
  }
  return parts;
}

Ex split_element(Emitter& e, std::size_t j, const Indices& out) {
  const std::int64_t axis = normal_axis(e.attributes().i("axis"), e.rank(0));
  Indices in = out;
  Ex& along = in[static_cast<std::size_t>(axis)];
  if (e.has(1)) {
    const ir::Ints lengths = known_integers(e, 1);
    const auto before = lengths.begin() + static_cast<std::ptrdiff_t>(j);
    along = along + std::accumulate(lengths.begin(), before, std::int64_t{0});
  } else {
    const auto parts = static_cast<std::int64_t>(e.output_count());
    along = along + (e.extent(0, axis) + (parts - 1)) / parts * static_cast<std::int64_t>(j);
  }
  return e.load(0, in);
}

/// The concatenated adjoints of the parts. A part without an adjoint gets zeros. If that part is
/// not an output of the node, its shape comes from another split of x.
std::vector<ir::ValueId> split_gradient(ir::Builder& b, const ir::Node& node,
                                        std::span<const ir::ValueId> adjoints) {
  std::vector<ir::ValueId> parts(adjoints.begin(), adjoints.end()), again;
  for (std::size_t j = 0; j < parts.size(); ++j) {
    if (parts[j] != ir::ValueId::none) continue;
    const bool named = has_output(node, j);
    if (!named && again.empty()) again = b.add("split", node.inputs, node.attributes, parts.size());
    parts[j] = zeros_like(b, named ? node.outputs[j] : again[j]);
  }
  std::vector<ir::ValueId> result(node.inputs.size(), ir::ValueId::none);
  result[0] = b("concat", std::move(parts), {{"axis", node.attributes.i("axis")}});
  return result;
}

const ir::OpEntry split{{
    .name = "split",
    .doc = "the parts of x along `axis`, of the lengths given or of equal ones",
    .inputs = {{"x"}, {"lengths", ir::InputDef::optional}},
    .outputs = {"parts"},
    .attributes = {{"axis", std::int64_t{0}}, {"num_outputs", std::int64_t{0}}},
    .type = split_rule,
    .meaning = view(split_view, split_element),
    .value_inputs = {1},
    .program_values = {1},
    .can_fail = unless_known({1}),
    .batch = along_axis,
    .gradient = split_gradient,
}};

}  // namespace
}  // namespace rondel::ops
