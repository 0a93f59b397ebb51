#include "compile/exact_key.h"

#include <string>

namespace rondel::compile {
namespace {

void add_elements(CacheKey& key, const Tensor& t) {
  const Tensor packed = t.packed();
  if (t.dtype() != DType::string)
    return add_text(key, {packed.data_as<const char>(),
                          static_cast<std::size_t>(packed.size()) * byte_size(t.dtype())});
  for (std::int64_t i = 0; i < packed.size(); ++i) add_text(key, packed.data_as<std::string>()[i]);
}

}  // namespace

CacheKey exact_key(std::span<const Value> inputs, std::span<const std::size_t> value_inputs) {
  CacheKey key;
  for (const Value& v : inputs) {
    key.push_back(v.is_tensor() ? v.tensor().rank() : -1);
    if (v.is_tensor()) key.insert(key.end(), v.tensor().shape().begin(), v.tensor().shape().end());
  }
  for (const std::size_t k : value_inputs)
    if (k < inputs.size() && inputs[k].is_tensor()) add_elements(key, inputs[k].tensor());
  return key;
}

}  // namespace rondel::compile
