#include "ir/op_def.h"

#include "base/error.h"
#include "ir/user_op.h"

#include <algorithm>
#include <map>

namespace rondel::ir {
namespace {

std::map<std::string_view, std::unique_ptr<OpDef>>& table() {
  static std::map<std::string_view, std::unique_ptr<OpDef>> ops;
  return ops;
}

}  // namespace

OpEntry::OpEntry(OpDef def) {
  auto owned = std::make_unique<OpDef>(std::move(def));
  const std::string_view key = owned->name;
  const bool fresh = table().emplace(key, std::move(owned)).second;
  invariant(fresh, "op '{}' is defined twice", key);
}

const OpDef* find_op(std::string_view name) {
  auto it = table().find(name);
  return it == table().end() ? find_user_def(name) : it->second.get();
}

const OpDef& op(std::string_view name) {
  const OpDef* def = find_op(name);
  invariant(def != nullptr, "there is no op '{}'", name);
  return *def;
}

std::vector<const OpDef*> all_ops() {
  std::vector<const OpDef*> ops;
  for (const auto& [name, def] : table()) ops.push_back(def.get());
  return ops;
}

const Type& TypeContext::input(std::size_t k) const {
  require(has(k), "input {} is missing", k);
  return *inputs_[k];
}

void TypeContext::requires_equal(const Integer& a, const Integer& b) {
  if (a == b) return;
  required_.push_back(a - b);
  required_.push_back(b - a);
}

std::optional<Integers> TypeContext::conditions() const {
  if (!conditions_) return std::nullopt;
  Integers all = *conditions_;
  all.insert(all.end(), required_.begin(), required_.end());
  return all;
}

std::optional<Ints> TypeContext::integers(std::size_t k) const {
  const Tensor* t = value(k);
  if (t == nullptr) return std::nullopt;
  if (t->rank() > 1 || !is_integer(t->dtype()))
    fail("input {} is {}; expected a list of integers", k, to_text(t->dtype(), t->shape()));
  return integers_of(*t);
}

std::optional<Integers> TypeContext::elements(std::size_t k) const {
  constexpr std::int64_t most = 64;
  const Type& t = input(k);
  if (k < elements_.size() && elements_[k] != nullptr) return *elements_[k];
  if (!t.is_tensor() || !is_integer(t.dtype()) || !t.has_rank() || t.rank() > 1)
    return std::nullopt;
  const std::int64_t count = t.rank() == 0 ? 1 : t.extent(0).value;
  if (count < 0 || count > most) return std::nullopt;
  Integers elements(static_cast<std::size_t>(count));
  const Tensor* known = value(k);
  if (known == nullptr || known->size() != count) return elements;
  const Ints values = integers_of(*known);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] >= 0 || t.dtype() != DType::u64) elements[i] = values[i];
  return elements;
}

Ints integers_of(const Tensor& t) {
  const Tensor packed = t.packed();
  Ints values(static_cast<std::size_t>(packed.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    switch (packed.dtype()) {
      case DType::i64: values[i] = packed.data_as<std::int64_t>()[i]; break;
      case DType::u64:
        values[i] = static_cast<std::int64_t>(packed.data_as<std::uint64_t>()[i]);
        break;
      case DType::i32: values[i] = packed.data_as<std::int32_t>()[i]; break;
      case DType::u32: values[i] = packed.data_as<std::uint32_t>()[i]; break;
      case DType::i16: values[i] = packed.data_as<std::int16_t>()[i]; break;
      case DType::u16: values[i] = packed.data_as<std::uint16_t>()[i]; break;
      case DType::u8:
      case DType::u4:
      case DType::u2: values[i] = packed.data_as<std::uint8_t>()[i]; break;
      default: values[i] = packed.data_as<std::int8_t>()[i]; break;
    }
  }
  return values;
}

}  // namespace rondel::ir
