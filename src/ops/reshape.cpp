#include "base/checked.h"
#include "ops/positions.h"
#include "ops/type_rules.h"

#include <algorithm>

namespace rondel::ops {
namespace {

using ir::Extent;

/// Elements in all, where every extent is known.
std::optional<std::int64_t> count_of(const ir::Type& x) {
  if (!x.is_static()) return std::nullopt;
  return element_count(x.static_shape());
}

/// 0 keeps the extent of x at its place (unless `allowzero`), -1 takes what is left.
ir::Extents reshaped_extents(const ir::Type& x, const ir::Ints& wanted, bool allow_zero) {
  ir::Extents extents;
  std::optional<std::size_t> rest;
  std::int64_t known = 1;
  bool all_known = true;
  for (std::size_t a = 0; a < wanted.size(); ++a) {
    const std::int64_t w = wanted[a];
    require(w >= -1, "extent {} of the new shape is {}", a, w);
    Extent e = w == -1 ? Extent() : Extent(w);
    if (w == -1) {
      require(!rest, "the new shape has -1 twice");
      rest = a;
    } else if (w == 0 && !allow_zero) {
      require(!x.has_rank() || static_cast<std::int64_t>(a) < x.rank(),
              "the new shape keeps axis {}, which x does not have", a);
      e = x.has_rank() ? x.extent(static_cast<std::int64_t>(a)) : Extent();
    }
    if (w != -1) all_known = all_known && e.known();
    if (w != -1 && e.known()) known = checked_mul(known, e.value);
    extents.push_back(e);
  }
  const std::optional<std::int64_t> count = count_of(x);
  if (!count || !all_known) return extents;
  if (!rest) {
    require(known == *count, "{} elements do not fill a shape of {}", *count, known);
    return extents;
  }
  require(known > 0 ? *count % known == 0 : *count == 0,
          "{} elements cannot be divided into extents whose product is {}", *count, known);
  extents[*rest] = known > 0 ? *count / known : 0;
  return extents;
}

/// The extents where not all are known. A 0 may stand for the extent of x at its place.
ir::Extents in_part(const ir::Type& x, const ir::Extents& wanted, bool allow_zero) {
  ir::Extents extents = wanted;
  for (std::size_t a = 0; a < wanted.size(); ++a) {
    Extent& e = extents[a];
    const bool certain = allow_zero || (e.known() && e.value > 0);
    const bool kept = x.has_rank() && (static_cast<std::int64_t>(a) >= x.rank() ||
                                       x.extent(static_cast<std::int64_t>(a)) == e);
    if (!certain && !kept) e = Extent();
  }
  return extents;
}

void reshape_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  require_dtype(c, 1, DType::i64);
  require_rank(c, 1, 1);
  keep_elements(c);
  const ir::Type &x = c.input(0), &shape = c.input(1);
  if (const auto wanted = c.integers(1))
    return c.output(
        0, ir::Type::tensor(x.dtype(),
                            reshaped_extents(x, *wanted, c.attributes().flag("allowzero"))));
  if (const auto wanted = c.elements(1))
    return c.output(0, ir::Type::tensor(x.dtype(), in_part(x, ir::as_extents(*wanted),
                                                           c.attributes().flag("allowzero"))));
  const bool counted = shape.has_rank() && shape.extent(0).known();
  c.output(0, counted ? ir::Type::ranked(x.dtype(), shape.extent(0).value)
                      : ir::Type::unranked(x.dtype()));
}

const ir::OpEntry reshape{{
    .name = "reshape",
    .doc = "y = the elements of x, in row-major order, under another shape",
    .inputs = {{"x"}, {"shape"}},
    .attributes = {{"allowzero", std::int64_t{0}}},
    .type = reshape_rule,
    .meaning = view(reshaped_view, reshaped_element),
    .value_inputs = {1},
    .can_fail = unless_known({1}),
}};

}  // namespace
}  // namespace rondel::ops
