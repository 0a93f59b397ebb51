#include "ops/learned/rows.h"

namespace rondel::ops {
namespace {

using ir::ValueId;

void feature_vectorizer_rule(ir::TypeContext& c) {
  const ir::Ints widths = c.attributes().ints("inputdimensions");
  require(widths.size() == c.input_count(), "inputdimensions has {} numbers for {} inputs",
          widths.size(), c.input_count());
  std::int64_t total = 0;
  ir::Extent rows;
  for (std::size_t k = 0; k < widths.size(); ++k) {
    require(widths[k] >= 0 && widths[k] < std::int64_t{1} << 32,
            "inputdimensions has {}; expected 0 or more", widths[k]);
    require_dtypes(c, k, feature_dtypes());
    total += widths[k];
    const ir::Type& x = c.input(k);
    if (!x.has_rank()) continue;
    require(x.rank() >= 1, "input {} is a scalar; expected rows of features", k);
    const ir::Extent own = x.rank() == 1 ? ir::Extent(1) : x.extent(0);
    require(!own.known() || !rows.known() || own.value == rows.value,
            "input {} is {}; the inputs before have {} rows", k, to_text(x), rows.value);
    if (!rows.known()) rows = own;
  }
  c.output(0, ir::Type::tensor(DType::f32, ir::Extents{rows, total}));
}

/// The first `width` features of each row, after zeros are appended.
ValueId fitted_rows(ir::Builder& b, ValueId x, std::int64_t width) {
  const ir::Type t = b.graph().value(x).type;
  if (!t.has_rank()) unsupported("an input of unknown rank; declare its shape?");
  ValueId y = as(b, x, DType::f32);
  if (t.rank() == 1) y = b("unsqueeze", {y, b.integers({0})});
  else if (t.rank() > 2) y = b("flatten", {y}, {{"axis", std::int64_t{1}}});
  const ir::Extent have = t.rank() <= 2 ? t.extents().back() : ir::Extent();
  if (have.known() && have.value == width) return y;
  if (!have.known() || have.value < width)
    y = b("pad", {y, b.integers({0, 0, 0, width - (have.known() ? have.value : 0)})});
  if (have.known() && have.value < width) return y;
  return b("slice", {y, b.integers({0}), b.integers({width}), b.integers({1})});
}

std::vector<ValueId> vectorized(ir::Builder& b, const ir::Node& n) {
  const ir::Ints widths = n.attributes.ints("inputdimensions");
  std::vector<ValueId> parts;
  for (std::size_t k = 0; k < n.inputs.size(); ++k)
    parts.push_back(fitted_rows(b, n.inputs[k], widths[k]));
  return {b("concat", parts, {{"axis", std::int64_t{1}}})};
}

const ir::OpEntry feature_vectorizer{{
    .name = "feature_vectorizer",
    .doc =
        "y = the features of all inputs side by side, each cut or filled with zeros to its number "
        "of features (ai.onnx.ml)",
    .inputs = {{"x", ir::InputDef::variadic}},
    .attributes = {{"inputdimensions", ir::Ints{}}},
    .type = feature_vectorizer_rule,
    .meaning = composite(vectorized),
}};

}  // namespace
}  // namespace rondel::ops
