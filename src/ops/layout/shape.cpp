#include "base/axis.h"
#include "ops/gradients.h"
#include "ops/positions.h"
#include "ops/type_rules.h"

#include <algorithm>
#include <limits>

namespace rondel::ops {
namespace {

std::int64_t clamped(std::int64_t axis, std::int64_t rank) {
  return std::clamp<std::int64_t>(axis_from_front(axis, rank), 0, rank);
}

void shape_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  const ir::Type& x = c.input(0);
  if (!x.has_rank()) return c.output(0, ir::Type::ranked(DType::i64, 1));
  const std::int64_t begin = clamped(c.attributes().i("start"), x.rank());
  const std::int64_t end = std::max(begin, clamped(c.attributes().i("end"), x.rank()));
  c.output(0, ir::Type::tensor(DType::i64, ir::Extents{end - begin}));
  c.holds_while();
  c.set_elements(0, {x.extents().begin() + begin, x.extents().begin() + end});
  ir::Ints extents;
  for (std::int64_t a = begin; a < end; ++a) extents.push_back(x.extent(a).value);
  if (std::ranges::all_of(extents, [](std::int64_t e) { return e >= 0; }))
    c.known(0, Tensor::from<std::int64_t>({end - begin}, std::span<const std::int64_t>(extents)));
}

Ex shape_element(Emitter& e, std::size_t, const Indices& out) {
  const std::int64_t rank = e.rank(0), begin = clamped(e.attributes().i("start"), rank);
  Ex extent = e.builder().index(1);
  for (std::int64_t a = begin; a < rank; ++a)
    extent = select(out[0] == a - begin, e.extent(0, a), extent);
  return extent;
}

const ir::OpEntry shape{{
    .name = "shape",
    .doc = "y = the extents of x, from axis `start` to before axis `end`",
    .inputs = {{"x"}},
    .attributes = {{"start", std::int64_t{0}}, {"end", std::numeric_limits<std::int64_t>::max()}},
    .type = shape_rule,
    .meaning = elements(shape_element),
    .reads_extents_only = true,
    .gradient = zero_gradient,
}};

}  // namespace
}  // namespace rondel::ops
