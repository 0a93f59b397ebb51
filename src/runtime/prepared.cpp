#include "runtime/prepared.h"

#include "base/dense_rows.h"

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

void InputKeys::set(Key& key, Content& c) {
  const Tensor* t = c.tensor();
  key.by_elements = false;
  key.tensor = t != nullptr;
  key.form = not_a_tensor;
  if (t == nullptr) return;
  if (c.form() == 0) c.number_form();
  key.form = c.form();
  key.contiguous = t->contiguous();
  key.dense_rows = has_dense_rows(*t);
  key.shape = t->shape();
  key.strides = t->strides();
}

void InputKeys::set_elements(Key& key, const Value& v) {
  if (!v.is_tensor()) return;
  key.by_elements = true;
  key.elements = v.tensor().copy();
}

bool InputKeys::has_elements(const Key& key, const Tensor& t) {
  return same_elements(t, key.elements);
}

bool InputKeys::fits(Key& key, Content& c) const {
  const Tensor* t = c.tensor();
  if (t == nullptr || !key.tensor) return (t != nullptr) == key.tensor;
  if (c.form() != key.form) {
    if (t->shape() != key.shape) return false;
    if (t->strides() != key.strides) {
      if (compared_strides_ == Strides::all) return false;
      if (compared_strides_ == Strides::contiguity &&
          (t->contiguous() != key.contiguous || has_dense_rows(*t) != key.dense_rows))
        return false;
      key.strides = t->strides();
    }
    if (c.form() == 0) c.number_form();
    key.form = c.form();
  }
  return !key.by_elements || has_elements(key, *t);
}

}  // namespace rondel::runtime
