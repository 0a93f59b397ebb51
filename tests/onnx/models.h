#pragma once
#include "errors.h"
#include "formats/onnx/proto.h"
#include "frontends/onnx/import.h"
#include "ir/text.h"

#include <gtest/gtest.h>
#include <onnx/defs/parser.h>

#include <string>

/// Models written in ONNX's own text form, and the results of their import.
namespace rondel::onnx {

inline pb::ModelProto parse_text(const std::string& text) {
  pb::ModelProto model;
  ::onnx::OnnxParser parser(text.c_str());
  const auto status = parser.Parse(model);
  if (!status.IsOK()) ADD_FAILURE() << status.ErrorMessage() << "\nin " << text;
  return model;
}

/// A model of one opset from the text of its graph.
inline pb::ModelProto model_of(int opset, const std::string& graph) {
  return parse_text("<ir_version: 10, opset_import: [\"\" : " + std::to_string(opset) + "]>\n" +
                    graph);
}

inline Imported import_proto(const pb::ModelProto& model, const ImportOptions& options = {}) {
  const std::string bytes = model.SerializeAsString();
  return import_bytes(std::as_bytes(std::span(bytes.data(), bytes.size())), options);
}

inline Imported import_graph(int opset, const std::string& graph,
                             const ImportOptions& options = {}) {
  return import_proto(model_of(opset, graph), options);
}

inline std::string graph_error(int opset, const std::string& graph, Blame blame = Blame::caller) {
  return error_of([&] { import_graph(opset, graph); }, blame);
}

/// The ops of a region in order, without constants; ops of nested regions in brackets:
/// "add loop(mul) sub".
inline std::string ops_of(const ir::Graph& g, ir::RegionId r = ir::RegionId::root) {
  std::string out;
  for (const ir::NodeId n : g.region(r).nodes) {
    if (g.node(n).op->name == "constant") continue;
    out += (out.empty() ? "" : " ") + std::string(g.node(n).op->name);
    for (std::size_t k = 0; k < g.node(n).regions.size(); ++k)
      out += (k == 0 ? "(" : " | ") + ops_of(g, g.node(n).regions[k]);
    if (!g.node(n).regions.empty()) out += ")";
  }
  return out;
}

/// The first node of an op in the graph, in any region.
inline const ir::Node& find(const ir::Graph& g, std::string_view op) {
  for (std::size_t n = 0; n < g.node_count(); ++n)
    if (g.node(static_cast<ir::NodeId>(n)).op->name == op)
      return g.node(static_cast<ir::NodeId>(n));
  throw std::runtime_error("no " + std::string(op));
}

inline std::string output_type(const Imported& i, std::size_t k = 0) {
  return ir::to_text(i.graph.value(i.graph.root().results.at(k)).type);
}

}  // namespace rondel::onnx
