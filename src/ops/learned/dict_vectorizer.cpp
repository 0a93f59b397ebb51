#include "base/error.h"
#include "kernels/maps.h"
#include "ops/gradients.h"
#include "ops/learned/keys.h"

#include <algorithm>
#include <array>

namespace rondel::ops {
namespace {

const char* vocabulary_for(const ir::Type& map) {
  return map.key() == DType::string ? "string_vocabulary" : "int64_vocabulary";
}

void dict_vectorizer_rule(ir::TypeContext& c) {
  const ir::Type& x = c.input(0);
  require(x.is_map(), "input 0 is {}; expected a map", to_text(x));
  const Tensor words = list_of(c.attributes(), vocabulary_for(x));
  require(words.defined(), "input 0 is {}; {} is empty", to_text(x), vocabulary_for(x));
  static constexpr std::array dtypes = {DType::f32, DType::f64, DType::i64, DType::string};
  require(std::ranges::count(dtypes, x.dtype()) > 0,
          "input 0 is {}; expected values of f32, f64, i64 or str", to_text(x));
  c.output(0, ir::Type::tensor(x.dtype(), ir::Extents{1, words.size()}));
}

kernels::UnsizedKernel prepare_dict_vectorizer(const ir::Node& n,
                                               std::span<const ir::Type> inputs) {
  return kernels::values_of_vocabulary(list_of(n.attributes, vocabulary_for(inputs[0])));
}

const ir::OpEntry dict_vectorizer{{
    .name = "dict_vectorizer",
    .doc = "y = the values of a map in the order of a vocabulary of its keys, 0 or no text where "
           "there is none (ai.onnx.ml)",
    .inputs = {{"x"}},
    .attributes = {{"int64_vocabulary", ir::Ints{}}, {"string_vocabulary", ir::Strings{}}},
    .type = dict_vectorizer_rule,
    .meaning = unsized_kernel(prepare_dict_vectorizer),
    .gradient = zero_gradient,
}};

}  // namespace
}  // namespace rondel::ops
