#pragma once
#include <rondel/error.h>
#include <rondel/export.h>
#include <rondel/tensor.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rondel {

/// How a model is compiled and bounded.
struct SessionOptions {
  /// 0: as many as there are cores.
  int intra_op_num_threads = 0;
  /// 0: none, 1: basic, 99: all, as onnxruntime counts them.
  int graph_optimization_level = 99;
  /// Bytes that all runs of the session may hold at once; checked before each allocation.
  std::size_t max_memory_bytes = std::numeric_limits<std::size_t>::max();
  /// Trips of any one loop; a trip beyond them never begins.
  std::int64_t max_trips = std::numeric_limits<std::int64_t>::max();
  /// What a body's cond means where Loop's cond is "": "spec" ignores it, "honour" stops on it.
  std::string loop_cond = "spec";
  /// False: the interpreter alone, no generated code. RONDEL_JIT=0 in the environment does the
  /// same.
  bool jit = true;
  /// True: no contraction to fma and no borrowed kernels.
  bool strict = false;
  /// Where external data of a model given as bytes may be read from.
  std::optional<std::filesystem::path> external_data_dir;
};

/// How one run is bounded.
struct RunOptions {
  /// Seconds from the start of the run; none: no deadline.
  std::optional<double> deadline;
  /// Set from any thread to end the run with Error(cancelled) within a millisecond.
  std::atomic<bool>* terminate = nullptr;
  /// Seed of the random ops.
  std::uint64_t seed = 0;
};

/// An input or output of a model. `type` is a text such as "tensor(float)"; `shape` holds numbers,
/// names of symbols, or empty strings where nothing is known; absent where the rank is unknown.
struct PortInfo {
  std::string name;
  std::string type;
  std::optional<std::vector<std::string>> shape;
  bool has_default = false;  ///< an input that may be left out: an initializer stands for it
};

struct ModelInfo {
  std::string graph_name, producer_name, domain, description, graph_description;
  std::int64_t version = 0;
  std::map<std::string, std::string> custom_metadata;
};

namespace session {
struct FromGraph;  // how front ends without a file make one
}

/// A compiled model. Safe to run from many threads at once.
class RONDEL_API Session {
 public:
  /// Reads an ONNX file. Throws Error.
  explicit Session(const std::filesystem::path& model, const SessionOptions& = {});
  /// Reads a serialized ONNX ModelProto.
  explicit Session(std::span<const std::byte> model, const SessionOptions& = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  const std::vector<PortInfo>& inputs() const;
  const std::vector<PortInfo>& outputs() const;
  const ModelInfo& info() const;

  /// All outputs by name. Inputs that have a default in the model may be left out.
  /// Outputs never alias inputs, weights or each other.
  std::map<std::string, Value> run(const std::map<std::string, Value>& feeds,
                                   const RunOptions& = {}) const;
  /// The named outputs, in the order asked for; empty: all, in the model's order.
  std::vector<Value> run(std::span<const std::string> outputs,
                         const std::map<std::string, Value>& feeds, const RunOptions& = {}) const;

  /// The graph as text: `imported` as read, else as compiled.
  std::string ir_text(bool imported) const;

 private:
  friend struct session::FromGraph;
  struct Impl;
  explicit Session(std::unique_ptr<Impl>);
  std::unique_ptr<Impl> impl_;
};

/// What `rondel check` and `rondel inspect` say of a model without compiling it.
struct Finding {
  enum class Level { note, warning, error } level;
  std::string where, message;
};
struct LoopInfo {
  std::string name, source;  ///< node name; "Loop", "Scan", ...
  int depth = 0;
  std::vector<std::string> states, scans, stacks;  ///< "name: type"
  std::string bound;                               ///< what ends it, in words
};
struct RONDEL_API ModelReport {
  std::vector<PortInfo> inputs, outputs;
  std::map<std::string, std::int64_t> opsets;
  std::map<std::string, std::int64_t> op_counts;
  std::vector<LoopInfo> loops;
  std::vector<Finding> findings;
  bool runs() const;
};
RONDEL_API ModelReport inspect(const std::filesystem::path& model, const SessionOptions& = {});
RONDEL_API ModelReport inspect(std::span<const std::byte> model, const SessionOptions& = {});

RONDEL_API const char* version();

}  // namespace rondel
