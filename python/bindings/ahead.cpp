// Models compiled ahead of time: rondel/compiled.py is the public API.
#include "bindings.h"
#include "runs.h"
#include "warnings.h"

#include <rondel/ahead_of_time.h>

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace rondel::python {
namespace {

/// (fields of rondel.CompileReport, warnings). `progress`: called with a text and two numbers, or
/// None; if it raises, the compilation ends with that exception.
nb::tuple compiled(const auto& model, const std::filesystem::path& library, CompileOptions o,
                   const nb::object& progress) {
  const Warnings warnings;
  warnings.collect_from(o.session);
  if (!progress.is_none())
    o.progress = [&](const std::string& what, std::size_t done, std::size_t all) {
      const nb::gil_scoped_acquire held;
      progress(text(what), done, all);
    };
  CompileReport r;
  {
    const nb::gil_scoped_release released;
    r = compile_model(model, library, o);
  }
  nb::list steps;
  for (const NotCompiledNode& n : r.not_compiled)
    steps.append(nb::make_tuple(text(n.where), text(n.why)));
  nb::dict fields;
  fields["library"] = text(r.library.string());
  fields["header"] = text(r.header.string());
  fields["name"] = text(r.name);
  fields["cpu"] = text(r.cpu);
  fields["instruction_sets"] = nb::cast(r.instruction_sets);
  fields["programs"] = r.programs;
  fields["cases"] = r.cases;
  fields["code_bytes"] = r.code_bytes;
  fields["weight_bytes"] = r.weight_bytes;
  fields["library_bytes"] = r.library_bytes;
  fields["not_compiled"] = steps;
  return nb::make_tuple(fields, warnings.texts());
}

}  // namespace

void bind_ahead(nb::module_& m) {
  nb::class_<CompileOptions>(m, "CompileOptions")
      .def(nb::init<>())
      .def_rw("session", &CompileOptions::session)
      .def_rw("cpu", &CompileOptions::cpu)
      .def_rw("shapes", &CompileOptions::shapes)
      .def_rw("samples", &CompileOptions::samples)
      .def_rw("allow_steps", &CompileOptions::allow_steps)
      .def_rw("name", &CompileOptions::name)
      .def_rw("header", &CompileOptions::header);
  m.def(
      "compile_model",
      [](nb::bytes b, const std::filesystem::path& library, const CompileOptions& o,
         nb::object progress) { return compiled(as_bytes(b), library, o, progress); },
      nb::arg("model"), nb::arg("library"), nb::arg("options"), nb::arg("progress").none());
  m.def(
      "compile_model",
      [](const std::filesystem::path& p, const std::filesystem::path& library,
         const CompileOptions& o,
         nb::object progress) { return compiled(p, library, o, progress); },
      nb::arg("model"), nb::arg("library"), nb::arg("options"), nb::arg("progress").none());
  nb::class_<CompiledModel>(m, "CompiledModel")
      .def("__init__",
           [](CompiledModel* at, const std::filesystem::path& library) {
             const nb::gil_scoped_release released;
             new (at) CompiledModel(library);
           })
      .def("inputs", &CompiledModel::inputs)
      .def("outputs", &CompiledModel::outputs)
      .def("info", &CompiledModel::info)
      .def("how_it_ran", &CompiledModel::how_it_ran, nb::arg("tiers") = false)
      .def("run", &run_fed<CompiledModel>, nb::arg("outputs"), nb::arg("feeds"), nb::arg("convert"),
           nb::arg("options").none());
}

}  // namespace rondel::python
