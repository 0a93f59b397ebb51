// Calls of operators as functions of arrays. The signature of a call is the function, the dtype and
// rank of each input, and the attributes. Python prepares a session once for each signature
// (rondel/functions/calling.py). A later call with the same signature stays in this file: it makes
// tensors, runs the session and returns arrays. Loop bodies that are Python functions are traced
// again in each call (rondel/functions/control.py).
#include "runs.h"
#include "signature.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <list>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace nb = nanobind;

namespace rondel::python {
namespace {

/// The session for calls of one signature, and how its inputs are made from the arguments.
struct Prepared {
  /// How an argument is used: the session input that it is fed to, or -1; and the dtype that it
  /// gets if it is a Python number.
  struct Argument {
    int input = -1;
    DType number = DType::f32;
  };
  using Plan = std::vector<std::tuple<int, std::string>>;

  /// `plan`: (input, dtype of a number) for each argument. `inputs_of_arguments`: the number of
  /// inputs that the arguments feed.
  Prepared(nb::object owning, const Plan& plan, std::size_t inputs_of_arguments)
      : owner(std::move(owning)), session(&nb::cast<const Session&>(owner)),
        inputs(inputs_of_arguments), draws(session->draws()) {
    for (const auto& [input, number] : plan)
      arguments.push_back({input, parse_dtype(number).value_or(DType::f32)});
  }

  nb::object owner;
  const Session* session;
  std::vector<Argument> arguments;
  std::size_t inputs;
  bool draws;
};

/// Converts a Python number; false if it does not fit.
template <class T> bool store(PyObject* x, T& to) {
  if constexpr (std::is_same_v<T, bool>) {
    to = PyObject_IsTrue(x) != 0;
    return true;
  } else if constexpr (std::is_floating_point_v<T>) {
    const double d = PyFloat_CheckExact(x) ? PyFloat_AsDouble(x) : PyLong_AsDouble(x);
    to = static_cast<T>(d);
    if (std::isinf(to) && !std::isinf(d)) return false;
    if (d != -1.0 || PyErr_Occurred() == nullptr) return true;
    return PyErr_Clear(), false;
  } else {
    int overflow = 0;
    const long long i = PyLong_AsLongLongAndOverflow(x, &overflow);
    if (i == -1 && PyErr_Occurred() != nullptr) return PyErr_Clear(), false;
    to = static_cast<T>(i);
    return overflow == 0 && std::in_range<T>(i);
  }
}

template <class T> Value tensor_of(const Given& g) {
  const Py_ssize_t count = g.numbers != nullptr ? Py_SIZE(g.numbers) : 1;
  const Tensor t(dtype_of<T>::value, g.numbers != nullptr ? Shape{count} : Shape{});
  for (Py_ssize_t k = 0; k < count; ++k) {
    PyObject* x = g.numbers != nullptr ? item_of(g.numbers, k) : g.number;
    if (!store(x, t.data_as<T>()[k])) return {};
  }
  return t;
}

/// Python numbers as a tensor of this dtype; undefined if a number does not fit.
Value tensor_of(const Given& g, DType t) {
  switch (t) {
    case DType::f64: return tensor_of<double>(g);
    case DType::f32: return tensor_of<float>(g);
    case DType::i64: return tensor_of<std::int64_t>(g);
    case DType::i32: return tensor_of<std::int32_t>(g);
    case DType::i16: return tensor_of<std::int16_t>(g);
    case DType::i8: return tensor_of<std::int8_t>(g);
    case DType::u64: return tensor_of<std::uint64_t>(g);
    case DType::u32: return tensor_of<std::uint32_t>(g);
    case DType::u16: return tensor_of<std::uint16_t>(g);
    case DType::u8: return tensor_of<std::uint8_t>(g);
    case DType::boolean: return tensor_of<bool>(g);
    default: return {};
  }
}

Value value_of(const Given& g, DType number) {
  if (!g.memory) return tensor_of(g, number);
  Shape shape(g.memory->shape, g.memory->shape + g.memory->ndim);
  Shape strides = row_major_strides(shape);
  return Tensor(g.dtype, std::move(shape), std::move(strides), g.memory->buf, g.memory);
}

/// The values of the session's inputs; nullopt if a number does not fit.
std::optional<std::vector<Value>> values_of(const Prepared& p, const Signature& s) {
  std::vector<Value> values(p.inputs);
  for (std::size_t k = 0; k < p.arguments.size(); ++k) {
    const Prepared::Argument& a = p.arguments[k];
    if (a.input < 0) continue;
    Value& v = values[static_cast<std::size_t>(a.input)];
    v = value_of(s.given()[k], a.number);
    if (!v.defined()) return std::nullopt;
  }
  return values;
}

/// Runs a session. Returns a single result as it is, several results as a tuple. `finish` converts
/// the results that must become arrays in Python.
nb::object run(const Session& session, std::span<const Value> values, bool draws,
               nb::handle finish) {
  static std::uint64_t seed = 0;
  RunOptions o;
  if (draws) o.seed = seed++;
  const std::vector<Value> results = run_interruptibly(
      o, [&](const RunOptions& with) { return session.run_in_order(values, with); });
  const auto converted = [&](const Value& v) {
    nb::object x = to_python(v);
    return nb::isinstance<nb::tuple>(x) ? finish(x, "a result") : x;
  };
  if (results.size() == 1) return converted(results[0]);
  nb::list all;
  for (const Value& v : results) all.append(converted(v));
  return nb::tuple(all);
}

/// Prepared sessions by signature. The least recently used one is evicted first.
class Cache {
 public:
  std::shared_ptr<const Prepared> find(const std::string& key) {
    const auto at = by_key_.find(key);
    if (at == by_key_.end()) return nullptr;
    order_.splice(order_.begin(), order_, at->second);
    return at->second->prepared;
  }
  void add(const Signature& s, std::shared_ptr<const Prepared> p) {
    if (by_key_.contains(s.key())) return;
    order_.push_front({s.key(), s.held(), std::move(p)});
    by_key_.emplace(order_.front().key, order_.begin());
    if (order_.size() <= most) return;
    by_key_.erase(order_.back().key);
    order_.pop_back();
  }
  std::size_t size() const { return order_.size(); }
  static constexpr std::size_t most = 512;

