#include "formats/onnx/proto.h"

#include "base/file.h"

#include <google/protobuf/io/coded_stream.h>

#include <limits>
#include <system_error>

namespace rondel::onnx {
namespace {

constexpr std::size_t most_bytes = std::numeric_limits<std::int32_t>::max();

void check_header(const pb::ModelProto& model) {
  require(model.has_graph() && model.has_ir_version(),
          "not an ONNX model: the protobuf has no graph or no ir_version");
  require(model.ir_version() >= 1 && model.ir_version() <= pb::IR_VERSION,
          "the model has IR version {}; the versions known here are 1 to {}", model.ir_version(),
          static_cast<int>(pb::IR_VERSION));
}

}  // namespace

std::shared_ptr<pb::ModelProto> parse_model(std::span<const std::byte> bytes) {
  require(!bytes.empty(), "not an ONNX model: there are no bytes");
  require(
      bytes.size() <= most_bytes,
      "the model has {} bytes; a protobuf holds at most 2 GiB: keep the weights as external data",
      bytes.size());
  auto model = std::make_shared<pb::ModelProto>();
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                            static_cast<int>(bytes.size()));
  const bool parsed = model->ParseFromCodedStream(&in) && in.ConsumedEntireMessage();
  require(parsed,
          "not an ONNX model: the {} bytes do not parse as one (truncated, another format, or "
          "graphs nested deeper than about 30)",
          bytes.size());
  check_header(*model);
  return model;
}

std::shared_ptr<pb::ModelProto> read_model(const std::filesystem::path& path) {
  std::ifstream file = open_file(path);
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  require(!error, "cannot read '{}': {}", path.string(), error.message());
  require(size <= most_bytes, "'{}' has {} bytes; a protobuf holds at most 2 GiB", path.string(),
          size);
  std::vector<std::byte> bytes(size);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  require(static_cast<std::size_t>(file.gcount()) == size, "'{}' ended while it was read",
          path.string());
  try {
    return parse_model(bytes);
  } catch (const Error& e) { throw e.within(path.string()); }
}

std::vector<std::byte> serialized(const pb::ModelProto& model) {
  std::vector<std::byte> bytes(model.ByteSizeLong());
  require(bytes.size() <= most_bytes, "the model has {} bytes; a protobuf holds at most 2 GiB",
          bytes.size());
  invariant(model.SerializeToArray(bytes.data(), static_cast<int>(bytes.size())),
            "the model cannot be serialized");
  return bytes;
}

}  // namespace rondel::onnx
