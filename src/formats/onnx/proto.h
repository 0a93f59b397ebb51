#pragma once
#include "base/error.h"

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
#include <onnx/onnx_pb.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace rondel::onnx {

namespace pb = ::onnx;

/// Parses a ModelProto under protobuf's own recursion limit (100 nested messages). Checks that it
/// has a known ir_version and a graph.
std::shared_ptr<pb::ModelProto> parse_model(std::span<const std::byte>);
std::shared_ptr<pb::ModelProto> read_model(const std::filesystem::path&);
/// The model as bytes that `parse_model` reads; at most 2 GiB.
std::vector<std::byte> serialized(const pb::ModelProto&);

}  // namespace rondel::onnx
