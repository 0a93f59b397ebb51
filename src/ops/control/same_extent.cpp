#include "base/error.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

#include <algorithm>

namespace rondel::ops {
namespace {

std::string name_of(const ir::Strings& names, std::size_t k) {
  return k < names.size() ? "'" + names[k] + "'" : "input " + std::to_string(k);
}

/// States for which extents the rule accepts such inputs. Whether it accepts them all.
bool state_conditions(ir::TypeContext& c, const ir::Ints& axes) {
  Conditions conditions;
  ir::Extents extents;
  for (std::size_t k = 0; k < c.input_count(); ++k) {
    const ir::Type& x = c.input(k);
    if (!x.has_rank()) return false;
    extents.push_back(x.extent(normal_axis(axes[k], x.rank())));
    conditions.equal(extents[k], extents[0]);
  }
  conditions.state(c);
  return std::ranges::all_of(extents, [&](const ir::Extent& e) { return e == extents[0]; });
}

/// The type rule is the check: it is applied to exact types before the op runs.
void same_extent_rule(ir::TypeContext& c) {
  const ir::Ints axes = c.attributes().ints("axes");
  const ir::Strings names = c.attributes().strings("names");
  require(axes.size() == c.input_count(), "{} axes are given for {} inputs", axes.size(),
          c.input_count());
  std::size_t first = 0;
  std::int64_t extent = -1;
  for (std::size_t k = 0; k < c.input_count(); ++k) {
    require_tensor(c, k);
    if (!c.input(k).has_rank()) continue;
    const ir::Extent& e = c.input(k).extent(
        normal_axis(axes[k], c.input(k).rank(), "axis of " + name_of(names, k)));
    if (!e.known()) continue;
    if (extent < 0) {
      extent = e.value;
      first = k;
    }
    require(e.value == extent, "{} has extent {} on axis {} and {} has {} on axis {}; expected one",
            name_of(names, first), extent, axes[first], name_of(names, k), e.value, axes[k]);
  }
  c.output(0, c.input(0));
  if (state_conditions(c, axes)) c.same(0, 0);
}

std::vector<ir::ValueId> same_extent_gradient(ir::Builder&, const ir::Node& node,
                                              std::span<const ir::ValueId> adjoints) {
  std::vector<ir::ValueId> result(node.inputs.size(), ir::ValueId::none);
  result[0] = adjoints[0];
  return result;
}

const ir::OpEntry same_extent{{
    .name = "same_extent",
    .doc = "y = the first input; all inputs must have the same extent, each on its own axis",
    .inputs = {{"x", ir::InputDef::variadic}},
    .attributes = {{"names", ir::Strings{}}},
    .required = {"axes"},
    .type = same_extent_rule,
    .meaning = view(
        [](const ir::Attributes&, std::span<const Value> inputs, std::span<const Shape>) {
          return std::optional(std::vector<Tensor>{inputs[0].tensor()});
        },
        [](Emitter& e, std::size_t, const Indices& at) { return e.load(0, at); }),
    .can_fail = true,
    .gradient = same_extent_gradient,
}};

}  // namespace
}  // namespace rondel::ops
