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

namespace rondel::onnx {

namespace pb = ::onnx;

/// Parses a ModelProto under protobuf's own recursion limit (100 messages deep) and checks that it
/// is one: an ir_version we know and a graph.
std::shared_ptr<pb::ModelProto> parse_model(std::span<const std::byte>);
std::shared_ptr<pb::ModelProto> read_model(const std::filesystem::path&);

}  // namespace rondel::onnx
