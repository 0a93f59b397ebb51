#include "ops/reductions/arg_extreme.h"

#include "base/error.h"
#include "ops/batching.h"
#include "ops/gradients.h"
#include "ops/type_rules.h"
#include "ops/wide.h"

#include <limits>

namespace rondel::ops {
namespace {

void arg_rule(ir::TypeContext& c) {
  require_dtypes(c, 0, number_dtypes());
  const ir::Type& x = c.input(0);
  const bool keep = c.attributes().flag("keepdims", true);
  if (!x.has_rank()) return c.output(0, ir::Type::unranked(DType::i64));
  const auto axis = normal_axis(c.attributes().i("axis", 0), x.rank());
  require(x.extent(axis).value != 0, "axis {} has extent 0; expected at least one element", axis);
  c.holds_while({ir::Integer(x.extent(axis)) - 1});
  ir::Extents out = x.extents();
  if (keep) out[static_cast<std::size_t>(axis)] = 1;
  else out.erase(out.begin() + axis);
  c.output(0, ir::Type::tensor(DType::i64, std::move(out)));
}

Ex arg_element(Emitter& e, const Indices& out, bool greatest) {
  const auto axis = normal_axis(e.attributes().i("axis", 0), e.rank(0));
  Indices index = out;
  if (!e.attributes().flag("keepdims", true)) index.insert(index.begin() + axis, Ex{});
  const auto element = [&](Ex i) {
    index[static_cast<std::size_t>(axis)] = i;
    return e.load(0, index);
  };
  return arg_extreme(e.builder(), e.extent(0, axis), e.dtype(0), greatest,
                     e.attributes().flag("select_last_index"), axis + 1 != e.rank(0), element);
}

/// Compares one element after another with the most extreme one so far.
Ex arg_in_order(scalar::Builder& b, Ex n, Ex neutral, bool greatest, bool last,
                const std::function<Ex(Ex i)>& element) {
  const auto extent = b.known(n);
  const bool narrow = extent && *extent <= std::numeric_limits<std::int32_t>::max();
  const DType number = narrow ? DType::i32 : DType::i64;
  const auto replaces = [&](Ex x, Ex best) {
    const Ex less = greatest ? x < best : x > best;
    if (last) return ~less & (~is_nan(best) | is_nan(x));
    const Ex as_good_at_most = greatest ? x <= best : x >= best;
    return ~as_good_at_most & ~is_nan(best);
  };
  const auto step = [&](Ex i, std::span<const Ex> best) {
    const Ex x = widened(element(i)), better = replaces(x, best[0]);
    return std::vector<Ex>{select(better, x, best[0]), select(better, cast(number, i), best[1])};
  };
  const Ex none = b.constant(number, std::int64_t{0});
  return cast(DType::i64, b.for_(b.index(0), n, {neutral, none}, step)[1]);
}

}  // namespace

Ex arg_extreme(scalar::Builder& b, Ex n, DType element_type, bool greatest, bool last, bool across,
               const std::function<Ex(Ex i)>& element) {
  const DType t = scalar::compute_type(element_type);
  const Ex neutral = greatest ? lowest(b, t) : highest(b, t);
  if (across) return arg_in_order(b, n, neutral, greatest, last, element);
  // With this index the neutral value loses every tie, so it never wins over an element.
  const Ex neutral_index = b.index(last ? -1 : std::numeric_limits<std::int64_t>::max());
  const auto better = [&](std::span<const Ex> p, std::span<const Ex> q) {
    const Ex earlier = last ? p[1] > q[1] : p[1] < q[1];
    const Ex more_extreme = greatest ? p[0] > q[0] : p[0] < q[0];
    if (!is_float(t)) return more_extreme | ((p[0] == q[0]) & earlier);
    const Ex p_nan = is_nan(p[0]), q_nan = is_nan(q[0]);
    const Ex tie = (p[0] == q[0]) | (p_nan & q_nan);
    return more_extreme | (p_nan & ~q_nan) | (tie & earlier);
  };
  return b.reduce(
      n, {neutral, neutral_index},
      [&](Ex i) {
        return std::vector<Ex>{widened(element(i)), i};
      },
      [&](std::span<const Ex> p, std::span<const Ex> q) {
        const Ex first = better(p, q);
        return std::vector<Ex>{select(first, p[0], q[0]), select(first, p[1], q[1])};
      })[1];
}

ir::OpDef arg_op(std::string_view name, std::string_view doc, bool greatest) {
  ir::OpDef op;
  op.name = name;
  op.doc = doc;
  op.inputs = {{"x"}};
  op.attributes = {{"axis", 0}, {"keepdims", 1}, {"select_last_index", 0}};
  op.type = arg_rule;
  const auto meaning = elements([greatest](Emitter& e, std::size_t, const Indices& out) {
    return arg_element(e, out, greatest);
  });
  meaning->reads_once = true;
  op.meaning = meaning;
  op.batch = along_axis;
  op.gradient = zero_gradient;
  return op;
}

}  // namespace rondel::ops
