#include "ops/reductions/running.h"

#include "base/error.h"
#include "ops/batching.h"
#include "ops/type_rules.h"
#include "ops/wide.h"

namespace rondel::ops {
namespace {

void running_rule(ir::TypeContext& c) {
  require_dtypes(c, 0, number_dtypes());
  static constexpr DType axis_dtypes[] = {DType::i32, DType::i64};
  require_dtypes(c, 1, axis_dtypes);
  require_scalar(c, 1);
  c.output(0, c.input(0));
  const auto axis = c.integers(1);
  if (!axis || !c.input(0).has_rank()) return;
  normal_axis(axis->front(), c.input(0).rank());
  c.holds_while();
}

std::int64_t axis_in(const Tensor& t) {
  return t.dtype() == DType::i32 ? *t.data_as<std::int32_t>() : *t.data_as<std::int64_t>();
}

void write_running(Emitter& e, std::int64_t neutral, Ex (*combine)(Ex, Ex)) {
  invariant(e.value(1) != nullptr, "a running fold is written without its axis");
  const auto axis = static_cast<std::size_t>(normal_axis(axis_in(*e.value(1)), e.rank(0)));
  const bool exclusive = e.attributes().flag("exclusive");
  const bool reverse = e.attributes().flag("reverse");
  scalar::Builder& b = e.builder();
  std::vector<Ex> others;
  for (std::size_t k = 0; k < static_cast<std::size_t>(e.rank(0)); ++k)
    if (k != axis) others.push_back(e.extent(0, static_cast<std::int64_t>(k)));
  const Ex n = e.extent(0, static_cast<std::int64_t>(axis));
  b.for_all(others, [&](const Indices& outer) {
    const Ex start = b.constant(scalar::compute_type(e.dtype(0)), neutral);
    b.for_(b.index(0), n, {start}, [&](Ex i, std::span<const Ex> carried) {
      Indices at = outer;
      at.insert(at.begin() + static_cast<std::ptrdiff_t>(axis), reverse ? n - 1 - i : i);
      const Ex next = combine(carried[0], widened(e.load(0, at)));
      e.store(0, at, narrowed(e.output_dtype(), exclusive ? carried[0] : next));
      return std::vector<Ex>{next};
    });
  });
}

}  // namespace

ir::OpDef running_op(std::string_view name, std::string_view doc, std::int64_t neutral,
                     Ex (*combine)(Ex, Ex), ir::GradientRule gradient) {
  ir::OpDef op;
  op.name = name;
  op.doc = doc;
  op.inputs = {{"x"}, {"axis"}};
  op.attributes = {{"exclusive", 0}, {"reverse", 0}};
  op.type = running_rule;
  op.meaning = nest([=](Emitter& e) { write_running(e, neutral, combine); });
  op.value_inputs = {1};
  op.program_values = {1};
  op.can_fail = unless_constant({1});
  op.in_place = {0};
  op.batch = along_axes;
  op.gradient = std::move(gradient);
  return op;
}

}  // namespace rondel::ops
