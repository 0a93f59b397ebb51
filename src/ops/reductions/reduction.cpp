#include "ops/reductions/reduction.h"

#include "base/error.h"
#include "ops/batching.h"
#include "ops/gradients.h"
#include "ops/scalars.h"
#include "ops/type_rules.h"

#include <algorithm>
#include <numeric>

namespace rondel::ops {
namespace {

using ir::Extents;
using ir::Ints;
using ir::Type;

bool contains(const Ints& list, std::int64_t x) {
  return std::find(list.begin(), list.end(), x) != list.end();
}

std::optional<Ints> integers_of(const Tensor* t) {
  if (t == nullptr) return std::nullopt;
  const Tensor packed = t->packed();
  const auto* p = packed.data_as<std::int64_t>();
  return Ints(p, p + packed.size());
}

/// The type of the result if the axes are not known.
Type unknown_axes(const ir::TypeContext& c, const Type& x, bool keep) {
  if (!x.has_rank()) return Type::unranked(x.dtype());
  if (keep) return Type::ranked(x.dtype(), x.rank());
  const Type& axes = c.input(1);
  const bool counted = axes.has_rank() && axes.rank() == 1 && axes.extent(0).value > 0;
  if (!counted) return Type::unranked(x.dtype());
  require(axes.extent(0).value <= x.rank(), "there are {} axes for a tensor of rank {}",
          axes.extent(0).value, x.rank());
  return Type::ranked(x.dtype(), x.rank() - axes.extent(0).value);
}

/// The new node always has a list of axes. `noop_with_empty_axes` is set so that an empty list
/// means no axes.
std::vector<ir::ValueId> batched_reduction(ir::Builder& b, const ir::Node& node,
                                           std::span<const ir::Batch> inputs) {
  const auto rank = element_rank(b, inputs[0]);
  const bool given = inputs.size() > 1 && inputs[1].value != ir::ValueId::none;
  const Tensor* list = given ? b.graph().constant(inputs[1].value) : nullptr;
  if (!stacked_first(inputs) || !rank || (given && list == nullptr)) return {};
  Ints axes = reduced_axes(node.attributes, integers_of(list), *rank);
  for (std::int64_t& a : axes) a -= *rank;
  ir::Attributes attributes = node.attributes;
  attributes.set("noop_with_empty_axes", 1);
  return same_call(b, node, {inputs[0].value, b.integers(axes)}, std::move(attributes));
}

}  // namespace

Ints reduced_axes(const ir::Attributes& a, const std::optional<Ints>& axes, std::int64_t rank) {
  if (axes && !axes->empty()) return normal_axes(*axes, rank);
  if (a.flag("noop_with_empty_axes")) return {};
  Ints all(static_cast<std::size_t>(rank));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

void reduce_rule(ir::TypeContext& c) {
  const Type& x = c.input(0);
  const bool keep = c.attributes().flag("keepdims", true);
  if (c.has(1)) {
    require_dtype(c, 1, DType::i64);
    if (!c.value(1)) return c.output(0, unknown_axes(c, x, keep));
  }
  const std::optional<Ints> axes = c.has(1) ? c.integers(1) : std::nullopt;
  if (!x.has_rank()) {
    const bool all = (!axes || axes->empty()) && !c.attributes().flag("noop_with_empty_axes");
    return c.output(0, all && !keep ? Type::scalar(x.dtype()) : Type::unranked(x.dtype()));
  }
  const Ints reduced = reduced_axes(c.attributes(), axes, x.rank());
  Extents out;
  for (std::int64_t axis = 0; axis < x.rank(); ++axis) {
    if (!contains(reduced, axis)) out.push_back(x.extent(axis));
    else if (keep) out.emplace_back(1);
  }
  c.holds_while();
  c.output(0, Type::tensor(x.dtype(), std::move(out)));
}

void require_numbers(ir::TypeContext& c) { require_dtypes(c, 0, number_dtypes()); }

void require_numbers_or_bools(ir::TypeContext& c) {
  require_tensor(c, 0);
  if (c.input(0).dtype() != DType::boolean) require_numbers(c);
}

ReducedElements::ReducedElements(Emitter& e, const Indices& out) : e_(e) {
  const std::int64_t rank = e.rank(0);
  const bool given = e.has(1);
  invariant(!given || e.value(1) != nullptr, "a reduction is written without its axes");
  axes_ = reduced_axes(e.attributes(), given ? integers_of(e.value(1)) : std::nullopt, rank);
  const bool keep = e.attributes().flag("keepdims", true);
  count_ = e.builder().index(1);
  std::size_t from = 0;
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    const bool is_reduced = contains(axes_, axis);
    index_.push_back(is_reduced ? Ex{} : out[from]);
    if (is_reduced) count_ = count_ * e.extent(0, axis);
    if (!is_reduced || keep) ++from;
  }
  if (across_rows() || !e.in_row_major_order(0)) return;
  const std::size_t n = axes_.size();
  while (in_row_ < n && axes_[n - in_row_ - 1] + 1 == axes_[n - in_row_]) ++in_row_;
}

std::vector<Ex> ReducedElements::extents_of_axes() const {
  std::vector<Ex> extents;
  for (const std::int64_t axis : axes_) extents.push_back(e_.extent(0, axis));
  return extents;
}

std::vector<Ex> ReducedElements::extents() const {
  std::vector<Ex> extents = extents_of_axes();
  for (std::size_t k = 1; k < in_row_; ++k) {
    const Ex last = extents.back();
    extents.pop_back();
    extents.back() = extents.back() * last;
  }
  return extents;
}

bool ReducedElements::across_rows() const {
  return !axes_.empty() && axes_.back() + 1 != static_cast<std::int64_t>(index_.size());
}

bool ReducedElements::in_rows() const {
  constexpr std::int64_t shortest_row = 16;
  const std::vector<Ex> rows = extents();
  if (rows.size() < 2) return false;
  const auto known = [&](Ex x) { return e_.builder().known(x); };
  return known(rows.back()).value_or(shortest_row) >= shortest_row &&
         known(count_).value_or(scalar::Builder::most_lanes) >= scalar::Builder::most_lanes;
}

Ex ReducedElements::raw(Ex i) const { return load(unravel(i, extents())); }

Ex ReducedElements::at(const Indices& reduced) const { return widened(load(reduced)); }

Ex ReducedElements::load(const Indices& reduced) const {
  Indices index = index_, all = reduced;
  if (in_row_ > 1) {
    const std::vector<Ex> extents = extents_of_axes();
    const Indices in_row = unravel(reduced.back(), std::span(extents).last(in_row_));
    all.pop_back();
    all.insert(all.end(), in_row.begin(), in_row.end());
  }
  for (std::size_t k = 0; k < axes_.size(); ++k) index[static_cast<std::size_t>(axes_[k])] = all[k];
  return e_.load(0, index);
}

Ex fold(scalar::Builder& b, const Fold& f, Ex count, DType t,
        const std::function<Ex(Ex i)>& element) {
  return b.reduce(
      count, {f.neutral(b, t)}, [&](Ex i) { return std::vector<Ex>{element(i)}; },
      [&](std::span<const Ex> x, std::span<const Ex> y) {
        return std::vector<Ex>{f.combine(x[0], y[0])};
      })[0];
}

Ex fold(scalar::Builder& b, const Fold& f, const ReducedElements& x, DType t,
        const std::function<Ex(Ex)>& map) {
  const auto element = [&](const Indices& i) { return std::vector<Ex>{map(x.at(i))}; };
  const auto combine = [&](std::span<const Ex> p, std::span<const Ex> q) {
    return std::vector<Ex>{f.combine(p[0], q[0])};
  };
  if (x.across_rows()) return b.reduce_chains(x.extents(), {f.neutral(b, t)}, element, combine)[0];
  if (x.in_rows()) return b.reduce_rows(x.extents(), {f.neutral(b, t)}, element, combine)[0];
  return fold(b, f, x.count(), t, [&](Ex i) { return map(x(i)); });
}

std::shared_ptr<const ir::Meaning> reduction(Fold f) {
  auto meaning = elements([f = std::move(f)](Emitter& e, std::size_t, const Indices& out) {
    const ReducedElements x(e, out);
    const DType own = scalar::compute_type(e.dtype(0));
    const DType t = f.in_floats && is_integer(own) ? DType::f64 : own;
    const Ex total = fold(e.builder(), f, x, t, [&](Ex raw) { return f.map(narrowed(t, raw)); });
    return narrowed(e.output_dtype(), f.finish(total, x.count()));
  });
  meaning->reads_once = true;
  return meaning;
}

Ex zero(scalar::Builder& b, DType t) { return b.constant(t, std::int64_t{0}); }
Ex plus(Ex a, Ex b) { return a + b; }

ir::OpDef reduce_op(std::string_view name, std::string_view doc, ir::TypeRule rule, Fold f,
                    ir::GradientRule gradient) {
  return reduce_op(name, doc, std::move(rule), reduction(std::move(f)), std::move(gradient));
}

ir::OpDef reduce_op(std::string_view name, std::string_view doc, ir::TypeRule rule,
                    std::shared_ptr<const ir::Meaning> meaning, ir::GradientRule gradient) {
  ir::OpDef op;
  op.name = name;
  op.doc = doc;
  op.inputs = {{"x"}, {"axes", ir::InputDef::optional}};
  op.attributes = {{"keepdims", 1}, {"noop_with_empty_axes", 0}};
  op.type = [rule = std::move(rule)](ir::TypeContext& c) {
    rule(c);
    reduce_rule(c);
  };
  op.meaning = std::move(meaning);
  op.value_inputs = {1};
  op.program_values = {1};
  op.batch = batched_reduction;
  op.gradient = std::move(gradient);
  return op;
}

ir::OpDef with_elements(ir::OpDef op, const ir::Integer& of_empty,
                        ir::Integer (*f)(const ir::Integer&, const ir::Integer&)) {
  op.type = [rule = std::move(op.type), of_empty, f](ir::TypeContext& c) {
    rule(c);
    const Type& x = c.input(0);
    if (x.dtype() != DType::i64 || !x.has_rank() || x.rank() != 1) return;
    const std::optional<Ints> axes = c.has(1) ? c.integers(1) : std::nullopt;
    const auto list = c.elements(0);
    if (!list || (c.has(1) && !axes) || reduced_axes(c.attributes(), axes, 1).empty()) return;
    ir::Integer all = of_empty;
    for (const ir::Integer& e : *list) all = f(all, e);
    c.set_elements(0, {all});
  };
  return op;
}

ir::ValueId reduced_alike(ir::Builder& b, const ir::Node& node, std::string_view op,
                          ir::ValueId x) {
  std::vector<ir::ValueId> operands = node.inputs;
  operands[0] = x;
  ir::Attributes attributes = node.attributes;
  attributes.set("keepdims", 1);
  return b(op, std::move(operands), std::move(attributes));
}

ir::ValueId with_reduced_axes(ir::Builder& b, const ir::Node& node, ir::ValueId v) {
  if (node.attributes.flag("keepdims", true)) return v;
  const ir::ValueId x = node.inputs[0];
  const Type type = b.graph().value(x).type;
  const auto listed = constant_integers(b, node, 1);
  if (!type.has_rank() || (has_input(node, 1) && !listed))
    return with_shape_of(b, v, reduced_alike(b, node, node.op->name, x));
  const Ints axes = reduced_axes(node.attributes, listed, type.rank());
  return axes.empty() ? v : b("unsqueeze", {v, b.integers(axes)});
}

ir::GradientRule reduction_gradient(
    std::function<ir::ValueId(ir::Builder&, const ir::Node&, const Reduced&)> f) {
  return [f = std::move(f)](ir::Builder& b, const ir::Node& node,
                            std::span<const ir::ValueId> adjoints) {
    const auto kept = [&](ir::ValueId v) { return wide_value(b, with_reduced_axes(b, node, v)); };
    const Reduced r{wide_value(b, node.inputs[0]), kept(node.outputs[0]), kept(adjoints[0])};
    std::vector<ir::ValueId> result(node.inputs.size(), ir::ValueId::none);
    result[0] = as(b, f(b, node, r), dtype_of(b, node.inputs[0]));
    return result;
  };
}

ir::ValueId shared_among_extremes(ir::Builder& b, const ir::Node& node, const Reduced& r) {
  const ir::ValueId ties = as(b, b("equal", {r.x, r.y}), dtype_of(b, r.x));
  const ir::ValueId count = reduced_alike(b, node, "reduce_sum", ties);
  return b("mul", {ties, b("div", {r.dy, count})});
}

}  // namespace rondel::ops
