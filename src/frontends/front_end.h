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
#include <string_view>
#include <utility>
#include <vector>

/// The interface of front ends that read models.
namespace rondel::frontends {

/// A model to read: a file, or the bytes of a whole model.
struct Source {
  std::optional<std::filesystem::path> file;
  std::span<const std::byte> bytes;  ///< read only if `file` is not set
};

struct ImportOptions {
  /// The meaning of a body's cond if the Loop's own cond input is left out: "spec" ignores the
  /// body's cond, "honour" stops the loop when it is false.
  std::string loop_cond = "spec";
  /// The folder of the external data. Default: the folder of the model's file; none for a model
  /// given as bytes. A folder given here may contain links; the default folder may not.
  std::optional<std::filesystem::path> external_data_dir;
};

/// A model as a graph.
struct Imported {
  ir::Graph graph;
  ModelInfo info;
  /// Versions by domain. The key of the default domain is "ai.onnx".
  std::map<std::string, std::int64_t> opsets;
  std::optional<int> ir_version;  ///< ONNX files only
  std::vector<Finding> findings;  ///< warnings and notes
  /// Outputs that are lists of maps in the file: their keys, by name. Each row of the output has
  /// the values of one map.
  std::map<std::string, Tensor> map_keys;
  /// How often each op occurs in the file, nested graphs included. The key is `domain.Op` outside
  /// ai.onnx.
  std::map<std::string, std::int64_t> op_counts;
};

/// A loop as the file declares it.
struct FileLoop {
  LoopInfo info;  ///< `bound` is not set
  bool has_trips = false, has_condition = false;
};

/// The contents of a model, whether or not it can run.
struct Survey {
  /// Names and types. A type that is not declared has the kind none.
  std::vector<std::pair<std::string, ir::Type>> inputs, outputs;
  std::map<std::string, std::int64_t> opsets, op_counts;
  std::vector<FileLoop> loops;
  /// One error for each missing op, then the warnings and notes of the import and the error that
  /// ended it.
  std::vector<Finding> findings;
  std::optional<Imported> imported;  ///< set if the model can run
};

/// A language that models are written in, and its reader.
struct FrontEnd {
  std::string_view name;                     ///< "onnx"
  std::string_view doc;                      ///< one line for help texts
  std::vector<std::string_view> extensions;  ///< file extensions: lower case, with the dot
  /// Whether a model that begins with these bytes is in this language. Used for models given as
  /// bytes and for files with unknown extensions.
  bool (*recognises)(std::span<const std::byte> beginning);
  /// Throws Error: `caller` if the model is not valid, `unsupported` for an op, type or construct
  /// that we do not run. The frames of the error name the node.
  Imported (*import)(const Source&, const ImportOptions&);
  /// Throws only if the source is not a model at all.
  Survey (*survey)(const Source&, const ImportOptions&);
};

}  // namespace rondel::frontends
