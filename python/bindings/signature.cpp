#include "signature.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>

namespace nb = nanobind;

namespace rondel::python {
namespace {

/// The dtype of a buffer format in native byte order; nullopt for formats not listed here.
std::optional<DType> dtype_of_format(std::string_view format) {
  static const std::unordered_map<std::string_view, DType> formats = {
      {"f", DType::f32}, {"d", DType::f64},     {"e", DType::f16},  {"l", DType::i64},
      {"q", DType::i64}, {"i", DType::i32},     {"h", DType::i16},  {"b", DType::i8},
      {"L", DType::u64}, {"Q", DType::u64},     {"I", DType::u32},  {"H", DType::u16},
      {"B", DType::u8},  {"?", DType::boolean}, {"Zf", DType::c64}, {"Zd", DType::c128}};
  const auto at = formats.find(format);
  if (at == formats.end()) return std::nullopt;
  return at->second;
}

/// A class of NumPy. The caller looks it up once and keeps it.
PyTypeObject* numpy_type(const char* name) {
  nb::object type = nb::module_::import_("numpy").attr(name);
  return reinterpret_cast<PyTypeObject*>(type.release().ptr());
}

bool is_array(PyObject* x) {
  static PyTypeObject* const arrays = numpy_type("ndarray");
  return Py_TYPE(x) == arrays;
}

bool is_numpy_scalar(PyObject* x) {
  static PyTypeObject* const scalars = numpy_type("generic");
  return PyObject_TypeCheck(x, scalars) != 0;
}

/// Whether it is a function of Python's own; subclasses of those there are none.
bool is_function(PyObject* x) {
  static const PyObject* const functions =
      nb::object(nb::module_::import_("types").attr("FunctionType")).release().ptr();
  return reinterpret_cast<PyObject*>(Py_TYPE(x)) == functions;
}

/// Whether a positional argument of an operator with bodies may be a body.
bool may_be_graph(PyObject* x) {
  if (is_function(x)) return true;
  return x != Py_None && !PyUnicode_Check(x) && !PyLong_Check(x) && !PyFloat_Check(x) &&
         !PyList_Check(x) && !PyTuple_Check(x) && !is_array(x) && !is_numpy_scalar(x);
}

bool holds(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool Signature::add_input(PyObject* x, bool constant) {
  given_.emplace_back();
  if (constant && (PyBool_Check(x) || PyLong_CheckExact(x) || PyFloat_CheckExact(x)))
    return mark('c') && attribute(x, 0);
  if (x == Py_None || (PyUnicode_CheckExact(x) && PyUnicode_GetLength(x) == 0)) return mark('n');
  if (PyFloat_CheckExact(x)) return number('f', x);
  if (PyBool_Check(x)) return number('b', x);
  if (PyLong_CheckExact(x)) return number('i', x);
  if (PyList_CheckExact(x) || PyTuple_CheckExact(x)) return numbers(x);
  return array(x);
}

bool Signature::add_attribute(PyObject* x) {
  given_.emplace_back();
  return attribute(x, 0);
}

bool Signature::add_graph(PyObject* x, const nb::object& key_of) {
  given_.emplace_back();
  if (is_function(x)) return function();
  nb::object key;
  try {
    key = key_of(nb::handle(x));
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_Exception)) throw;  // Ctrl-C
    return false;
  }
  if (key.is_none()) return function();
  if (PyBytes_CheckExact(key.ptr())) {
    mark('G') && bytes(PyBytes_Size(key.ptr()));
    key_.append(PyBytes_AsString(key.ptr()), static_cast<std::size_t>(PyBytes_Size(key.ptr())));
    return true;
  }
  held_.push_back(key);
  return mark('O') && bytes(key.ptr());
}

void Signature::add_name(std::string_view name) {
  mark('=');
  key_.append(name);
  mark('\0');
}

bool Signature::number(char kind, PyObject* x) {
  given_.back().number = x;
  return mark(kind);
}

bool Signature::numbers(PyObject* x) {
  char kind = 'i';
  for (Py_ssize_t k = 0; k < Py_SIZE(x); ++k) {
    PyObject* item = item_of(x, k);
    if (PyFloat_CheckExact(item)) kind = 'f';
    else if (!PyLong_CheckExact(item)) return false;
  }
  given_.back().numbers = x;
  return mark('l') && mark(kind);
}

bool Signature::array(PyObject* x) {
  if (is_numpy_scalar(x)) {
    static PyObject* const as_array =
        nb::object(nb::module_::import_("numpy").attr("asarray")).release().ptr();
    const nb::object made = nb::steal(PyObject_CallFunctionObjArgs(as_array, x, nullptr));
    if (!made.is_valid()) return PyErr_Clear(), false;
    return is_array(made.ptr()) && array(made.ptr());  // the buffer keeps `made` alive
  }
  if (!is_array(x)) return false;
  Given& g = given_.back();
  g.memory = memory_of(x, PyBUF_ND | PyBUF_FORMAT);
  if (!g.memory) return PyErr_Clear(), false;
  const auto dtype = dtype_of_format(g.memory->format);
  const auto address = reinterpret_cast<std::uintptr_t>(g.memory->buf);
  if (!dtype || address % static_cast<std::uintptr_t>(g.memory->itemsize) != 0) return false;
  g.dtype = *dtype;
  mark('a');
  mark(static_cast<char>(*dtype));
  return mark(static_cast<char>(g.memory->ndim));
}

bool Signature::attribute(PyObject* x, int depth) {
  if (x == Py_None) return mark('n');
  if (PyBool_Check(x) || PyLong_CheckExact(x)) {
    int overflow = 0;
    const long long i = PyLong_AsLongLongAndOverflow(x, &overflow);
    return overflow == 0 && mark('I') && bytes(i);
  }
  if (PyFloat_CheckExact(x)) return mark('F') && bytes(PyFloat_AsDouble(x));
  if (PyUnicode_CheckExact(x)) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(x, &size);
    if (text == nullptr) return PyErr_Clear(), false;
    mark('S') && bytes(size);
    return key_.append(text, static_cast<std::size_t>(size)), true;
  }
  if (is_array(x)) return elements(x);
  if (depth > 0 || !(PyList_CheckExact(x) || PyTuple_CheckExact(x))) return false;
  const Py_ssize_t size = Py_SIZE(x);
  mark('L') && bytes(size);
  for (Py_ssize_t k = 0; k < size; ++k)
    if (!attribute(item_of(x, k), depth + 1)) return false;
  return true;
}

