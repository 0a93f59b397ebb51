// Sessions of deepx instructions.
#include "bindings.h"
#include "runs.h"

#include <rondel/deepx.h>

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace rondel::python {
namespace {

using deepx::Failure;
using deepx::Metadata;
using PythonError = nb::python_error;

/// Holds the GIL for a call back into Python. Throws if the interpreter is ending, because the GIL
/// can then no longer be acquired.
class HeldGil {
 public:
  HeldGil() {
    if (interpreter_ended()) throw Error(Blame::cancelled, "the interpreter is shutting down");
    held_.emplace();
  }

 private:
  std::optional<nb::gil_scoped_acquire> held_;
};

/// Returns the result of `call`, made with the GIL. An exception of class rondel.Error is rethrown
/// as an Error.
template <class Call> auto with_gil(const Call& call) {
  const HeldGil held;
  try {
    return call();
  } catch (PythonError& e) {
    const nb::object errors = nb::module_::import_("rondel.errors");
    for (const auto& [name, blame] : {std::pair{"LimitExceeded", Blame::limit},
                                      std::pair{"UnsupportedError", Blame::unsupported},
                                      std::pair{"CallerError", Blame::caller}})
      if (e.matches(errors.attr(name)))
        throw Error(blame, nb::cast<std::string>(nb::str(e.value())));
    throw;
  }
}

/// Files that are saved and loaded by a Python object, such as Folder of rondel/deepx/files.py.
deepx::Files files_of(const nb::object& folder) {
  const auto value = [](const nb::object& made) { return nb::cast<Value>(made).tensor(); };
  return {[folder](const std::string& path, const Tensor& t) {
            with_gil([&] {
              folder.attr("save")(text(path), to_python(Value(t)));
              return 0;
            });
          },
          [folder, value](const std::string& path) {
            return with_gil([&] { return value(folder.attr("load")(text(path))); });
          },
          [folder, value](const std::string& path, DType t, const Shape& shape) {
            return with_gil([&] {
              return value(folder.attr("load_data")(text(path), std::string(name(t)),
                                                    nb::cast(std::vector<std::int64_t>(shape))));
            });
          }};
}

nb::dict dict_of(const Metadata& m) {
  nb::dict d;
  for (const auto& [key, value] : m) d[text(key)] = text(value);
  return d;
}

nb::object failure_of(const Failure& f) {
  const nb::object error = exception_of(f.error);
  error.attr("line") = f.line;
  error.attr("metadata") = dict_of(f.metadata);
  return error;
}

/// Runs a program. Returns its failures as exceptions with the attributes `line` and `metadata`.
nb::list run_text(deepx::Session& s, const nb::bytes& program, bool keep_going,
                  const nb::object& on_print, const nb::object& on_line,
                  std::optional<double> deadline) {
  deepx::RunSettings settings;
  settings.keep_going = keep_going;
  if (!on_print.is_none())
    settings.on_print = [&](const std::string& shown) {
      const HeldGil held;
      on_print(text(shown));
    };
  if (!on_line.is_none())
    settings.on_line = [&](std::size_t line, const Metadata& metadata, const Failure* failure) {
      const HeldGil held;
      on_line(line, dict_of(metadata), failure == nullptr ? nb::none() : failure_of(*failure));
    };
  settings.run.deadline = deadline;
  const std::string_view source(program.c_str(), program.size());
  const std::vector<Failure> failures = run_interruptibly(
      settings.run, [&](RunOptions&) { return s.run(source, settings); });
  nb::list all;
  for (const Failure& f : failures) all.append(failure_of(f));
  return all;
}

/// (kind, dtype, shape) of a name; None for an unknown name.
nb::object described(const std::optional<deepx::NameInfo>& info) {
  if (!info) return nb::none();
  constexpr const char* kinds[] = {"argument", "vector", "tensor"};
  return nb::make_tuple(kinds[static_cast<int>(info->kind)], std::string(name(info->dtype)),
                        nb::tuple(nb::cast(std::vector<std::int64_t>(info->shape))));
}

nb::list names(const deepx::Session& s) {
  nb::list all;
  for (const deepx::NameInfo& n : s.names()) all.append(text(n.name));
  return all;
}

nb::list instructions() {
  nb::list all;
  for (const deepx::InstructionInfo& i : deepx::instructions()) {
    nb::dict d;
    d["name"] = i.name;
    d["spellings"] = i.spellings;
    d["usage"] = i.usage;
    d["backward"] = i.backward;
    d["dtypes"] = i.dtypes;
    d["doc"] = i.doc;
    all.append(d);
  }
  return all;
}

}  // namespace

void bind_deepx(nb::module_& module) {
  nb::module_ m = module.def_submodule("deepx");
  nb::class_<deepx::Session>(m, "Session")
      .def(
          "__init__",
          [](deepx::Session* made, std::optional<std::size_t> max_memory_bytes, std::uint64_t seed,
             std::int64_t max_trips, int threads, bool jit, const nb::object& folder) {
            deepx::SessionOptions o;
            if (max_memory_bytes) o.max_memory_bytes = *max_memory_bytes;
            o.seed = seed;
            o.max_trips = max_trips;
            o.intra_op_num_threads = threads;
            o.jit = jit;
            if (!folder.is_none()) o.files = files_of(folder);
            new (made) deepx::Session(o);
          },
          nb::arg("max_memory_bytes").none(), nb::arg("seed"), nb::arg("max_trips"),
          nb::arg("threads"), nb::arg("jit"), nb::arg("folder").none())
      .def("run", &run_text, nb::arg("program"), nb::arg("keep_going"), nb::arg("on_print").none(),
           nb::arg("on_line").none(), nb::arg("deadline").none())
      .def("names", &names)
      .def("find",
           [](const deepx::Session& s, const std::string& n) { return described(s.find(n)); })
      // A copy: the session's own tensors are never written.
      .def("get", [](const deepx::Session& s,
                     const std::string& n) { return to_python(Value(s.get(n).copy())); })
      .def("set",
           [](deepx::Session& s, const std::string& n, const Value& v) { s.set(n, v.tensor()); })
      .def("erase", &deepx::Session::erase)
      .def("export_program", [](const deepx::Session& s, const nb::bytes& program,
                                const std::filesystem::path& to, const ExportOptions& o) {
        const std::string_view source(program.c_str(), program.size());
        return report(without_gil([&] { return s.export_program(source, to, o); }));
      });
  m.def("instructions", &instructions);
  m.def("help", [](const std::string& name) { return deepx::help(name); });
  m.def("formatted", [](const nb::bytes& program) {
    return text(deepx::formatted({program.c_str(), program.size()}));
  });
  m.def("ends_in_block", [](const nb::bytes& program) {
    return deepx::ends_in_block({program.c_str(), program.size()});
  });
}

}  // namespace rondel::python
