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

/// A model to read: a file, or bytes without one.
struct Source {
  std::optional<std::filesystem::path> file;
  std::span<const std::byte> bytes;  ///< all of them; none where there is a file
};

struct ImportOptions {
  /// What a body's cond means where Loop's cond is "": "spec" ignores it, "honour" stops on it.
  std::string loop_cond = "spec";
  /// Where external data is read from: for models given as bytes, and for folders whose files are
  /// links to elsewhere, which the model's own folder may not have.
  std::optional<std::filesystem::path> external_data_dir;
};

/// A model as a graph.
struct Imported {
  ir::Graph graph;
  ModelInfo info;
  std::map<std::string, std::int64_t> opsets;  ///< by domain; the default one is "ai.onnx"
  std::optional<int> ir_version;               ///< of an ONNX file
  std::vector<Finding> findings;               ///< warnings and notes
  /// Ops as in the file, those of every depth; `domain.Op` outside ai.onnx.
  std::map<std::string, std::int64_t> op_counts;
};

/// A loop as the file has it: what its body declares.
struct FileLoop {
  LoopInfo info;  ///< but for `bound`
  bool has_trips = false, has_condition = false;
};

/// The contents of a model, whether or not it can run.
struct Survey {
  std::vector<std::pair<std::string, ir::Type>> inputs, outputs;  ///< of kind none: not declared
  std::map<std::string, std::int64_t> opsets, op_counts;
  std::vector<FileLoop> loops;
  /// What keeps the model from running, one finding an op that we do not have, and whatever else
  /// the import says: warnings, and the error that ended it.
  std::vector<Finding> findings;
  std::optional<Imported> imported;  ///< where nothing keeps it from running
};

/// A language that models are written in, and its reader.
struct FrontEnd {
  std::string_view name;                     ///< "onnx"
  std::string_view doc;                      ///< what it reads, in words
  std::vector<std::string_view> extensions;  ///< of its files, with the dot, lower case
  /// Whether bytes with this beginning are in its language: for bytes, and for files with unknown
  /// extensions.
  bool (*recognises)(std::span<const std::byte> beginning);
  /// Throws Error: `caller` for what is no valid model, `unsupported` for an op, type or construct
  /// that is not run, each with the node in its frames.
  Imported (*import)(const Source&, const ImportOptions&);
  /// Throws only for what is not a model at all.
  Survey (*survey)(const Source&, const ImportOptions&);
};

}  // namespace rondel::frontends
