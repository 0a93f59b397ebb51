#include "base/error.h"
#include "ops/equation.h"
#include "ops/reduction.h"
#include "ops/scalars.h"
#include "ops/type_rules.h"

#include <algorithm>
#include <map>

namespace rondel::ops {
namespace {

using ir::Type;

/// The terms whose sum is one element of the result.
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
  /// The operands' elements in term i, counted row-major over the summed indices.
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
        at.push_back(single(k, a) ? e_.builder().index(0) : index_.at(x_.operands[k][a]));
      all.push_back(widened(e_.load(k, at)));
    }
    return all;
  }

 private:
  bool single(std::size_t k, std::size_t a) const {
    const ir::Extent& e = e_.input(k).extent(static_cast<std::int64_t>(a));
    const bool computed = e.symbolic() && !e.symbol.is_name() && !ir::Integer(e).at_least(2);
    if (computed) unsupported("extent {} may come to be 1", to_text(ir::Integer(e)));
    return e.value == 1;
  }
  /// Notes the label of axis a of operand k. Axes of a summed label may have extent 1; its extent
  /// is that of any other.
  void add_label(std::size_t k, std::size_t a) {
    const int label = x_.operands[k][a];
    if (index_.contains(label) && std::ranges::count(summed_, label) == 0) return;
    const auto at = std::ranges::find(summed_, label) - summed_.begin();
    if (at == std::ssize(summed_)) {
      summed_.push_back(label);
      extents_.push_back(e_.extent(k, static_cast<std::int64_t>(a)));
      index_[label] = e_.builder().index(0);
    } else if (!single(k, a)) {
      extents_[static_cast<std::size_t>(at)] = e_.extent(k, static_cast<std::int64_t>(a));
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

/// One element. `einsum` writes some equations as a matrix product where it knows the extents. Sums
/// of these equations are added as in a matrix product, in order and by fma, so that both ways give
/// the same bits.
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

const ir::OpEntry einsum_sum{{
    .name = "einsum_sum",
    .doc = "y = the sum of products that the equation says, each element by itself",
    .inputs = {{"x", ir::InputDef::variadic}},
    .required = {"equation"},
    .type = numbers_only(einsum_rule),
    .meaning = elements(einsum_element),
}};

}  // namespace
}  // namespace rondel::ops
