#include "runtime/prepared.h"

#include <cstring>

namespace rondel::runtime {
namespace {

bool same_elements(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.dtype() == DType::string) return false;
  const auto bytes = static_cast<std::size_t>(a.size()) * byte_size(a.dtype());
  if (a.contiguous()) return bytes == 0 || std::memcmp(a.data(), b.data(), bytes) == 0;
  return std::memcmp(a.packed().data(), b.data(), bytes) == 0;
}

}  // namespace

InputKeys::InputKeys(std::span<const Value> inputs, std::span<const std::size_t> value_inputs,
                     Strides what_counts)
    : what_counts_(what_counts), keys_(inputs.size()) {
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (!inputs[k].is_tensor()) continue;
    const Tensor& t = inputs[k].tensor();
    keys_[k] = {true, t.contiguous(), t.shape(), t.strides(), {}};
  }
  for (const std::size_t k : value_inputs)
    if (k < inputs.size() && inputs[k].is_tensor()) keys_[k].value = inputs[k].tensor().copy();
}

bool InputKeys::fits(const Key& key, const Value& v) const {
  const auto* t = std::get_if<Tensor>(&v);
  if (t == nullptr || !key.tensor) return (t != nullptr) == key.tensor;
  if (t->shape() != key.shape) return false;
  if (what_counts_ != Strides::none && t->strides() != key.strides &&
      (what_counts_ == Strides::all || t->contiguous() != key.contiguous))
    return false;
  return !key.value.defined() || same_elements(*t, key.value);
}

}  // namespace rondel::runtime
