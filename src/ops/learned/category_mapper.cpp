#include "ops/learned/keys.h"

#include <algorithm>
#include <array>

namespace rondel::ops {
namespace {

/// Of equal keys, the last counts, so the lists are turned around.
struct CategoryTable {
  CategoryTable(const ir::Attributes& a, bool from_text) {
    ir::Strings texts = a.strings("cats_strings");
    ir::Ints numbers = a.ints("cats_int64s");
    require(texts.size() == numbers.size() && !texts.empty(),
            "cats_strings has {} elements and cats_int64s {}; expected as many, and some",
            texts.size(), numbers.size());
    std::ranges::reverse(texts);
    std::ranges::reverse(numbers);
    const Tensor t = Tensor::from<std::string>({std::ssize(texts)}, std::span(texts));
    const Tensor i = Tensor::from<std::int64_t>({std::ssize(numbers)}, std::span(numbers));
    keys = from_text ? t : i;
    values = from_text ? i : t;
    otherwise = from_text ? Tensor::scalar(a.i("default_int64", -1))
                          : Tensor::scalar(a.s("default_string", "_Unused"));
  }
  Tensor keys, values, otherwise;
};

void category_mapper_rule(ir::TypeContext& c) {
  static constexpr std::array dtypes = {DType::string, DType::i64};
  require_dtypes(c, 0, dtypes);
  const CategoryTable table(c.attributes(), c.input(0).dtype() == DType::string);
  c.output(0, with_dtype(c.input(0), table.values.dtype()));
}

std::vector<ir::ValueId> mapped_categories(ir::Builder& b, const ir::Node& n) {
  const CategoryTable table(n.attributes, dtype_of(b, n.inputs[0]) == DType::string);
  return {looked_up(b, n.inputs[0], table.keys, table.values, table.otherwise)};
}

const ir::OpEntry category_mapper{{
    .name = "category_mapper",
    .doc = "y = the number of the category that x names, or the name of category x (ai.onnx.ml)",
    .inputs = {{"x"}},
    .attributes = {{"cats_int64s", ir::Ints{}},
                   {"cats_strings", ir::Strings{}},
                   {"default_int64", std::int64_t{-1}},
                   {"default_string", "_Unused"}},
    .type = category_mapper_rule,
    .meaning = composite(mapped_categories),
}};

}  // namespace
}  // namespace rondel::ops
