#include "ops/layout/concat.h"

#include "base/axis.h"
#include "base/checked.h"
#include "ops/batching.h"
#include "ops/gradients.h"
#include "ops/positions.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

/// States the elements of the result if all inputs are short lists of integers.
void join_elements(ir::TypeContext& c) {
  ir::Integers joined;
  for (std::size_t k = 0; k < c.input_count(); ++k) {
    const auto list = c.input(k).rank() == 1 ? c.elements(k) : std::nullopt;
    if (!list) return;
    joined.insert(joined.end(), list->begin(), list->end());
  }
  c.set_elements(0, std::move(joined));
}

void concat_rule(ir::TypeContext& c) {
  require(c.input_count() > 0, "there is nothing to join");
  const DType dtype = c.input(0).dtype();
  Conditions conditions;
  std::optional<ir::Extents> joined;
  for (std::size_t k = 0; k < c.input_count(); ++k) {
    require_tensor(c, k);
    require_same_dtype(c, 0, k);
    const ir::Type& x = c.input(k);
    if (!x.has_rank()) return c.output(0, ir::Type::unranked(dtype));
    const auto axis = static_cast<std::size_t>(normal_axis(c.attributes().i("axis"), x.rank()));
    if (!joined) {
      joined = x.extents();
      continue;
    }
    require(joined->size() == x.extents().size(), "ranks {} and {} differ", joined->size(),
            x.rank());
    for (std::size_t a = 0; a < joined->size(); ++a) {
      ir::Extent& e = (*joined)[a];
      const ir::Extent& more = x.extents()[a];
      if (a == axis) {
        e = e.known() && more.known() ? checked_add(e.value, more.value)
                                      : ir::Extent(ir::Integer(e) + more);
        continue;
      }
      require(!e.known() || !more.known() || e.value == more.value,
              "extents {} and {} of axis {} differ; only axis {} is joined", e.value, more.value, a,
              axis);
      conditions.equal(e, more);
      if (!e.known() && (more.known() || !e.symbolic())) e = more;
    }
  }
  c.output(0, ir::Type::tensor(dtype, *joined));
  join_elements(c);
  conditions.state(c);
}

void concat_nest(Emitter& e) {
  const auto axis = static_cast<std::size_t>(normal_axis(e.attributes().i("axis"), e.rank(0)));
  Ex offset = e.builder().index(0);
  for (std::size_t k = 0; k < e.input_count(); ++k) {
    const Indices extents = extents_of(e, k);
    const bool there = k == 0 && e.in_place(0, 0);  // as the beginning of the result
    if (!there)
      e.builder().for_all(extents, [&](const Indices& in) {
        Indices out = in;
        out[axis] = in[axis] + offset;
        e.store(0, out, e.load(k, in));
      });
    offset = offset + extents[axis];
  }
}

std::vector<ir::ValueId> batched_concat(ir::Builder& b, const ir::Node& node,
                                        std::span<const ir::Batch> inputs) {
  const auto rank = element_rank(b, inputs[0]);
  if (!std::ranges::all_of(inputs, &ir::Batch::stacked) || !rank) return {};
  const std::int64_t axis = normal_axis(node.attributes.i("axis"), *rank) - *rank;
  return same_call(b, node, values_of(inputs), {{"axis", axis}});
}

/// At most so many elements along the axis are gathered, rather than sliced.
constexpr std::int64_t most_gathered = 8;

/// The part of a joined tensor that lies where `x` was joined, from `start` to `end` along the
/// axis. If types do not tell how long the joined tensor is, they tell the length of a slice only
/// at run time; a part of few elements is gathered, because its length is that of the indices.
ir::ValueId part_of_joined(ir::Builder& b, ir::ValueId joined, ir::ValueId start, ir::ValueId end,
                           ir::ValueId x, std::int64_t axis) {
  const auto extent = [&](ir::ValueId v) {
    const ir::Type& t = b.graph().value(v).type;
    return t.has_rank() ? t.extent(axis_from_front(axis, t.rank())) : ir::Extent();
  };
  const ir::Extent own = extent(x);
  if (extent(joined).known() || !own.known() || own.value < 1 || own.value > most_gathered)
    return b("slice", {joined, start, end, b.integers({axis})});
  const ir::ValueId positions = own.value == 1
                                    ? start
                                    : b("add", {start, iota(b, b.integers({own.value}))});
  const std::int64_t rank = b.graph().value(x).type.rank();
  return b("gather", {joined, positions}, {{"axis", axis_from_front(axis, rank) - rank}});
}

/// The adjoint of each input is its part of the result's adjoint.
std::vector<ir::ValueId> concat_gradient(ir::Builder& b, const ir::Node& node,
                                         std::span<const ir::ValueId> adjoints) {
  const std::int64_t axis = node.attributes.i("axis");
  ir::ValueId start = b.integers({0});
  std::vector<ir::ValueId> result;
  for (const ir::ValueId x : node.inputs) {
    const ir::ValueId end = sum_of_integers(b, start, extent_of(b, x, axis));
    result.push_back(part_of_joined(b, adjoints[0], start, end, x, axis));
    start = end;
  }
  return result;
}

const ir::OpEntry concat{{
    .name = "concat",
    .doc = "y = the inputs joined along `axis`",
    .inputs = {{"inputs", ir::InputDef::variadic}},
    .required = {"axis"},
    .type = concat_rule,
    .meaning = nest(concat_nest),
    .extends = 0,
    .batch = batched_concat,
    .gradient = concat_gradient,
}};

}  // namespace

std::optional<std::int64_t> joined_axis(const ir::Node& n) {
  if (n.op->name != "concat") return std::nullopt;
  return n.attributes.i("axis");
}

}  // namespace rondel::ops
