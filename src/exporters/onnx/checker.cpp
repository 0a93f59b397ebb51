#include "exporters/onnx/checker.h"

#include "base/error.h"

#include <algorithm>
#include <fstream>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <onnx/checker.h>
#pragma GCC diagnostic pop

namespace rondel::exporters {
namespace {

bool unranked(const pb::ValueInfoProto& port) {
  return port.type().has_tensor_type() && !port.type().tensor_type().has_shape();
}

bool any_unranked(const pb::GraphProto& g) {
  return std::ranges::any_of(g.input(), unranked) || std::ranges::any_of(g.output(), unranked);
}

/// Gives ports of unknown rank a shape, because the checker requires one.
void give_shapes(google::protobuf::RepeatedPtrField<pb::ValueInfoProto>& ports) {
  for (pb::ValueInfoProto& port : ports)
    if (unranked(port)) port.mutable_type()->mutable_tensor_type()->mutable_shape();
}

/// The model with a rank for every port. Adds a note that some ports have none.
pb::ModelProto shaped(Model& m) {
  m.report.notes.emplace_back(
      "an input or output has no known rank, for which ONNX has no form in this opset: its checker "
      "takes the model only with one");
  pb::ModelProto copy = m.proto;
  give_shapes(*copy.mutable_graph()->mutable_input());
  give_shapes(*copy.mutable_graph()->mutable_output());
  return copy;
}

/// The checker's message about a model (a proto, or its path); "" if it accepts the model.
template <class M> std::string checker_message(const M& model, bool infers) {
  try {
    ::onnx::checker::check_model(model, infers);
    return {};
  } catch (const std::exception& e) { return e.what(); }
}

template <class M> void expect_valid(const M& model) {
  const std::string message = checker_message(model, false);
  invariant(message.empty(), "onnx's checker does not accept what was written: {}", message);
}

/// The same. Adds a note if onnx's shape inference disagrees: it is less precise than our ops (an
/// output of MaxPool with ceil_mode, a branch that is never taken).
template <class M> void expect_valid_and_inferred(const M& model, Model& m) {
  expect_valid(model);
  if (const std::string message = checker_message(model, true); !message.empty())
    m.report.notes.push_back("onnx's shape inference does not follow the model: " + message);
}

}  // namespace

void run_checker(Model& m) {
  if (any_unranked(m.proto.graph())) expect_valid(shaped(m));
  else expect_valid_and_inferred(m.proto, m);
}

void run_checker(Model& m, const std::filesystem::path& file) {
  if (!any_unranked(m.proto.graph())) return expect_valid_and_inferred(file.string(), m);
  const std::string copy = file.string() + ".shaped";
  std::ofstream out(copy, std::ios::binary);
  invariant(shaped(m).SerializeToOstream(&out), "the copy for the checker cannot be written");
  out.close();
  expect_valid(copy);
}

}  // namespace rondel::exporters
