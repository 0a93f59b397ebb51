#include "base/error.h"
#include "ops/layout/scatter.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void scatter_nd_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  require_dtype(c, 1, DType::i64);
  require_same_dtype(c, 0, 2);
  require_reduction(c);
  const ir::Type &x = c.input(0), &indices = c.input(1), &updates = c.input(2);
  require(!indices.has_rank() || indices.rank() > 0,
          "indices are {}; expected coordinates along their last axis", to_text(indices));
  if (x.has_rank() && indices.has_rank() && updates.has_rank()) {
    const ir::Extent& depth = indices.extent(indices.rank() - 1);
    require(!depth.known() || (depth.value <= x.rank() &&
                               updates.rank() == indices.rank() - 1 + x.rank() - depth.value),
            "updates {} do not fit x {} at indices {}", to_text(updates), to_text(x),
            to_text(indices));
    Conditions conditions;
    if (!depth.known()) conditions.unknown();
    for (std::int64_t a = 0; depth.known() && a < updates.rank(); ++a) {
      const bool leading = a < indices.rank() - 1;
      const ir::Extent& wanted = leading ? indices.extent(a)
                                         : x.extent(depth.value + a - (indices.rank() - 1));
      require(
          !wanted.known() || !updates.extent(a).known() || wanted.value == updates.extent(a).value,
          "updates {} do not fit x {} at indices {}", to_text(updates), to_text(x),
          to_text(indices));
      conditions.equal(wanted, updates.extent(a));
    }
    conditions.state(c);
  }
  c.output(0, x);
}

void scatter_nd_nest(Emitter& e) {
  const std::int64_t leading = e.rank(1) - 1;
  const std::int64_t depth = e.rank(0) - (e.rank(2) - leading);
  copy_to_output(e);
  const std::function<void(Indices)> over = [&](Indices i) {
    const auto a = static_cast<std::int64_t>(i.size());
    if (a < e.rank(2)) {
      return e.builder().for_each(
          e.builder().index(0), e.extent(2, a),
          [&](Ex here) {
            Indices next = i;
            next.push_back(here);
            over(next);
          },
          0);
    }
    Indices coordinate(i.begin(), i.begin() + leading), at;
    coordinate.emplace_back();
    for (std::int64_t d = 0; d < depth; ++d) {
      coordinate.back() = e.builder().index(d);
      at.push_back(checked_index(e, e.load(1, coordinate), e.extent(0, d), "index"));
    }
    at.insert(at.end(), i.begin() + leading, i.end());
    put_update(e, at, e.load(2, i));
  };
  over({});
}

const ir::OpEntry scatter_nd{{
    .name = "scatter_nd",
    .doc = "y = x with slices stored at coordinates, listed along the last axis of indices",
    .inputs = {{"x"}, {"indices"}, {"updates"}},
    .attributes = {{"reduction", std::string("none")}},
    .type = scatter_nd_rule,
    .meaning = nest(scatter_nd_nest),
    .can_fail = true,
    .scatters = true,
    .in_place = {0},
    .gradient = scatter_gradient("gather_nd"),
}};

}  // namespace
}  // namespace rondel::ops
