#include "base/error.h"
#include "ops/gradients.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

using ir::ValueId;

/// Asserts that the channels make whole groups, if only the run knows their number.
void check_groups(ir::Builder& b, ValueId x, std::int64_t groups) {
  if (groups == 1 || b.graph().value(x).type.extent(1).known()) return;
  const ValueId left = b("mod", {extent_of(b, x, 1), b.integers({groups})});
  require_in_run(b, b("equal", {left, b.integers({0})}),
                 fmt::format("the channels of x do not make {} groups", groups));
}

/// Normalizes each group of channels as one row: [n, groups, rest].
std::vector<ValueId> group_normalized(ir::Builder& b, const ir::Node& node) {
  const ir::Type type = b.graph().value(node.inputs[0]).type;
  if (!type.has_rank()) unsupported("group normalization of a tensor of unknown rank");
  ir::Ints after_channel;
  for (std::int64_t a = 2; a < type.rank(); ++a) after_channel.push_back(a - 1);
  const DType own = type.dtype(), t = scalar::compute_type(own);
  check_groups(b, node.inputs[0], node.attributes.i("num_groups"));
  const auto channel = [&](std::size_t k) {
    const ir::Strings names{std::string(node.op->inputs[k].name), "x"};
    const ValueId list = with_extent_of(b, node.inputs[k], 0, node.inputs[0], 1, names);
    const ValueId v = as(b, list, t);
    return after_channel.empty() ? v : b("unsqueeze", {v, b.integers(after_channel)});
  };
  const ValueId x = as(b, node.inputs[0], t);
  const ValueId rows = b("reshape", {x, b.integers({0, node.attributes.i("num_groups"), -1})});
  const ValueId d = b("sub", {rows, reduce_kept(b, "reduce_mean", rows, {-1})});
  const ValueId variance = reduce_kept(b, "reduce_mean", b("mul", {d, d}), {-1});
  const ValueId epsilon = b.scalar(t, node.attributes.f("epsilon", 0));
  const ValueId normalized_rows = b("div", {d, b("sqrt", {b("add", {variance, epsilon})})});
  const ValueId unflattened = b("reshape", {normalized_rows, b("shape", {node.inputs[0]})});
  return {as(b, b("add", {b("mul", {unflattened, channel(1)}), channel(2)}), own)};
}

void group_rule(ir::TypeContext& c) {
  const ir::Type& x = c.input(0);
  const std::int64_t groups = c.attributes().i("num_groups");
  require(groups >= 1, "num_groups is {}; expected 1 or more", groups);
  require(!x.has_rank() || x.rank() >= 2, "input 0 is {}; expected [n, channels, ...]", to_text(x));
  const std::int64_t channels = x.has_rank() ? x.extent(1).value : -1;
  require(channels < 0 || channels % groups == 0, "{} channels do not make {} groups", channels,
          groups);
  for (std::size_t k : {1U, 2U}) {
    require_rank(c, k, 1);
    const std::int64_t n = c.input(k).has_rank() ? c.input(k).extent(0).value : -1;
    require(n < 0 || channels < 0 || n == channels, "input {} has {} elements for {} channels", k,
            n, channels);
  }
  c.output(0, x);
}

const ir::OpEntry group_normalization{{
    .name = "group_normalization",
    .doc = "y = (x - mean) / deviation * scale + bias, separately for each group of channels",
    .inputs = {{"x"}, {"scale"}, {"bias"}},
    .attributes = {{"epsilon", 1e-5F}, {"stash_type", ir::Type::scalar(DType::f32)}},
    .required = {"num_groups"},
    .type = floats_only(group_rule),
    .meaning = composite(group_normalized, {0}),
}};

}  // namespace
}  // namespace rondel::ops
