#include "kernels/trees.h"
#include "ops/batching.h"
#include "ops/gradients.h"
#include "ops/learned/rows.h"

namespace rondel::ops {
namespace {

void tree_scores_rule(ir::TypeContext& c) {
  const ir::Attributes& a = c.attributes();
  const DType t = a.tensor("splits").dtype();
  require_dtype(c, 0, t);
  require_rank(c, 0, 2);
  const ir::Type& x = c.input(0);
  const std::int64_t width = a.i("width");
  ir::Extent rows;
  if (x.has_rank()) {
    const ir::Extent& have = x.extent(1);
    require(!have.known() || have.value >= width,
            "input 0 is {}; the trees ask for feature {}, counted from 0", to_text(x), width - 1);
    rows = x.extent(0);
    Conditions conditions;
    conditions.not_negative(ir::Integer(have) - ir::Integer(width));
    conditions.state(c);
  }
  c.output(0, ir::Type::tensor(t, ir::Extents{rows, a.i("targets")}));
}

kernels::Trees::Aggregate aggregate_of(const std::string& name) {
  using A = kernels::Trees::Aggregate;
  return name == "AVERAGE" ? A::average : name == "SUM" ? A::sum : name == "MIN" ? A::min : A::max;
}

template <auto make>
SizedKernelMeaning::Kernel prepare_trees(const ir::Node& n, std::span<const ir::Type>) {
  const ir::Attributes& a = n.attributes;
  return make({.aggregate = aggregate_of(a.s("aggregate", "SUM")),
               .targets = a.i("targets"),
               .roots = a.ints("roots"),
               .features = a.ints("features"),
               .yes = a.ints("yes"),
               .no = a.ints("no"),
               .nan_yes = a.ints("nan_yes"),
               .leaf_starts = a.ints("leaf_starts"),
               .leaf_targets = a.ints("leaf_targets"),
               .splits = a.tensor("splits").packed(),
               .weights = a.tensor("leaf_weights").packed()});
}

const ir::OpEntry tree_scores{{
    .name = "tree_scores",
    .doc =
        "y = the sum (average, minimum, maximum) of the weights of the leaves that each row of x "
        "reaches, in trees whose nodes ask x <= split",
    .inputs = {{"x"}},
    .attributes = {{"aggregate", "SUM"}, {"nan_yes", ir::Ints{}}},
    .required = {"features", "leaf_starts", "leaf_targets", "leaf_weights", "no", "roots", "splits",
                 "targets", "width", "yes"},
    .type = tree_scores_rule,
    .meaning = kernel(prepare_trees<kernels::trees>, prepare_trees<kernels::fast_trees>),
    .gradient = zero_gradient,
}};

}  // namespace
}  // namespace rondel::ops
