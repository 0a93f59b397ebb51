#pragma once
#include "ir/type.h"

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rondel::ir {

using Ints = std::vector<std::int64_t>;
using Floats = std::vector<double>;
using Strings = std::vector<std::string>;
using TypeList = std::vector<Type>;
using Attribute =
    std::variant<std::int64_t, double, std::string, Ints, Floats, Strings, Tensor, Type, TypeList>;

/// A node's attributes, sorted by name. Flags are integers 0 and 1.
class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<std::string, Attribute>>);
  void set(std::string name, Attribute);
  void erase(std::string_view name);
  const Attribute* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }

  /// The attribute, or `otherwise` if it is absent. A wrong kind is the caller's error.
  std::int64_t i(std::string_view name, std::int64_t otherwise) const;
  double f(std::string_view name, double otherwise) const;
  std::string s(std::string_view name, std::string otherwise) const;
  Ints ints(std::string_view name, Ints otherwise = {}) const;
  Floats floats(std::string_view name, Floats otherwise = {}) const;
  Strings strings(std::string_view name, Strings otherwise = {}) const;
  TypeList types(std::string_view name) const;  ///< empty if it is absent
  bool flag(std::string_view name, bool otherwise = false) const;
  /// These attributes must be present.
  const Tensor& tensor(std::string_view name) const;
  const Type& type(std::string_view name) const;
  std::int64_t i(std::string_view name) const;

  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  bool empty() const { return items_.empty(); }

 private:
  std::vector<std::pair<std::string, Attribute>> items_;
};

std::string to_text(const Attribute&);

}  // namespace rondel::ir
