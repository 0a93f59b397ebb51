#include "formats/onnx/graph_text.h"

#include "base/error.h"
#include "base/text.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#include <onnx/defs/parser.h>
#pragma GCC diagnostic pop

namespace rondel::onnx {

pb::GraphProto graph_in_text(const std::string& text) {
  pb::GraphProto graph;
  const auto status = pb::OnnxParser::Parse(graph, text);
  require(status.IsOK(), "this is no graph in ONNX's text form: {}",
          trimmed(status.ErrorMessage()));
  return graph;
}

}  // namespace rondel::onnx
