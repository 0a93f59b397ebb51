// MDF models. rondel/mdf/ is the public API.
#include "bindings.h"
#include "runs.h"
#include "warnings.h"

#include <rondel/mdf.h>

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace rondel::python {
namespace {

std::map<std::string, Tensor> tensors(const std::map<std::string, Value>& values) {
  std::map<std::string, Tensor> out;
  for (const auto& [name, v] : values) out.emplace(name, v.tensor());
  return out;
}

/// The recorded values, in the order of `names`.
std::vector<Value> in_order(const std::map<std::string, Tensor>& results,
                            const std::vector<std::string>& names) {
  std::vector<Value> values;
  for (const std::string& name : names) values.emplace_back(results.at(name));
  return values;
}

nb::list run_model(const mdf::Model& model, const mdf::Settings& s,
                   const std::vector<std::string>& names, PyRunOptions* options) {
  return unpacked_results(options,
                          [&](const RunOptions& o) { return in_order(model.run(s, o), names); });
}

nb::list advance(mdf::Simulation& simulation, std::int64_t evaluations, double dt,
                 const std::map<std::string, Value>& inputs, const std::vector<std::string>& names,
                 PyRunOptions* options) {
  return unpacked_results(options, [&](const RunOptions& o) {
    return in_order(simulation.advance(evaluations, dt, tensors(inputs), o), names);
  });
}

/// [(name, reduce, default or None), ...]
nb::list input_port_infos(const mdf::Model& model) {
  nb::list out;
  for (const mdf::InputPortInfo& p : model.input_ports())
    out.append(nb::make_tuple(p.name, p.reduce,
                              p.default_value.defined() ? to_python(p.default_value) : nb::none()));
  return out;
}

/// (model, warnings) for a text or a file.
nb::tuple read(const auto& source, SessionOptions o) {
  const Warnings warnings;
  warnings.collect_from(o);
  mdf::Model made = without_gil([&] { return mdf::Model(source, o); });
  return nb::make_tuple(nb::cast(std::move(made)), warnings.texts());
}

}  // namespace

void bind_mdf(nb::module_& m) {
  nb::module_ sub = m.def_submodule("mdf");
  using Values = std::map<std::string, Value>;
  nb::class_<mdf::Settings>(sub, "Settings")
      .def(nb::init<>())
      .def_rw("steps", &mdf::Settings::steps)
      .def_rw("dt", &mdf::Settings::dt)
      .def_rw("record", &mdf::Settings::record)
      .def_rw("single_precision", &mdf::Settings::single_precision)
      .def("inputs", [](mdf::Settings& s, const Values& v) { s.inputs = tensors(v); })
      .def("initial", [](mdf::Settings& s, const Values& v) { s.initial = tensors(v); })
      .def("set", [](mdf::Settings& s, const Values& v) { s.set = tensors(v); });
  nb::class_<mdf::Model>(sub, "Model")
      .def("name", &mdf::Model::name)
      .def("nodes", &mdf::Model::nodes)
      .def("recordable", &mdf::Model::recordable)
      .def("input_ports",
           [](const mdf::Model& model) {
             std::vector<std::string> names;
             for (const mdf::InputPortInfo& p : model.input_ports()) names.push_back(p.name);
             return names;
           })
      .def("input_port_infos", &input_port_infos)
      .def("root_nodes", &mdf::Model::root_nodes)
      .def("output_nodes", &mdf::Model::output_nodes)
      .def("output_ports", &mdf::Model::output_ports)
      .def("parameters", &mdf::Model::parameters)
      .def("functions", &mdf::Model::functions)
      .def("varying_inputs", &mdf::Model::varying_inputs)
      .def("draws", &mdf::Model::draws)
      .def("run", &run_model, nb::arg("settings"), nb::arg("names"), nb::arg("options").none())
      .def("compile", [](const mdf::Model& model, const mdf::Settings& s) {
        return without_gil([&] { return model.compile(s); });
      });
  sub.def("functions_of_expressions", &mdf::functions_of_expressions);
  // The overload for bytes comes first: the one for paths would accept bytes, too.
  sub.def("read", [](nb::bytes b, const SessionOptions& o) { return read(as_bytes(b), o); });
  sub.def("read",
          [](const std::filesystem::path& p, const SessionOptions& o) { return read(p, o); });
  nb::class_<mdf::Simulation>(sub, "Simulation")
      .def(nb::init<const mdf::Model&, const mdf::Settings&>(), nb::keep_alive<1, 2>())
      .def(nb::init<const mdf::Simulation&>(), nb::keep_alive<1, 2>())
      .def("evaluated", &mdf::Simulation::evaluated)
      .def("begin_anew", &mdf::Simulation::begin_anew)
      .def("advance", &advance, nb::arg("evaluations"), nb::arg("dt"), nb::arg("inputs"),
           nb::arg("names"), nb::arg("options").none());
}

}  // namespace rondel::python
