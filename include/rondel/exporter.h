#pragma once
#include <rondel/session.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rondel {

/// How a model is written as standard ONNX.
struct ExportOptions {
  /// Opset of the written model. None: the usual one, or the least newer one that has every op and
  /// type of the model as it is. In an older one, newer ops become the small
  /// graphs they stand for, where they stand for one.
  std::optional<int> opset;
  /// The opset to begin with where none is given, which is raised as far as the model needs; 11 at
  /// least. None: the usual one, 21.
  std::optional<int> least_opset;
  /// The least IR version of the written model. None: what its opset and types need.
  std::optional<int> least_ir_version;
  /// True: initializers go into a file of their own beside the model, whatever its size. A model of
  /// more than 2 GiB, which a protobuf cannot hold, is always written so.
  bool external_data = false;
  /// True: the graph as it is compiled (ops expanded, constants folded) rather than as it was read.
  /// Random draws are written out in standard arithmetic then, and give a session's numbers for the
  /// seed, which is one more input: "seed", 0 where it is left out.
  bool compiled = false;
  /// True: where an assertion does not hold, the written model ends in an error as well: a result
  /// is gathered from beyond its data. False: assertions are left out.
  bool assertions = true;
  /// How the model is read (`loop_cond`, `external_data_dir`).
  SessionOptions reading = {};
};

/// What was written.
struct ExportReport {
  int opset = 0, ir_version = 0;
  std::map<std::string, std::int64_t> op_counts;  ///< ONNX ops, graphs of every depth
  struct Loop {
    std::string name;
    std::string written;  ///< "Scan" or "Loop"
    std::string reason;   ///< why it is no Scan; empty for a Scan
  };
  std::vector<Loop> loops;
  std::vector<std::string> notes;    ///< what a reader may wonder about: a raised opset, ...
  std::uint64_t bytes = 0;           ///< of the model file
  std::uint64_t external_bytes = 0;  ///< of the file with the initializers; 0: there is none
};

/// Reads a model and writes it to `to` as ONNX that onnx's checker accepts; the initializers, where
/// they are external, to `to` with ".data" appended. Both files appear whole or not at all. Throws
/// Error: `caller` for a model that cannot be read, an opset that there is not or that cannot say
/// the model (naming node and op), or a place that cannot be written.
RONDEL_API ExportReport export_model(const std::filesystem::path& model,
                                     const std::filesystem::path& to, const ExportOptions& = {});
RONDEL_API ExportReport export_model(std::span<const std::byte> model,
                                     const std::filesystem::path& to, const ExportOptions& = {});

/// The same for a session's model, however it was made: from a file, or by a network builder.
/// `reading` is not looked at.
RONDEL_API ExportReport export_model(const Session&, const std::filesystem::path& to,
                                     const ExportOptions& = {});

/// The same as bytes. A model of more than 2 GiB is an error: it needs a file, and one beside it.
struct ExportedModel {
  std::string bytes;
  ExportReport report;
};
RONDEL_API ExportedModel export_model(const std::filesystem::path& model,
                                      const ExportOptions& = {});
RONDEL_API ExportedModel export_model(std::span<const std::byte> model, const ExportOptions& = {});
RONDEL_API ExportedModel export_model(const Session&, const ExportOptions& = {});

}  // namespace rondel
