#include "session/cache_key.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace rondel::session {
namespace {

void add_bytes(CacheKey& key, const void* bytes, std::size_t n) {
  const std::size_t at = key.size();
  key.push_back(static_cast<std::int64_t>(n));
  key.resize(at + 1 + (n + sizeof(std::int64_t) - 1) / sizeof(std::int64_t));
  if (n > 0) std::memcpy(&key[at + 1], bytes, n);
}

void add_elements(CacheKey& key, const Tensor& t) {
  const Tensor packed = t.packed();
  if (t.dtype() != DType::string)
    return add_bytes(key, packed.data(),
                     static_cast<std::size_t>(packed.size()) * byte_size(t.dtype()));
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

void add_text(CacheKey& key, std::string_view text) { add_bytes(key, text.data(), text.size()); }

}  // namespace rondel::session
