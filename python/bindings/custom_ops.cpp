// Ops that are Python functions. rondel/custom_ops.py wraps the functions of the user: what is
// called here takes and gives lists, and never sees how users write types and results.
#include "bindings.h"
#include "without_gil.h"

#include <rondel/custom_op.h>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cxxabi.h>
#include <unistd.h>

namespace nb = nanobind;

namespace rondel::python {
namespace {

/// A Python object that any thread may release.
using Shared = std::shared_ptr<PyObject>;

Shared shared(nb::handle x) {
  return {x.inc_ref().ptr(), [](PyObject* held) {
            if (!Py_IsInitialized()) return;
            if (PyGILState_Check() != 0) return Py_DECREF(held);
            // This thread must not wait for the GIL: its holder may wait for this thread.
            Py_AddPendingCall([](void* p) { return Py_DECREF(static_cast<PyObject*>(p)), 0; },
                              held);
          }};
}

/// "ValueError: no such key"
std::string text_of(const nb::python_error& e) {
  const std::string type = nb::cast<std::string>(e.type().attr("__name__"));
  PyObject* said = PyObject_Str(e.value().ptr());
  if (said == nullptr) PyErr_Clear();
  const std::string what = said == nullptr ? "" : nb::cast<std::string>(nb::steal(said));
  return what.empty() ? type : type + ": " + what;
}

/// An exception of a Python function, on its way through the engine.
class PythonFailure : public std::exception {
 public:
  explicit PythonFailure(const nb::python_error& e)
      : raised_(std::make_shared<nb::python_error>(e)), text_(text_of(e)) {}
  const char* what() const noexcept override { return text_.c_str(); }
  nb::python_error& raised() const { return *raised_; }

 private:
  std::shared_ptr<nb::python_error> raised_;
  std::string text_;
};

/// Calls Python code of the user with the GIL.
template <class F> auto call_python(const F& f) {
  const WithGil gil;
  try {
    return f();
  } catch (const abi::__forced_unwind&) {
    // The interpreter is ending and takes this thread away while it is in the user's function: see
    // `reacquire_gil`.
    for (;;) ::pause();
  } catch (const nb::python_error& e) { throw PythonFailure(e); }
}

/// A str; bytes if the text is not UTF-8.
nb::object str_or_bytes(const std::string& s) {
  PyObject* made = PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), nullptr);
  if (made != nullptr) return nb::steal(made);
  PyErr_Clear();
  return nb::bytes(s.data(), s.size());
}

nb::dict python_attributes(const NodeAttributes& attributes) {
  nb::dict out;
  for (const auto& [name, value] : attributes)
    out[nb::cast(name)] = std::visit(
        [](const auto& x) -> nb::object {
          using T = std::decay_t<decltype(x)>;
          if constexpr (std::is_same_v<T, Tensor>) return to_python(Value(x.packed()));
          else if constexpr (std::is_same_v<T, GraphBytes>) return nb::none();
          else if constexpr (std::is_same_v<T, TypeText>) return nb::cast(x.text);
          else if constexpr (std::is_same_v<T, std::string>) return str_or_bytes(x);
          else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
            nb::list all;
            for (const std::string& s : x) all.append(str_or_bytes(s));
            return all;
          } else return nb::cast(x);
        },
        value);
  return out;
}

std::function<void(CustomCall&)> kernel_of(const Shared& f) {
  return [f](CustomCall& call) {
    call_python([&] {
      nb::list inputs;
      for (const Tensor& t : call.inputs())
        inputs.append(t.defined() ? to_python(Value(t.packed())) : nb::object(nb::none()));
      const nb::object results = nb::handle(f.get())(inputs, python_attributes(call.attributes()),
                                                     call.output_count());
      std::size_t j = 0;
      for (const nb::handle r : results)
        if (j < call.output_count()) call.set(j++, nb::cast<const Value&>(r).tensor());
    });
  };
}

/// A type as (dtype, shape), the shape None or a list of numbers, names and None.
nb::object python_type(const PartialType& t) {
  if (!t.shape) return nb::make_tuple(std::string(name(t.dtype)), nb::none());
  nb::list shape;
  for (const PartialExtent& e : *t.shape) {
    if (const auto* number = std::get_if<std::int64_t>(&e)) shape.append(*number);
    else if (const auto* symbol = std::get_if<std::string>(&e)) shape.append(text(*symbol));
    else shape.append(nb::none());
  }
  return nb::make_tuple(std::string(name(t.dtype)), shape);
}

PartialType type_of(nb::handle given) {
  const auto dtype = parse_dtype(nb::cast<std::string>(given[0]));
  if (!dtype)
    throw Error(Blame::caller, "there is no dtype '" + nb::cast<std::string>(given[0]) + "'");
  PartialType t{*dtype, std::nullopt};
  const nb::object shape = given[1];
  if (shape.is_none()) return t;
  t.shape.emplace();
  for (const nb::handle e : shape) {
    if (e.is_none()) t.shape->emplace_back();
    else if (nb::isinstance<nb::str>(e)) t.shape->emplace_back(nb::cast<std::string>(e));
    else t.shape->emplace_back(nb::cast<std::int64_t>(e));
  }
  return t;
}

std::function<std::vector<PartialType>(const CustomNode&)> types_of(const Shared& f) {
  return [f](const CustomNode& node) {
    return call_python([&] {
      nb::list inputs;
      for (const auto& t : node.inputs) inputs.append(t ? python_type(*t) : nb::object(nb::none()));
      const nb::object results = nb::handle(f.get())(inputs, python_attributes(node.attributes),
                                                     node.outputs);
      std::vector<PartialType> types;
      for (const nb::handle t : results) types.push_back(type_of(t));
      return types;
    });
  };
}

/// `run`, `types` and `gradient` are None if they are not given; `body` is then the other's, empty
/// if it is not given.
void register_python_op(const std::string& domain, const std::string& name, nb::handle run,
                        nb::handle types, nb::handle gradient, nb::bytes body, bool pure,
                        bool replace) {
  CustomOp op{.domain = domain, .name = name, .body = {body.c_str(), body.size()}, .pure = pure};
  if (!run.is_none()) op.run = kernel_of(shared(run));
  if (!types.is_none()) op.types = types_of(shared(types));
  if (!gradient.is_none()) op.gradient = kernel_of(shared(gradient));
  register_op(std::move(op), replace);
}

}  // namespace

bool set_cause(nb::handle exception, const Error& e) {
  const std::exception_ptr cause = take_cause(e);
  if (!cause) return true;
  try {
    std::rethrow_exception(cause);
  } catch (const PythonFailure& failure) {
    nb::python_error& raised = failure.raised();
    if (!raised.matches(PyExc_Exception)) {
      raised.restore();
      return false;
    }
    PyException_SetCause(exception.ptr(), raised.value().inc_ref().ptr());
  } catch (const std::exception&) {}  // of a C++ function
  return true;
}

void bind_custom_ops(nb::module_& m) {
  m.def("register_op", &register_python_op, nb::arg("domain"), nb::arg("name"),
        nb::arg("run").none(), nb::arg("types").none(), nb::arg("gradient").none(), nb::arg("body"),
        nb::arg("pure"), nb::arg("replace"));
  m.def("unregister_op", &unregister_op);
  m.def("registered_ops", &registered_ops);
  m.def("ops_of_last_model", &ops_of_last_model);
}

}  // namespace rondel::python