 private:
  struct Entry {
    std::string key;
    std::vector<nb::object> held;
    std::shared_ptr<const Prepared> prepared;
  };
  std::list<Entry> order_;
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_key_;
};

/// The cache of the process. Never destroyed, because it holds Python objects.
Cache& cache() {
  static auto* one = new Cache;
  return *one;
}

/// A callable operator. `caller` is a Caller of rondel/functions/calling.py with the methods:
/// - `traced(level, args, kwargs)`: executes the call while a body is traced.
/// - `prepare(args, kwargs)`: returns the Prepared of the call's signature, or None.
/// - `trace(key, args, kwargs)`: for a call with functions as bodies, returns the Prepared and the
///   values of further inputs, or None.
/// - `otherwise(args, kwargs)`: executes calls that have no signature or cannot be prepared.
class Function {
 public:
  Function(std::string name, Arguments arguments, const nb::object& caller, const nb::object& level,
           nb::object finish)
      : name_(std::move(name)), arguments_(std::move(arguments)), level_(level.attr("get")),
        traced_(caller.attr("traced")), prepare_(caller.attr("prepare")),
        otherwise_(caller.attr("otherwise")), finish_(std::move(finish)) {
    if (arguments_.graphs.empty()) return;
    trace_ = caller.attr("trace");
    graph_key_ = caller.attr("graph_key");
  }

  nb::object call(const nb::tuple& args, const nb::dict& kwargs) const {
    const nb::object entered = level_();
    if (!entered.is_none()) return traced_(entered, args, kwargs);
    Signature s(name_ + '\0');
    if (!arguments_.read(s, args, kwargs, graph_key_)) return otherwise_(args, kwargs);
    if (s.has_function()) return trace(s, args, kwargs);
    std::shared_ptr<const Prepared> p = cache().find(s.key());
    if (!p) {
      const nb::object made = prepare_(args, kwargs);
      if (made.is_none()) return otherwise_(args, kwargs);
      p = nb::cast<std::shared_ptr<Prepared>>(made);
      cache().add(s, p);
    }
    const auto values = values_of(*p, s);
    return values ? run(*p->session, *values, p->draws, finish_) : otherwise_(args, kwargs);
  }

 private:
  nb::object trace(const Signature& s, const nb::tuple& args, const nb::dict& kwargs) const {
    const nb::object made = trace_(nb::bytes(s.key().data(), s.key().size()), args, kwargs);
    if (made.is_none()) return otherwise_(args, kwargs);
    const auto& p = nb::cast<const Prepared&>(made[0]);
    auto values = values_of(p, s);
    if (!values) return otherwise_(args, kwargs);
    for (const nb::handle v : made[1]) values->push_back(nb::cast<const Value&>(v));
    return run(*p.session, *values, p.draws, finish_);
  }

  std::string name_;
  Arguments arguments_;
  nb::object level_, traced_, prepare_, otherwise_, finish_, trace_, graph_key_;
};

nb::object run_session(const Session& s, nb::handle given, nb::handle finish) {
  std::vector<Value> values;
  for (const nb::handle v : given) values.push_back(nb::cast<const Value&>(v));
  return run(s, values, s.draws(), finish);
}

}  // namespace

void bind_calls(nb::module_& m) {
  nb::class_<Prepared>(m, "Prepared")
      .def(nb::init<nb::object, const Prepared::Plan&, std::size_t>());
  nb::class_<Arguments>(m, "Arguments")
      .def("__init__", [](Arguments* at, std::vector<std::string> inputs, bool variadic,
                          std::vector<std::string> graphs, std::vector<std::string> constants) {
        new (at) Arguments{std::move(inputs), variadic, std::move(graphs), std::move(constants)};
      });
  nb::class_<Function>(m, "Function")
      .def(nb::init<std::string, Arguments, nb::object, nb::object, nb::object>())
      .def("call", &Function::call);
  m.def("run_in_order", &run_session);
  m.def("prepared_calls", [] { return nb::make_tuple(cache().size(), Cache::most); });
}

}  // namespace rondel::python
