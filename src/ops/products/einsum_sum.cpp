#include "base/error.h"
#include "ops/gradients.h"
#include "ops/products/equation.h"
#include "ops/reductions/reduction.h"
#include "ops/scalars.h"
#include "ops/type_rules.h"

#include <algorithm>
#include <map>

namespace rondel::ops {
namespace {

using ir::Type;

/// The sum of terms that is one element of the result. Each term is a product of operand elements.
class Sum {
 public:
  Sum(Emitter& e, const Indices& out) : e_(e) {
    std::vector<const Type*> inputs;
    for (std::size_t k = 0; k < e.input_count(); ++k) inputs.push_back(&e.input(k));
    x_ = axis_labels(e.attributes().s("equation", ""), inputs);
    for (std::size_t a = 0; a < out.size(); ++a) index_[x_.result[a]] = out[a];
    for (std::size_t k = 0; k < inputs.size(); ++k)
      for (std::size_t a = 0; a < x_.operands[k].size(); ++a) add_label(k, a);
  }

  const AxisLabels& equation() const { return x_; }
  bool empty() const { return summed_.empty(); }
  Ex count() const {
    Ex n = e_.builder().index(1);
    for (const Ex extent : extents_) n = n * extent;
    return n;
  }
  /// The operand elements that are multiplied in term i. Terms are numbered in row-major order over
  /// the summed labels.
  std::vector<Ex> factors(Ex i) {
    const Indices at = unravel(i, extents_);
    for (std::size_t s = 0; s < summed_.size(); ++s) index_[summed_[s]] = at[s];
    return factors();
  }
  std::vector<Ex> factors() {
    std::vector<Ex> all;
    for (std::size_t k = 0; k < x_.operands.size(); ++k) {
      Indices at;
      for (std::size_t a = 0; a < x_.operands[k].size(); ++a)
        at.push_back(
            e_.broadcast(k, static_cast<std::int64_t>(a), {}, index_.at(x_.operands[k][a])));
      all.push_back(widened(e_.load(k, at)));
    }
    return all;
  }

 private:
  /// Records the label of axis a of operand k. Axes of a summed label may have extent 1; the extent
  /// of the label is that of its other axes.
  void add_label(std::size_t k, std::size_t a) {
    const int label = x_.operands[k][a];
    if (index_.contains(label) && std::ranges::count(summed_, label) == 0) return;
    const auto axis = static_cast<std::int64_t>(a);
    const auto at = static_cast<std::size_t>(std::ranges::find(summed_, label) - summed_.begin());
    if (at == summed_.size()) {
      summed_.push_back(label);
      extents_.push_back(e_.extent(k, axis));
      index_[label] = e_.builder().index(0);
    } else if (!e_.may_be_one(k, axis)) {
      extents_[at] = e_.extent(k, axis);
    } else if (!(e_.input(k).extent(axis) == 1)) {
      extents_[at] = select(extents_[at] == 1, e_.extent(k, axis), extents_[at]);
    }
  }

  Emitter& e_;
  AxisLabels x_;
  std::map<int, Ex> index_;
  Labels summed_;
  std::vector<Ex> extents_;
};

Ex multiplied(const std::vector<Ex>& factors) {
  Ex product;
  for (const Ex f : factors) product = product ? product * f : f;
  return product;
}

/// One element of the result. `einsum` writes some equations as a matrix product if it knows the
/// extents. For these equations this sum is computed as in a matrix product, in order and with fma,
/// so that both ways give the same bits.
Ex einsum_element(Emitter& e, std::size_t, const Indices& out) {
  scalar::Builder& b = e.builder();
  Sum sum(e, out);
  const DType t = scalar::compute_type(e.output_dtype());
  if (sum.empty()) return narrowed(e.output_dtype(), multiplied(sum.factors()));
  if (product_of(sum.equation())) {
    const auto add = [&](Ex i, std::span<const Ex> so_far) -> std::vector<Ex> {
      const std::vector<Ex> f = sum.factors(i);
      return {is_float(t) ? fma(f[0], f[1], so_far[0]) : so_far[0] + f[0] * f[1]};
    };
    return narrowed(e.output_dtype(), b.for_(b.index(0), sum.count(), {zero(b, t)}, add)[0]);
  }
  const Fold added{.neutral = zero, .combine = plus};
  const auto term = [&](Ex i) { return multiplied(sum.factors(i)); };
  return narrowed(e.output_dtype(), fold(b, added, sum.count(), t, term));
}

/// Writes the text of an equation, with a letter for each label.
class EquationText {
 public:
  /// A label that no other term has.
  int fresh() { return fresh_--; }
  std::string text(const std::vector<Labels>& terms, const Labels& result) {
    std::string equation = word(terms.front());
    for (std::size_t k = 1; k < terms.size(); ++k) equation += "," + word(terms[k]);
    return equation + "->" + word(result);
  }

