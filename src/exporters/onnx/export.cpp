#include "exporters/onnx/export.h"

#include "base/error.h"
#include "exporters/onnx/checker.h"
#include "exporters/onnx/files.h"
#include "exporters/onnx/model.h"
#include "exporters/onnx/outline.h"
#include "formats/onnx/proto.h"

namespace rondel::exporters {
namespace {

constexpr std::uint64_t max_protobuf_bytes = 0x7fffffff;

/// The size in bytes of the model with embedded initializers.
std::uint64_t embedded_size(const Model& m) {
  std::uint64_t bytes = m.proto.ByteSizeLong();
  for (const Tensor& t : m.initializers)
    bytes += static_cast<std::uint64_t>(t.size()) *
             (t.dtype() == DType::string ? 1 : byte_size(t.dtype()));
  return bytes;
}

}  // namespace

ExportedModel to_bytes(const ir::Graph& g, const ModelInfo& info, const ExportOptions& options) {
  Model m = to_model(g, info, options);
  outline_deep_graphs(m);
  require(!options.external_data,
          "external data stands in a file beside the model's; give a path to write to");
  const std::uint64_t size = embedded_size(m);
  require(size <= max_protobuf_bytes,
          "the model has {} bytes and a protobuf holds at most 2 GiB; give a path to write to, and "
          "the initializers go into a file beside it",
          size);
  embed(m);
  run_checker(m);
  ExportedModel out{onnx::serialized(m.proto), std::move(m.report)};
  out.report.bytes = out.bytes.size();
  return out;
}

ExportReport to_file(const ir::Graph& g, const ModelInfo& info, const std::filesystem::path& to,
                     const ExportOptions& options) {
  Model m = to_model(g, info, options);
  outline_deep_graphs(m);
  const bool external = options.external_data || embedded_size(m) > max_protobuf_bytes;
  if (external && !options.external_data)
    m.report.notes.emplace_back(
        "the initializers stand in a file of their own: a protobuf holds at most 2 GiB");
  write_files(m, to, external);
  return std::move(m.report);
}

}  // namespace rondel::exporters