/// Adds the elements of a small tensor that is an attribute.
bool Signature::elements(PyObject* x) {
  constexpr Py_ssize_t most = 256;
  const std::shared_ptr<Py_buffer> memory = memory_of(x, PyBUF_ND | PyBUF_FORMAT);
  if (!memory) return PyErr_Clear(), false;
  const auto dtype = dtype_of_format(memory->format);
  if (!dtype || memory->len > most) return false;
  mark('T');
  mark(static_cast<char>(*dtype));
  bytes(memory->ndim);
  for (int a = 0; a < memory->ndim; ++a) bytes(memory->shape[a]);
  key_.append(static_cast<const char*>(memory->buf), static_cast<std::size_t>(memory->len));
  return true;
}

bool Arguments::read(Signature& s, const nb::tuple& args, const nb::dict& kwargs,
                     const nb::object& key_of) const {
  const std::size_t count = args.size();
  std::size_t at = 0;
  for (std::size_t k = 0; k < count; ++k) {
    PyObject* x = NB_TUPLE_GET_ITEM(args.ptr(), static_cast<Py_ssize_t>(k));
    if (!graphs.empty() && may_be_graph(x)) {
      if (!s.add_graph(x, key_of)) return false;
      continue;
    }
    const bool input = variadic || at < inputs.size();
    if (!(input ? s.add_input(x, is_constant(at)) : s.add_attribute(x))) return false;
    ++at;
  }
  PyObject *key = nullptr, *x = nullptr;
  Py_ssize_t next = 0;
  while (PyDict_Next(kwargs.ptr(), &next, &key, &x) != 0) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(key, &size);
    if (text == nullptr) return PyErr_Clear(), false;
    if (!named(s, {text, static_cast<std::size_t>(size)}, x, key_of)) return false;
  }
  return true;
}

bool Arguments::is_constant(std::size_t input) const {
  return !constants.empty() && input < inputs.size() && holds(constants, inputs[input]);
}

bool Arguments::named(Signature& s, std::string_view name, PyObject* x,
                      const nb::object& key_of) const {
  s.add_name(name);
  if (holds(graphs, name)) return s.add_graph(x, key_of);
  return holds(inputs, name) ? s.add_input(x, holds(constants, name)) : s.add_attribute(x);
}

}  // namespace rondel::python
