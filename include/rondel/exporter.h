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
  /// Opset of the written model. None: `least_opset`, or the lowest opset above it that has every
  /// op and type of the model. In an older opset, newer ops are written as the small graphs that
  /// define them, if they have such a definition.
  std::optional<int> opset = {};
  /// The lowest opset that may be chosen if `opset` is not given; 11 or more. None: 21.
  std::optional<int> least_opset = {};
  /// The lowest IR version that may be written. None: the lowest that the opset and types need.
  std::optional<int> least_ir_version = {};
  /// True: initializers go into a separate file beside the model, whatever its size. A model above
  /// 2 GiB, the limit of protobuf, is always written so.
  bool external_data = false;
  /// True: the graph as compiled (ops expanded, constants folded) rather than as read. Random draws
  /// are then written in standard arithmetic. They give the same numbers as a session with the same
  /// seed; the seed is one more input, "seed", with the default 0.
  bool compiled = false;
  /// True: the written model also fails if an assertion does not hold, by a Gather whose index is
  /// out of range. False: assertions are left out.
  bool assertions = true;
  /// How the model is read (`loop_cond`, `external_data_dir`).
  SessionOptions reading = {};
};

/// What was written.
struct ExportReport {
  int opset = 0, ir_version = 0;
  std::map<std::string, std::int64_t> op_counts;  ///< nodes of each ONNX op, at any depth
  struct Loop {
    std::string name;
    std::string written;  ///< "Scan" or "Loop"
    std::string reason;   ///< why it is not a Scan; empty for a Scan
  };
  std::vector<Loop> loops;
  std::vector<std::string> notes;    ///< remarks on the result, such as a raised opset
  std::uint64_t bytes = 0;           ///< size of the model file
  std::uint64_t external_bytes = 0;  ///< size of the file with the initializers; 0: no such file
};

/// Reads a model and writes it to `to` as ONNX that onnx's checker accepts. External initializers
/// go to `to` with ".data" appended, where a dot after a dot is written as %2E and a backslash as
/// %5C. Each file is written completely or not at all. Throws Error: `caller` for a model that
/// cannot be read, an opset that does not exist or cannot express the model (naming node and op),
/// or a path that cannot be written.
RONDEL_API ExportReport export_model(const std::filesystem::path& model,
                                     const std::filesystem::path& to, const ExportOptions& = {});
RONDEL_API ExportReport export_model(std::span<const std::byte> model,
                                     const std::filesystem::path& to, const ExportOptions& = {});

/// The same for a session's model, whether it came from a file or from a network builder.
/// `reading` is ignored.
RONDEL_API ExportReport export_model(const Session&, const std::filesystem::path& to,
                                     const ExportOptions& = {});

/// The same, returned as bytes, which `Session` opens and `export_model` reads: a serialized
/// ModelProto. A model above 2 GiB is an error: its initializers need a file.
struct ExportedModel {
  std::vector<std::byte> bytes;
  ExportReport report;
};
RONDEL_API ExportedModel export_model(const std::filesystem::path& model,
                                      const ExportOptions& = {});
RONDEL_API ExportedModel export_model(std::span<const std::byte> model, const ExportOptions& = {});
RONDEL_API ExportedModel export_model(const Session&, const ExportOptions& = {});

}  // namespace rondel
