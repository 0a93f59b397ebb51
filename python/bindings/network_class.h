// Binds a class of the network builder with its attributes. This is the only place that describes
// an attribute: rondel/network makes checked properties from the list `attributes`.
#pragma once
#include "network_types.h"

#include <concepts>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <variant>

namespace rondel::python {

/// The type of an attribute that distinguishes integers from floats.
using Number = std::variant<std::int64_t, double>;

/// The kind of an attribute's values in Python: an enumeration, or a key of `KINDS` in
/// rondel/network/foundation.py.
template <class T> nanobind::object kind_of_attribute() {
  if constexpr (std::same_as<T, bool>) return nanobind::str("bool");
  else if constexpr (std::same_as<T, std::uint32_t>) return nanobind::str("axes");
  else if constexpr (std::integral<T>) return nanobind::str("int");
  else if constexpr (std::floating_point<T>) return nanobind::str("float");
  else if constexpr (std::same_as<T, Number>) return nanobind::str("number");
  else if constexpr (std::same_as<T, const char*>) return nanobind::str("str");
  else if constexpr (std::same_as<T, network::Dims>) return nanobind::str("dims");
  else if constexpr (std::same_as<T, network::Permutation>) return nanobind::str("permutation");
  else if constexpr (std::same_as<T, network::Weights>) return nanobind::str("weights");
  else {
    static_assert(std::is_enum_v<T>);
    return nanobind::borrow(nanobind::type<T>());
  }
}

/// class_<L> with `attributes`: a list of (name, kind, whether it can be set, documentation).
template <class L, class... Base> class NetworkClass : public nanobind::class_<L, Base...> {
 public:
  NetworkClass(nanobind::module_& m, const char* name) : nanobind::class_<L, Base...>(m, name) {
    this->attr("attributes") = attributes_;
  }

  /// get: a method of L, or a function of const L&. set: a method of L, or a function of L& and a
  /// value. kind: replaces the kind that follows from the type, for extents that may be unknown.
  template <class Get, class Set>
  NetworkClass& attribute(const char* name, Get get, Set set, const char* doc,
                          const char* kind = nullptr) {
    using T = std::invoke_result_t<Get, const L&>;
    if constexpr (std::same_as<T, network::Weights>)
      this->def_prop_rw(
          name, [get](const L& l) { return numpy_of(std::invoke(get, l)); },
          [set](L& l, const PyWeights& w) { std::invoke(set, l, weights_of(w)); });
    else
      this->def_prop_rw(
          name, [get](const L& l) { return std::invoke(get, l); },
          [set](L& l, T value) { std::invoke(set, l, value); });
    list<T>(name, true, doc, kind);
    return *this;
  }

  /// A read-only attribute.
  template <class Get> NetworkClass& attribute(const char* name, Get get, const char* doc) {
    this->def_prop_ro(name, get);
    list<std::invoke_result_t<Get, const L&>>(name, false, doc, nullptr);
    return *this;
  }

 private:
  template <class T> void list(const char* name, bool settable, const char* doc, const char* kind) {
    attributes_.append(nanobind::make_tuple(
        name, kind != nullptr ? nanobind::object(nanobind::str(kind)) : kind_of_attribute<T>(),
        settable, doc));
  }

  nanobind::list attributes_;
};

}  // namespace rondel::python
