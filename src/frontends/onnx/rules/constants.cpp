// Constant: each of the attributes that can hold its value.
#include "frontends/onnx/rules.h"

namespace rondel::onnx {
namespace {

template <class T, class From> Tensor list(const std::vector<From>& values) {
  Tensor t(rondel::dtype_of<T>::value, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) t.data_as<T>()[i] = static_cast<T>(values[i]);
  return t;
}

Tensor value_of(const ir::Attribute& a) {
  return std::visit(
      [](const auto& v) -> Tensor {
        using V = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<V, Tensor>) return v;
        else if constexpr (std::is_same_v<V, std::int64_t>) return Tensor::scalar<std::int64_t>(v);
        else if constexpr (std::is_same_v<V, double>)
          return Tensor::scalar<float>(static_cast<float>(v));
        else if constexpr (std::is_same_v<V, std::string>) return Tensor::scalar<std::string>(v);
        else if constexpr (std::is_same_v<V, ir::Ints>) return list<std::int64_t>(v);
        else if constexpr (std::is_same_v<V, ir::Floats>) return list<float>(v);
        else if constexpr (std::is_same_v<V, ir::Strings>) return list<std::string>(v);
        else fail("a Constant cannot be a type");
      },
      a);
}

std::vector<ValueId> constant(Call& c) {
  std::vector<ValueId> values;
  for (const auto& [name, a] : c.attributes) values.push_back(c.constant(value_of(a)));
  require(values.size() == 1, "a Constant has one value; this one has {}", values.size());
  return values;
}

}  // namespace

std::span<const Rule> constant_rules() {
  static constexpr Rule rules[] = {
      {"Constant", 1, newest, constant, "constant"},
  };
  return rules;
}

}  // namespace rondel::onnx