 private:
  std::string word(const Labels& labels) {
    std::string letters;
    for (const int label : labels) letters += letter(label);
    return letters;
  }
  char letter(int label) {
    static constexpr std::string_view all = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const auto [at, added] = letters_.emplace(label, letters_.size());
    if (at->second >= all.size()) unsupported("the gradient of an equation of {} axes", at->second);
    return all[at->second];
  }
  std::map<int, std::size_t> letters_;
  int fresh_ = -1;
};

/// Whether all axes with the same label certainly have the same extent.
bool extents_agree(const AxisLabels& x, std::span<const Type* const> types) {
  std::map<int, ir::Extent> extents;
  for (std::size_t k = 0; k < types.size(); ++k)
    for (std::size_t a = 0; a < x.operands[k].size(); ++a) {
      const ir::Extent& here = types[k]->extent(static_cast<std::int64_t>(a));
      const auto [at, added] = extents.emplace(x.operands[k][a], here);
      if (!added && !(at->second == here)) return false;
    }
  return true;
}

/// The equation that computes the adjoint of one operand.
struct AdjointEquation {
  std::vector<ir::ValueId> operands;
  std::vector<Labels> terms;

  void add(ir::ValueId operand, Labels labels) {
    operands.push_back(operand);
    terms.push_back(std::move(labels));
  }
  bool has(int label) const {
    return std::ranges::any_of(terms,
                               [&](const Labels& t) { return std::ranges::count(t, label) > 0; });
  }
};

/// The adjoint of operand k: an einsum of the result's adjoint and the other operands. If a label
/// occurs in operand k only, a vector of ones is added as an operand. If a label occurs twice in
/// operand k, only the diagonal gets an adjoint.
ir::ValueId adjoint_of_operand(ir::Builder& b, const ir::Node& node, const AxisLabels& x,
                               std::size_t k, ir::ValueId dy) {
  AdjointEquation e;
  EquationText text;
  e.add(dy, x.result);
  for (std::size_t j = 0; j < x.operands.size(); ++j)
    if (j != k) e.add(node.inputs[j], x.operands[j]);
  Labels wanted = x.operands[k];
  const ir::ValueId one = b.scalar(dtype_of(b, dy), 1);
  for (std::size_t a = 0; a < wanted.size(); ++a) {
    const int label = wanted[a];
    const ir::ValueId extent = extent_of(b, node.inputs[k], static_cast<std::int64_t>(a));
    if (!e.has(label)) e.add(b("expand", {one, extent}), {label});
    if (std::ranges::find(wanted, label) - wanted.begin() == static_cast<std::ptrdiff_t>(a))
      continue;
    const ir::ValueId square = b("expand", {one, b("concat", {extent, extent}, {{"axis", 0}})});
    wanted[a] = text.fresh();
    e.add(b("eye_like", {square}), {label, wanted[a]});
  }
  return b("einsum", std::move(e.operands), {{"equation", text.text(e.terms, wanted)}});
}

std::vector<ir::ValueId> einsum_sum_gradient(ir::Builder& b, const ir::Node& node,
                                             std::span<const ir::ValueId> adjoints) {
  std::vector<Type> types;
  for (const ir::ValueId x : node.inputs) types.push_back(b.graph().value(x).type);
  const std::string equation = node.attributes.s("equation", "");
  std::vector<const Type*> inputs;
  for (const Type& t : types) {
    if (const auto back = transposed_back(equation); back && !t.has_rank())
      return {b("einsum", {adjoints[0]}, {{"equation", *back}})};
    if (!t.has_rank()) unsupported("the gradient of an equation for a tensor of unknown rank");
    inputs.push_back(&t);
  }
  const AxisLabels x = axis_labels(equation, inputs);
  const bool agree = extents_agree(x, inputs);
  std::vector<ir::ValueId> result;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    ir::ValueId dx = adjoint_of_operand(b, node, x, k, adjoints[0]);
    if (!agree) {
      // Axes of extent 1 may have been broadcast in the result, or in dx.
      dx = b("expand", {dx, b("shape", {node.inputs[k]})});
      dx = summed_to(b, dx, node.inputs[k]);
    }
    result.push_back(dx);
  }
  return result;
}

const ir::OpEntry einsum_sum{{
    .name = "einsum_sum",
    .doc = "y = the sum of products that the equation says, each element by itself",
    .inputs = {{"x", ir::InputDef::variadic}},
    .required = {"equation"},
    .type = numbers_only(einsum_rule),
    .meaning = elements(einsum_element),
    .gradient = einsum_sum_gradient,
}};

}  // namespace
}  // namespace rondel::ops
