#include "ops/learned/keys.h"

namespace rondel::ops {

using ir::ValueId;

Tensor list_of(const ir::Attributes& a, std::string_view name) {
  const ir::Attribute* found = a.find(name);
  if (found == nullptr) return {};
  Tensor list;
  if (const auto* t = std::get_if<Tensor>(found)) list = t->packed().reshaped({t->size()});
  else if (const auto* i = std::get_if<ir::Ints>(found))
    list = Tensor::from<std::int64_t>({std::ssize(*i)}, std::span(*i));
  else if (const auto* s = std::get_if<ir::Strings>(found))
    list = Tensor::from<std::string>({std::ssize(*s)}, std::span(*s));
  else if (const auto* f = std::get_if<ir::Floats>(found))
    list = numbers_tensor(DType::f32, {std::ssize(*f)}, *f);
  return list.defined() && list.size() > 0 ? list : Tensor();
}

Tensor first_list(const ir::Attributes& a, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (Tensor list = list_of(a, name); list.defined()) return list;
  return {};
}

ValueId position_among(ir::Builder& b, ValueId x, const Tensor& keys) {
  if (keys.dtype() != DType::string) return b("key_position", {x}, {{"keys", keys}});
  const auto* texts = keys.data_as<std::string>();
  return b("text_position", {x}, {{"keys", ir::Strings(texts, texts + keys.size())}});
}

ValueId looked_up(ir::Builder& b, ValueId x, const Tensor& keys, const Tensor& values,
                  const Tensor& otherwise) {
  const ValueId table = b("concat", {b.constant(values), b.constant(otherwise.reshaped({1}))},
                          {{"axis", std::int64_t{0}}});
  return b("gather", {table, position_among(b, x, keys)}, {{"axis", std::int64_t{0}}});
}

}  // namespace rondel::ops
