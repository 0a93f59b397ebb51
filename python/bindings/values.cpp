// Conversions of values without copies: tensors view the memory of arrays, and arrays the memory of
// tensors.
#include "bindings.h"
#include "without_gil.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <mutex>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace rondel::python {
namespace {

/// Python objects whose last reference was dropped on a thread without the GIL. Such a thread must
/// not wait for the GIL, because the thread that holds it may be waiting for this one. The main
/// thread releases the objects soon, and so does every run.
class Orphans {
 public:
  static void add(Py_buffer* held) {
    bool first = false;
    {
      const std::lock_guard lock(mutex());
      first = list().empty();
      list().push_back(held);
    }
    if (first) Py_AddPendingCall([](void*) { return release(), 0; }, nullptr);
  }
  /// Needs the GIL.
  static void release() {
    std::vector<Py_buffer*> now;
    {
      const std::lock_guard lock(mutex());
      now.swap(list());
    }
    for (Py_buffer* held : now) {
      PyBuffer_Release(held);
      delete held;
    }
  }

 private:
  // Never destroyed: tensors may be released while the process ends.
  static std::mutex& mutex() {
    static auto* one = new std::mutex;
    return *one;
  }
  static std::vector<Py_buffer*>& list() {
    static auto* one = new std::vector<Py_buffer*>;
    return *one;
  }
};

/// How bytes that are no UTF-8 are text in Python.
constexpr const char* escapes = "surrogateescape";

DType dtype_named(const std::string& name) {
  const auto t = parse_dtype(name);
  if (!t) throw Error(Blame::caller, "there is no dtype '" + name + "'");
  return *t;
}

/// A tensor over the memory of a row-major array whose elements have the size of the dtype.
Value tensor_over(const std::string& dtype, nb::handle array) {
  const DType t = dtype_named(dtype);
  const std::shared_ptr<Py_buffer> memory = memory_of(array, PyBUF_ND);
  if (!memory) throw nb::python_error();
  if (static_cast<std::size_t>(memory->itemsize) != byte_size(t))
    throw Error(Blame::caller,
                "elements of " + std::to_string(memory->itemsize) + " bytes as " + dtype);
  Shape shape(memory->shape, memory->shape + memory->ndim);
  Shape strides = row_major_strides(shape);
  return Tensor(t, std::move(shape), std::move(strides), memory->buf, memory);
}

/// The dtype of a buffer's format, if tensors and NumPy have it, in the machine's byte order.
std::optional<DType> dtype_of_format(std::string_view format, Py_ssize_t size) {
  if (format == "Zf") return DType::c64;
  if (format == "Zd") return DType::c128;
  if (format.size() != 1) return std::nullopt;
  switch (format[0]) {
    case 'd': return DType::f64;
    case 'f': return DType::f32;
    case 'e': return DType::f16;
    case '?': return DType::boolean;
    case 'b': return DType::i8;
    case 'B': return DType::u8;
    case 'h': return DType::i16;
    case 'H': return DType::u16;
    case 'i':
    case 'l':
    case 'q': return size == 8 ? DType::i64 : DType::i32;
    case 'I':
    case 'L':
    case 'Q': return size == 8 ? DType::u64 : DType::u32;
    default: return std::nullopt;
  }
}

/// A tensor over the memory of an array; nothing if the array is not row-major and aligned or has
/// a dtype that Python must convert.
std::optional<Value> plain_array(nb::handle array) {
  const std::shared_ptr<Py_buffer> memory = memory_of(array, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT);
  if (!memory) {
    PyErr_Clear();
    return std::nullopt;
  }
  const auto t = dtype_of_format(memory->format, memory->itemsize);
  if (!t || reinterpret_cast<std::uintptr_t>(memory->buf) % byte_size(*t) != 0) return std::nullopt;
  Shape shape(memory->shape, memory->shape + memory->ndim);
  Shape strides = row_major_strides(shape);
  return Tensor(*t, std::move(shape), std::move(strides), memory->buf, memory);
}

/// numpy.ndarray, int64, uint64 and the function empty, which live as long as the process. They are
/// looked up when the module is loaded: a later import might wait for another thread.
PyTypeObject* array_type = nullptr;
PyObject *int64_type = nullptr, *uint64_type = nullptr, *empty_array = nullptr;

void find_numpy_types() {
  const nb::module_ numpy = nb::module_::import_("numpy");
  const auto find = [&](const char* name) { return nb::object(numpy.attr(name)).release().ptr(); };
  array_type = reinterpret_cast<PyTypeObject*>(find("ndarray"));
  int64_type = find("int64");
  uint64_type = find("uint64");
  empty_array = find("empty");
}

/// A tensor of the items, which are str or bytes; nothing if one is neither. Throws Python's
/// UnicodeEncodeError.
std::optional<Value> tensor_of_strings(const std::vector<std::int64_t>& extents,
                                       const nb::list& items) {
  Tensor t(DType::string, extents);
  auto* to = t.data_as<std::string>();
  for (const nb::handle item : items) {
    Py_ssize_t size = 0;
    if (PyBytes_Check(item.ptr())) {
      (to++)->assign(PyBytes_AsString(item.ptr()),
                     static_cast<std::size_t>(PyBytes_Size(item.ptr())));
    } else if (!PyUnicode_Check(item.ptr())) {
      return std::nullopt;
    } else if (const char* text = PyUnicode_AsUTF8AndSize(item.ptr(), &size)) {
      (to++)->assign(text, static_cast<std::size_t>(size));
    } else {
      PyErr_Clear();
      const auto bytes = nb::steal<nb::bytes>(
          PyUnicode_AsEncodedString(item.ptr(), "utf-8", escapes));
      if (!bytes.is_valid()) throw nb::python_error();
      *to++ = {bytes.c_str(), bytes.size()};
    }
  }
  return Value(t);
}

Value sequence_of(const std::string& dtype, const std::vector<Value>& items) {
  std::vector<Tensor> tensors;
  for (const Value& v : items) {
    if (!v.is_tensor()) throw Error(Blame::caller, "a sequence holds tensors only");
    tensors.push_back(v.tensor());
  }
  const DType t = tensors.empty() ? dtype_named(dtype) : tensors[0].dtype();
  return Sequence{t, std::make_shared<const std::vector<Tensor>>(std::move(tensors))};
}

Value map_of(const Value& keys, const Value& values) { return Map{keys.tensor(), values.tensor()}; }

/// NumPy's dtype for a dtype, if the buffer protocol gives the right one.
std::optional<nb::dlpack::dtype> numpy_dtype(DType t) {
  switch (t) {
    case DType::f64: return nb::dtype<double>();
    case DType::f32: return nb::dtype<float>();
    case DType::f16:
      return nb::dlpack::dtype{static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float), 16, 1};
    case DType::i32: return nb::dtype<std::int32_t>();
    case DType::i16: return nb::dtype<std::int16_t>();
    case DType::i8: return nb::dtype<std::int8_t>();
    case DType::u32: return nb::dtype<std::uint32_t>();
    case DType::u16: return nb::dtype<std::uint16_t>();
    case DType::u8: return nb::dtype<std::uint8_t>();
    case DType::boolean: return nb::dtype<bool>();
    default: return std::nullopt;
  }
}

