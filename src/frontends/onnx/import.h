#pragma once
#include "ir/graph.h"

#include <rondel/session.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// ONNX models become graphs. Everything that is ONNX's alone (opset versions, functions, tensor
/// encodings, external data, naming) ends here.
namespace rondel::onnx {

struct ImportOptions {
  /// What a body's cond means where Loop's cond is "": "spec" ignores it, "honour" stops on it.
  std::string loop_cond = "spec";
  /// Where external data is read from: for models given as bytes, and for folders whose files are
  /// links to elsewhere, which the model's own folder may not have.
  std::optional<std::filesystem::path> external_data_dir;
};

struct Imported {
  ir::Graph graph;
  rondel::ModelInfo info;
  std::map<std::string, std::int64_t> opsets;  ///< by domain; the default one is "ai.onnx"
  std::vector<Finding> findings;               ///< warnings and notes
  /// ONNX ops as in the file, subgraphs and functions included; `domain.Op` outside ai.onnx.
  std::map<std::string, std::int64_t> op_counts;
};

/// Reads a model. Throws Error: `caller` for a file that is not a valid model, `unsupported` for an
/// op, type or construct we do not run, each naming the node.
Imported import_file(const std::filesystem::path&, const ImportOptions& = {});
/// The same for a serialized ModelProto.
Imported import_bytes(std::span<const std::byte>, const ImportOptions& = {});

/// A Loop or Scan as the file has it: what its body declares.
struct FileLoop {
  rondel::LoopInfo info;  ///< but for `bound`
  bool has_trips = false, has_condition = false;
};

/// What a model holds, whether or not it can be run.
struct Survey {
  std::vector<std::pair<std::string, ir::Type>> inputs, outputs;  ///< of kind none: not declared
  std::map<std::string, std::int64_t> opsets, op_counts;
  std::vector<FileLoop> loops;
  /// What keeps the model from running, one finding an op that we do not have, and whatever else
  /// the import says: warnings, and the error that ended it.
  std::vector<Finding> findings;
  std::optional<Imported> imported;  ///< where nothing keeps it from running
};

/// Throws only for what is not a model at all.
Survey survey_file(const std::filesystem::path&, const ImportOptions& = {});
Survey survey_bytes(std::span<const std::byte>, const ImportOptions& = {});

}  // namespace rondel::onnx
