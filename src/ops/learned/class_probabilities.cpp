#include "kernels/class_probabilities.h"
#include "ops/learned/rows.h"

namespace rondel::ops {
namespace {

void class_probabilities_rule(ir::TypeContext& c) {
  const std::int64_t classes = c.attributes().i("classes");
  require(classes >= 2 && classes < 65536, "there are {} classes", classes);
  require_dtype(c, 0, DType::f32);
  require_rank(c, 0, 2);
  const ir::Type& x = c.input(0);
  ir::Extent rows;
  if (x.has_rank()) {
    const std::int64_t pairs = classes * (classes - 1) / 2;
    require(!x.extent(1).known() || x.extent(1).value == pairs,
            "input 0 is {}; {} classes have {} pairs", to_text(x), classes, pairs);
    rows = x.extent(0);
    Conditions conditions;
    conditions.equal(x.extent(1), pairs);
    conditions.state(c);
  }
  c.output(0, ir::Type::tensor(DType::f32, ir::Extents{rows, classes}));
}

const ir::OpEntry class_probabilities{{
    .name = "class_probabilities",
    .doc = "y = the probabilities of classes, from those of the first of each pair of classes "
           "(libsvm's pairwise coupling)",
    .inputs = {{"x"}},
    .required = {"classes"},
    .type = class_probabilities_rule,
    .meaning = kernel([](const ir::Node& n, std::span<const ir::Type>) {
      return kernels::class_probabilities(n.attributes.i("classes"));
    }),
}};

}  // namespace
}  // namespace rondel::ops