/// An array over the memory of a tensor, which the array keeps alive.
nb::object array_over(const Tensor& t, nb::dlpack::dtype dtype,
                      std::span<const std::size_t> shape) {
  nb::capsule owner(new Tensor(t), [](void* p) noexcept { delete static_cast<Tensor*>(p); });
  return nb::cast(
      nb::ndarray<nb::numpy>(t.data(), shape.size(), shape.data(), owner, nullptr, dtype));
}

/// The same for 64-bit integers, of whose two types in NumPy the buffer protocol gives `longlong`,
/// while `int64` is the other.
nb::object array_of_long(const Tensor& t, std::span<const std::size_t> shape) {
  return array_over(t, nb::dtype<double>(), shape)
      .attr("view")(nb::handle(t.dtype() == DType::u64 ? uint64_type : int64_type));
}

/// An array of str, with one axis. Its elements are set in place: NumPy would look into each.
nb::object strings_of(const Tensor& t) {
  const std::int64_t count = t.size();
  nb::object array = nb::handle(empty_array)(count, "O");
  const std::shared_ptr<Py_buffer> memory = memory_of(array, PyBUF_ND | PyBUF_WRITABLE);
  if (!memory) throw nb::python_error();
  auto** const items = static_cast<PyObject**>(memory->buf);
  const auto* const texts = t.data_as<std::string>();
  for (std::int64_t i = 0; i < count; ++i) {
    PyObject* text = PyUnicode_DecodeUTF8(texts[i].data(), static_cast<Py_ssize_t>(texts[i].size()),
                                          escapes);
    if (text == nullptr) throw nb::python_error();
    Py_XDECREF(std::exchange(items[i], text));
  }
  return array;
}

nb::object bytes_of(const Tensor& t) {
  const std::size_t bytes = static_cast<std::size_t>(t.size()) * byte_size(t.dtype());
  return array_over(t, nb::dtype<std::uint8_t>(), {&bytes, 1});
}

