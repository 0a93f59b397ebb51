// The signature of a call, which selects the compiled graph that executes the call.
#pragma once
#include "bindings.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rondel::python {

/// Item k of a list or tuple, borrowed.
inline PyObject* item_of(PyObject* x, Py_ssize_t k) {
  return PyList_Check(x) ? NB_LIST_GET_ITEM(x, k) : NB_TUPLE_GET_ITEM(x, k);
}

/// An argument of a call: an array, a Python number, a list of numbers, or (if all are unset) an
/// argument that is not fed to the graph.
struct Given {
  std::shared_ptr<Py_buffer> memory;
  DType dtype = DType::f32;     ///< of the memory
  PyObject* number = nullptr;   ///< an int, float or bool
  PyObject* numbers = nullptr;  ///< a list or tuple of numbers
};

/// A signature, as bytes, and the arguments in order: those by position, then those by name. The
/// `add_` functions return false for an argument that a signature cannot represent.
class Signature {
 public:
  explicit Signature(std::string key) : key_(std::move(key)) {}
  const std::string& key() const { return key_; }
  const std::vector<Given>& given() const { return given_; }
  /// Whether a graph argument is a Python function. The signature does not identify the function.
  bool has_function() const { return has_function_; }
  /// Objects whose addresses are part of the signature; a cache must keep them alive.
  const std::vector<nanobind::object>& held() const { return held_; }

  /// `constant`: the values of Python numbers are part of the signature.
  bool add_input(PyObject* x, bool constant = false);
  bool add_attribute(PyObject* x);
  /// `key_of` returns bytes for a graph that is identified by its text, the object itself for a
  /// graph that is identified by its address, and None for a function.
  bool add_graph(PyObject* x, const nanobind::object& key_of);
  void add_name(std::string_view name);

 private:
  bool mark(char c) { return key_.push_back(c), true; }
  bool function() { return has_function_ = mark('F'); }
  template <class T> bool bytes(const T& x) {
    key_.append(reinterpret_cast<const char*>(&x), sizeof x);
    return true;
  }
  bool number(char kind, PyObject* x);
  bool numbers(PyObject* x);
  bool array(PyObject* x);
  bool attribute(PyObject* x, int depth);
  bool elements(PyObject* x);

  std::string key_;
  std::vector<Given> given_;
  std::vector<nanobind::object> held_;
  bool has_function_ = false;
};

/// The parameters of a function: the names of its inputs, of which the last one may be variadic;
/// the attributes that hold graphs; the inputs whose Python numbers are constants.
struct Arguments {
  std::vector<std::string> inputs;
  bool variadic = false;
  std::vector<std::string> graphs, constants;

  /// Adds the arguments of a call to `s`; false if the call has no signature. `key_of`: see
  /// Signature::add_graph.
  bool read(Signature& s, const nanobind::tuple& args, const nanobind::dict& kwargs,
            const nanobind::object& key_of) const;

 private:
  bool is_constant(std::size_t input) const;
  bool named(Signature& s, std::string_view name, PyObject* x,
             const nanobind::object& key_of) const;
};

}  // namespace rondel::python
