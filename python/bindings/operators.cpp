// ONNX's operators as data, and graphs that are built node by node.
#include "bindings.h"

#include <rondel/operators.h>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace rondel::python {
namespace {

const char* form_name(OperatorPort::Form f) {
  switch (f) {
    case OperatorPort::Form::single: return "single";
    case OperatorPort::Form::optional: return "optional";
    case OperatorPort::Form::variadic: return "variadic";
  }
  return "";
}

nb::object python_value(const OperatorValue& v) {
  return std::visit(
      [](const auto& x) -> nb::object {
        using T = std::decay_t<decltype(x)>;
        if constexpr (std::is_same_v<T, Tensor>) return to_python(Value(x));
        else if constexpr (std::is_same_v<T, GraphBytes>) return nb::none();
        else if constexpr (std::is_same_v<T, TypeText>) return nb::cast(x.text);
        else return nb::cast(x);
      },
      v);
}

/// The value of an attribute of ONNX's type `type`; rondel/functions/attributes.py has already
/// converted it to the matching Python type.
OperatorValue operator_value(const std::string& type, nb::handle x) {
  if (type == "INT") return nb::cast<std::int64_t>(x);
  if (type == "FLOAT") return nb::cast<double>(x);
  if (type == "STRING") return nb::cast<std::string>(x);
  if (type == "TENSOR") return nb::cast<const Value&>(x).tensor();
  if (type == "INTS") return nb::cast<std::vector<std::int64_t>>(x);
  if (type == "FLOATS") return nb::cast<std::vector<double>>(x);
  if (type == "STRINGS") return nb::cast<std::vector<std::string>>(x);
  if (type == "TYPE_PROTO") return TypeText{nb::cast<std::string>(x)};
  if (type == "GRAPH") {
    const auto bytes = nb::cast<nb::bytes>(x);
    return GraphBytes{{bytes.c_str(), bytes.size()}};
  }
  throw Error(Blame::unsupported, "attributes of the type " + type + " are not supported");
}

nb::list node(GraphWriter& w, const std::string& op, const std::string& name,
              const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
              nb::handle attributes) {
  std::vector<std::pair<std::string, OperatorValue>> values;
  for (const nb::handle item : attributes)
    values.emplace_back(nb::cast<std::string>(item[0]),
                        operator_value(nb::cast<std::string>(item[1]), item[2]));
  nb::list types;
  for (const PortInfo& p : w.node(op, name, inputs, outputs, values)) types.append(nb::cast(p));
  return types;
}

PortInfo port(std::string name, std::string type, std::optional<std::vector<std::string>> shape) {
  return {std::move(name), std::move(type), std::move(shape)};
}

nb::bytes as_bytes(const auto& s) { return nb::bytes(s.data(), s.size()); }

}  // namespace

void bind_operators(nb::module_& m) {
  nb::class_<OperatorPort>(m, "OperatorPort")
      .def_ro("name", &OperatorPort::name)
      .def_ro("doc", &OperatorPort::doc)
      .def_ro("type", &OperatorPort::type)
      .def_ro("types", &OperatorPort::types)
      .def_prop_ro("form", [](const OperatorPort& p) { return form_name(p.form); })
      .def_ro("same_types", &OperatorPort::same_types)
      .def_ro("least", &OperatorPort::least);
  nb::class_<OperatorAttribute>(m, "OperatorAttribute")
      .def_ro("name", &OperatorAttribute::name)
      .def_ro("doc", &OperatorAttribute::doc)
      .def_ro("type", &OperatorAttribute::type)
      .def_ro("required", &OperatorAttribute::required)
      .def_prop_ro("default", [](const OperatorAttribute& a) {
        return a.default_value ? python_value(*a.default_value) : nb::object(nb::none());
      });
  nb::class_<Operator>(m, "Operator")
      .def_ro("name", &Operator::name)
      .def_ro("doc", &Operator::doc)
      .def_ro("since_version", &Operator::since_version)
      .def_ro("runs", &Operator::runs)
      .def_ro("deprecated", &Operator::deprecated)
      .def_ro("inputs", &Operator::inputs)
      .def_ro("outputs", &Operator::outputs)
      .def_ro("attributes", &Operator::attributes);
  m.def("newest_opset", &newest_opset);
  m.def("operators", &operators);

  nb::class_<GraphWriter>(m, "GraphWriter")
      .def(nb::init<const std::string&, int>())
      .def(
          "input",
          [](GraphWriter& w, std::string name, std::string type,
             std::optional<std::vector<std::string>> shape) {
            w.input(port(std::move(name), std::move(type), std::move(shape)));
          },
          nb::arg("name"), nb::arg("type"), nb::arg("shape").none())
      .def(
          "capture",
          [](GraphWriter& w, std::string name, std::string type,
             std::optional<std::vector<std::string>> shape) {
            w.capture(port(std::move(name), std::move(type), std::move(shape)));
          },
          nb::arg("name"), nb::arg("type"), nb::arg("shape").none())
      .def("constant", [](GraphWriter& w, const std::string& name,
                          const Value& v) { w.constant(name, v.tensor()); })
      .def("node", &node)
      .def("output", &GraphWriter::output)
      .def("graph_bytes", [](const GraphWriter& w) { return as_bytes(w.graph_bytes()); })
      .def("model_bytes", [](const GraphWriter& w) { return as_bytes(w.model_bytes()); });
  m.def("body_of_model", [](nb::bytes model, int opset) {
    const std::span bytes(reinterpret_cast<const std::byte*>(model.c_str()), model.size());
    return as_bytes(body_of_model(bytes, opset).bytes);
  });
  m.def("free_names", [](nb::bytes graph) { return free_names({{graph.c_str(), graph.size()}}); });
  m.def("body_of_graph", [](nb::bytes graph, int written_in, int opset) {
    return as_bytes(body_of_graph({{graph.c_str(), graph.size()}}, written_in, opset).bytes);
  });
  m.def("body_of_model",
        [](const Session& s, int opset) { return as_bytes(body_of_model(s, opset).bytes); });
}

}  // namespace rondel::python