/// Arrays with more axes are made in Python. So are arrays without elements, because NumPy may not
/// support their extents; the Python code reports this.
constexpr std::size_t most_axes = 32;

nb::object tensor_to_python(const Tensor& t) {
  const auto dtype = numpy_dtype(t.dtype());
  const Shape& shape = t.shape();
  const bool is_long = t.dtype() == DType::i64 || t.dtype() == DType::u64;
  if ((dtype || is_long) && shape.size() <= most_axes && t.size() > 0) {
    std::array<std::size_t, most_axes> extents;
    std::copy(shape.begin(), shape.end(), extents.begin());
    const std::span<const std::size_t> axes(extents.data(), shape.size());
    return is_long ? array_of_long(t, axes) : array_over(t, *dtype, axes);
  }
  return nb::make_tuple("tensor", std::string(name(t.dtype())),
                        nb::cast(std::vector<std::int64_t>(shape)),
                        t.dtype() == DType::string ? strings_of(t) : bytes_of(t));
}

using Rows = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// A dict of each row of a matrix of floats: its elements by key. There are as many keys as
/// columns.
nb::list maps_of_rows(const Rows& rows, const nb::list& keys) {
  if (nb::len(keys) != rows.shape(1))
    throw nb::value_error("the keys are not those of the columns");
  nb::list maps;
  for (std::size_t row = 0; row < rows.shape(0); ++row) {
    auto map = nb::steal<nb::dict>(PyDict_New());
    if (!map.is_valid()) nb::raise_python_error();
    for (std::size_t k = 0; k < rows.shape(1); ++k) {
      const nb::object element = nb::steal(PyFloat_FromDouble(rows(row, k)));
      if (!element.is_valid() ||
          PyDict_SetItem(map.ptr(), NB_LIST_GET_ITEM(keys.ptr(), static_cast<Py_ssize_t>(k)),
                         element.ptr()) != 0)
        nb::raise_python_error();
    }
    maps.append(map);
  }
  return maps;
}

}  // namespace

std::shared_ptr<Py_buffer> memory_of(nb::handle array, int flags) {
  auto buffer = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(array.ptr(), buffer.get(), flags) != 0) return nullptr;
  return {buffer.release(), [](Py_buffer* held) {
            if (!Py_IsInitialized()) return;
            if (PyGILState_Check() == 0) return Orphans::add(held);
            PyBuffer_Release(held);
            delete held;
          }};
}

nb::object to_python(const Value& v) {
  if (v.is_sequence()) {
    nb::list items;
    for (const Tensor& t : *v.sequence().items) items.append(tensor_to_python(t));
    return nb::make_tuple("sequence", items, std::string(name(v.sequence().dtype)));
  }
  if (v.is_map())
    return nb::make_tuple("map", tensor_to_python(v.map().keys), tensor_to_python(v.map().values));
  if (v.is_optional())
    return v.optional().held ? to_python(*v.optional().held) : nb::object(nb::none());
  return v.is_tensor() ? tensor_to_python(v.tensor()) : nb::object(nb::none());
}

std::map<std::string, Value> values_of(const nb::dict& feeds, const nb::callable& convert) {
  // Converting may run code of the user, who may change the dict.
  std::vector<std::pair<nb::object, nb::object>> given;
  for (const auto& [name, x] : feeds) given.emplace_back(nb::borrow(name), nb::borrow(x));
  std::map<std::string, Value> values;
  for (const auto& [name, x] : given) {
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_Check(name.ptr())
                                 ? PyUnicode_AsUTF8AndSize(name.ptr(), &size)
                                 : nullptr;
    if (text == nullptr) PyErr_Clear();
    std::optional<Value> value;
    if (text != nullptr && nb::isinstance<Value>(x)) value = nb::cast<Value>(x);
    else if (text != nullptr && Py_TYPE(x.ptr()) == array_type) value = plain_array(x);
    if (!value) value = nb::cast<Value>(convert(name, x));
    values.emplace(std::string(text, static_cast<std::size_t>(size)), std::move(*value));
  }
  return values;
}

void release_orphans() { Orphans::release(); }

void bind_values(nb::module_& m) {
  find_numpy_types();
  nb::class_<Value>(m, "Value");
  m.def("tensor_over", &tensor_over);
  m.def("tensor_of_strings", &tensor_of_strings, nb::arg("extents"), nb::arg("items"));
  m.def("sequence_of", &sequence_of);
  m.def("map_of", &map_of);
  m.def("maps_of_rows", &maps_of_rows);
  m.def("nothing", [] { return Value(Optional{}); });
}

}  // namespace rondel::python
