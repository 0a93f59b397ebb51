#include "ir/attributes.h"

#include "base/error.h"

#include <algorithm>

namespace rondel::ir {
namespace {

template <class T> constexpr std::string_view kind_name() {
  if constexpr (std::is_same_v<T, std::int64_t>) return "an integer";
  else if constexpr (std::is_same_v<T, double>) return "a number";
  else if constexpr (std::is_same_v<T, std::string>) return "a string";
  else if constexpr (std::is_same_v<T, Ints>) return "a list of integers";
  else if constexpr (std::is_same_v<T, Floats>) return "a list of numbers";
  else if constexpr (std::is_same_v<T, Strings>) return "a list of strings";
  else if constexpr (std::is_same_v<T, Tensor>) return "a tensor";
  else return "a type";
}

template <class T> const T* get(const Attributes& a, std::string_view name) {
  const Attribute* found = a.find(name);
  if (found == nullptr) return nullptr;
  const T* value = std::get_if<T>(found);
  if (value == nullptr)
    fail("attribute '{}' is {}; expected {}", name, to_text(*found), kind_name<T>());
  return value;
}

template <class T> const T& must_get(const Attributes& a, std::string_view name) {
  const T* value = get<T>(a, name);
  require(value != nullptr, "attribute '{}' is missing; expected {}", name, kind_name<T>());
  return *value;
}

}  // namespace

Attributes::Attributes(std::initializer_list<std::pair<std::string, Attribute>> items) {
  for (const auto& [key, value] : items) set(key, value);
}

void Attributes::set(std::string key, Attribute value) {
  auto at = std::lower_bound(items_.begin(), items_.end(), key,
                             [](const auto& item, const std::string& k) { return item.first < k; });
  if (at != items_.end() && at->first == key) at->second = std::move(value);
  else items_.insert(at, {std::move(key), std::move(value)});
}

void Attributes::erase(std::string_view key) {
  std::erase_if(items_, [&](const auto& item) { return item.first == key; });
}

const Attribute* Attributes::find(std::string_view key) const {
  for (const auto& item : items_)
    if (item.first == key) return &item.second;
  return nullptr;
}

std::int64_t Attributes::i(std::string_view key, std::int64_t otherwise) const {
  const auto* v = get<std::int64_t>(*this, key);
  return v ? *v : otherwise;
}
double Attributes::f(std::string_view key, double otherwise) const {
  const auto* v = get<double>(*this, key);
  return v ? *v : otherwise;
}
std::string Attributes::s(std::string_view key, std::string otherwise) const {
  const auto* v = get<std::string>(*this, key);
  return v ? *v : otherwise;
}
Ints Attributes::ints(std::string_view key, Ints otherwise) const {
  const auto* v = get<Ints>(*this, key);
  return v ? *v : otherwise;
}
Floats Attributes::floats(std::string_view key, Floats otherwise) const {
  const auto* v = get<Floats>(*this, key);
  return v ? *v : otherwise;
}
Strings Attributes::strings(std::string_view key, Strings otherwise) const {
  const auto* v = get<Strings>(*this, key);
  return v ? *v : otherwise;
}
TypeList Attributes::types(std::string_view key) const {
  const auto* v = get<TypeList>(*this, key);
  return v ? *v : TypeList();
}
bool Attributes::flag(std::string_view key, bool otherwise) const {
  return i(key, otherwise ? 1 : 0) != 0;
}
const Tensor& Attributes::tensor(std::string_view key) const {
  return must_get<Tensor>(*this, key);
}
const Type& Attributes::type(std::string_view key) const { return must_get<Type>(*this, key); }
std::int64_t Attributes::i(std::string_view key) const {
  return must_get<std::int64_t>(*this, key);
}

}  // namespace rondel::ir
