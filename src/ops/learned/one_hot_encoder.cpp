#include "ops/learned/keys.h"

#include <array>
#include <numeric>

namespace rondel::ops {
namespace {

using ir::ValueId;

Tensor categories_of(const ir::Attributes& a, DType t) {
  const char* name = t == DType::string ? "cats_strings" : "cats_int64s";
  Tensor categories = list_of(a, name);
  require(categories.defined(), "{} is empty; input 0 is {}", name, rondel::name(t));
  return categories;
}

void one_hot_encoder_rule(ir::TypeContext& c) {
  static constexpr std::array dtypes = {DType::string, DType::i64, DType::i32, DType::f32,
                                        DType::f64};
  require_dtypes(c, 0, dtypes);
  const ir::Type& x = c.input(0);
  const Tensor categories = categories_of(c.attributes(), x.dtype());
  if (!x.has_rank()) return c.output(0, ir::Type::unranked(DType::f32));
  ir::Extents extents = x.extents();
  extents.emplace_back(categories.size());
  c.output(0, ir::Type::tensor(DType::f32, std::move(extents)));
}

/// The last of equal categories counts: the position in the list from its end.
Tensor turned_around(const Tensor& list) {
  return list.strided(list.size() - 1, list.shape(), {-1}).packed();
}

/// The column of each element; -1 if it is no category. Numbers are truncated to integers.
ValueId columns_of(ir::Builder& b, ValueId x, const Tensor& categories) {
  const ValueId from_end = [&] {
    const Tensor keys = turned_around(categories);
    if (keys.dtype() == DType::string) return position_among(b, x, keys);
    const ValueId at = position_among(b, as(b, x, DType::i64), keys);
    if (!is_float(dtype_of(b, x))) return at;
    return b("where", {b("is_nan", {x}), b.scalar(categories.size()), at});
  }();
  return b("sub", {b.scalar(categories.size() - 1), from_end});
}

std::vector<ValueId> one_hot_rows(ir::Builder& b, const ir::Node& n) {
  const Tensor categories = categories_of(n.attributes, dtype_of(b, n.inputs[0]));
  const ValueId column = columns_of(b, n.inputs[0], categories);
  if (!n.attributes.flag("zeros", true)) {
    const ValueId known = b("greater_or_equal", {column, b.scalar(std::int64_t{0})});
    require_in_run(b, known, "an element is no category, and zeros is 0");
  }
  ir::Ints columns(static_cast<std::size_t>(categories.size()));
  std::iota(columns.begin(), columns.end(), 0);
  const ValueId each = b("unsqueeze", {column, b.integers({-1})});
  return {as(b, b("equal", {each, b.integers(columns)}), DType::f32)};
}

const ir::OpEntry one_hot_encoder{{
    .name = "one_hot_encoder",
    .doc = "y = 1 at the category that each element of x is, along a new last axis, 0 elsewhere "
           "(ai.onnx.ml)",
    .inputs = {{"x"}},
    .attributes = {{"cats_int64s", ir::Ints{}},
                   {"cats_strings", ir::Strings{}},
                   {"zeros", std::int64_t{1}}},
    .type = one_hot_encoder_rule,
    .meaning = composite(one_hot_rows),
}};

}  // namespace
}  // namespace rondel::ops
