#include "base/error.h"
#include "ops/layout/scatter.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void scatter_elements_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  require_dtypes(c, 1, integer_dtypes());
  require_same_dtype(c, 0, 2);
  require_reduction(c);
  const ir::Type &x = c.input(0), &indices = c.input(1), &updates = c.input(2);
  if (x.has_rank()) normal_axis(c.attributes().i("axis"), x.rank());
  require(fits(with_dtype(updates, DType::i64), with_dtype(indices, DType::i64)),
          "indices {} and updates {} differ in shape", to_text(indices), to_text(updates));
  require(!x.has_rank() || !indices.has_rank() || x.rank() == indices.rank(),
          "ranks of x and the indices differ");
  c.output(0, x);
  if (!x.has_rank() || !indices.has_rank() || !updates.has_rank()) return;
  Conditions conditions;
  for (std::int64_t a = 0; a < x.rank(); ++a)
    conditions.equal(updates.extent(a), indices.extent(a));
  conditions.state(c);
}

void scatter_elements_nest(Emitter& e) {
  const std::int64_t axis = normal_axis(e.attributes().i("axis"), e.rank(0));
  copy_to_output(e);
  // Updates are stored in row-major order, because indices may repeat.
  const std::function<void(Indices)> over = [&](Indices i) {
    const auto a = static_cast<std::int64_t>(i.size());
    if (a < e.rank(1)) {
      return e.builder().for_each(
          e.builder().index(0), e.extent(1, a),
          [&](Ex here) {
            Indices next = i;
            next.push_back(here);
            over(next);
          },
          0);
    }
    Indices at = i;
    for (std::int64_t d = 0; d < e.rank(0); ++d) {
      const auto k = static_cast<std::size_t>(d);
      at[k] = checked_index(e, d == axis ? e.load(1, i) : i[k], e.extent(0, d), "index");
    }
    put_update(e, at, e.load(2, i));
  };
  over({});
}

const ir::OpEntry scatter_elements{{
    .name = "scatter_elements",
    .doc = "y = x with updates[i] stored at the index j, which is i with j[axis] = indices[i]",
    .inputs = {{"x"}, {"indices"}, {"updates"}},
    .attributes = {{"axis", std::int64_t{0}}, {"reduction", std::string("none")}},
    .type = scatter_elements_rule,
    .meaning = nest(scatter_elements_nest),
    .can_fail = true,
    .scatters = true,
    .in_place = {0},
    .gradient = scatter_gradient("gather_elements"),
}};

}  // namespace
}  // namespace rondel::ops
