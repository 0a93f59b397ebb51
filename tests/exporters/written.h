#pragma once
#include "base/error.h"
#include "exporters/onnx/model.h"
#include "ir/infer.h"
#include "ir/text.h"

#include <gtest/gtest.h>
#include <onnx/checker.h>
#include <onnx/defs/printer.h>

#include <map>
#include <string>

/// Graphs in our text form, and the ONNX text that they are exported as.
namespace rondel::exporters {

inline ir::Graph graph_of(const std::string& text) {
  ir::Graph g = ir::parse(text);
  for (const ir::ValueId v : g.root().params) g.input_names.push_back(g.value(v).name);
  for (const ir::ValueId v : g.root().results) {
    g.output_names.push_back(g.value(v).name);
    g.declared_outputs.push_back(g.value(v).type);
  }
  return g;
}

inline ExportOptions in_opset(std::optional<int> opset) {
  ExportOptions options;
  options.opset = opset;
  return options;
}

/// The model, which onnx's checker must accept.
inline Model model_of(const std::string& text, std::optional<int> opset = {}) {
  Model m = to_model(graph_of(text), {}, in_opset(opset));
  embed(m);
  ::onnx::checker::check_model(m.proto, true);
  return m;
}

/// The text of small constants, by name: "{1, 2}".
using Constants = std::map<std::string, std::string>;

inline Constants constants_of(const Model& m) {
  Constants found;
  for (std::size_t k = 0; k < m.initializers.size(); ++k) {
    const Tensor& t = m.initializers[k];
    if (t.dtype() != DType::i64 && t.dtype() != DType::boolean) continue;
    std::string text;
    for (std::int64_t i = 0; i < t.size(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const std::int64_t value = t.dtype() == DType::i64 ? t.data_as<std::int64_t>()[at]
                                                         : t.data_as<std::uint8_t>()[at];
      text += (text.empty() ? "" : ", ") + std::to_string(value);
    }
    found[m.proto.graph().initializer(static_cast<int>(k)).name()] = "{" + text + "}";
  }
  return found;
}

/// A graph's nodes as ONNX text: one node per line, nested nodes indented, small constants inline.
inline std::string nodes_of(const pb::GraphProto& g, const Constants& constants,
                            const std::string& indent = "") {
  std::string out;
  const auto names = [&](const auto& list) {
    std::string all;
    for (const std::string& n : list) {
      const auto known = constants.find(n);
      all += (all.empty() ? "" : ", ") + (n.empty()                  ? "_"
                                          : known == constants.end() ? n
                                                                     : known->second);
    }
    return all;
  };
  for (const pb::NodeProto& n : g.node()) {
    out += indent + names(n.output()) + " = " + n.op_type();
    std::string attributes;
    for (const pb::AttributeProto& a : n.attribute()) {
      if (a.has_g()) continue;
      attributes += (attributes.empty() ? "" : ", ") + ::onnx::ProtoToString(a);
    }
    out += (attributes.empty() ? "" : "<" + attributes + ">") + "(" + names(n.input()) + ")\n";
    for (const pb::AttributeProto& a : n.attribute()) {
      if (!a.has_g()) continue;
      std::string inputs, outputs;
      for (const auto& v : a.g().input()) inputs += (inputs.empty() ? "" : ", ") + v.name();
      for (const auto& v : a.g().output()) outputs += (outputs.empty() ? "" : ", ") + v.name();
      out += indent + "  " + a.name() + "(" + inputs + ") -> (" + outputs + ")\n";
      out += nodes_of(a.g(), constants, indent + "    ");
    }
  }
  return out;
}

inline std::string written(const std::string& text, std::optional<int> opset = {}) {
  const Model m = model_of(text, opset);
  return nodes_of(m.proto.graph(), constants_of(m));
}

inline std::string error_of(const std::string& text, std::optional<int> opset, Blame blame) {
  try {
    to_model(graph_of(text), {}, in_opset(opset));
  } catch (const Error& e) {
    EXPECT_EQ(e.blame(), blame) << e.what();
    return e.what();
  }
  return "";
}

}  // namespace rondel::exporters
