#pragma once
#include <rondel/exporter.h>
#include <rondel/handle.h>
#include <rondel/session.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// deepx: a language of programs with one instruction per line, which work on named tensors,
/// vectors and scalars ("arguments"). See docs/deepx.md.
namespace rondel::deepx {

/// The functions that the instructions `save`, `load` and `loadtensordata` call. `path` is the text
/// in the program: these functions decide which folders a program may use. Each may throw Error.
/// One that is not set refuses its instruction.
struct Files {
  std::function<void(const std::string& path, const Tensor&)> save = {};
  std::function<Tensor(const std::string& path)> load = {};
  /// Loads a tensor whose dtype and shape the program gives.
  std::function<Tensor(const std::string& path, DType, const Shape&)> load_data = {};
};

struct SessionOptions {
  /// The most bytes that the session's tensors and their computation may hold at once.
  std::size_t max_memory_bytes = std::numeric_limits<std::size_t>::max();
  /// The most trips of any one loop, 0 or more. A further trip is an error and does not begin.
  std::int64_t max_trips = std::numeric_limits<std::int64_t>::max();
  /// The seed of all random draws that have no seed of their own.
  std::uint64_t seed = 0;
  /// Threads of one op; 0: one per core.
  int intra_op_num_threads = 0;
  /// False: only the interpreter runs. RONDEL_JIT=0 in the environment does the same.
  bool jit = true;
  /// None: programs may not read or write files.
  std::optional<Files> files = {};
};

/// The `key=value` pairs after `//` on a line, in order.
using Metadata = std::vector<std::pair<std::string, std::string>>;

/// A line that could not be parsed or run. Its message begins with "line N, column M: ".
struct Failure {
  std::size_t line = 0;  ///< in the text given to `run`, from 1; for a block, its first line
  Metadata metadata;
  Error error;
};

/// How a text is run.
struct RunSettings {
  /// True: a line that fails is skipped, and the next lines run.
  bool keep_going = false;
  /// Called with the output of `print`, one or more whole lines each time. None: standard output.
  std::function<void(const std::string&)> on_print = {};
  /// Called for each line, in order, once the line has taken effect or failed (`failure` is then
  /// not null). Lines that compute may take effect together, when a value is needed.
  std::function<void(std::size_t line, const Metadata&, const Failure* failure)> on_line = {};
  /// The deadline applies to the whole text; `seed` is ignored.
  RunOptions run = {};
};

/// A name in a session, and the type of its value.
struct NameInfo {
  enum class Kind { argument, vector, tensor } kind = Kind::tensor;
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
};

/// An instruction, or a kind of block.
struct InstructionInfo {
  std::string name;
  std::vector<std::string> spellings;  ///< other names
  std::string usage;                   ///< "add@T a b -> c"
  std::string backward;                ///< "add@T a(a_grad) b(b_grad) <- c(c_grad)"; "" if none
  std::string dtypes;                  ///< what T may be: "numbers"; "" if there is no T
  std::string doc;                     ///< one line
};

/// All instructions, sorted by name; then the kinds of blocks.
RONDEL_API const std::vector<InstructionInfo>& instructions();
/// The documentation of an instruction, a few lines. Throws Error(caller) for an unknown name.
RONDEL_API std::string help(std::string_view instruction);

/// The text in canonical form: statements that parse to the same instruction are written the same.
/// Throws Error(caller) for text that cannot be parsed.
RONDEL_API std::string formatted(std::string_view text);
/// True if the text ends inside a block, so that more lines must follow.
RONDEL_API bool ends_in_block(std::string_view text);

/// Named values, and the programs that change them. For one thread at a time: each function throws
/// Error(caller) while another call is under way.
class RONDEL_API Session {
 public:
  /// Throws Error(caller) for options out of range.
  explicit Session(const SessionOptions& = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// Runs a text, line by line. The lines between two lines that need values form one graph, which
  /// is optimised and compiled, or reused if the same graph has run before. The results are those
  /// of running the lines one after another.
  ///
  /// A line that fails has no effect. It ends the run, unless `keep_going` is set; the lines before
  /// it have taken effect. Returns the failures. Errors that do not belong to a line are thrown. If
  /// the deadline or the terminate flag ends the run, lines not yet computed have no effect.
  std::vector<Failure> run(std::string_view text, const RunSettings& = {});

  /// All names, sorted.
  std::vector<NameInfo> names() const;
  std::optional<NameInfo> find(std::string_view name) const;
  /// The value of a name: a scalar for an argument, rank 1 for a vector. The memory must not be
  /// written. Throws Error(caller) for an unknown name.
  Tensor get(std::string_view name) const;
  /// Makes a tensor, or gives an existing tensor a new value of any type. The memory is copied.
  /// Throws Error(caller) for a name that is not valid in a program, the name of an argument or
  /// vector, and a dtype that the language does not have; Error(limit).
  void set(const std::string& name, const Tensor&);
  /// Deletes a name of any kind. Throws Error(caller) for an unknown name.
  void erase(const std::string& name);

  /// Writes a program as an ONNX model, without running it. Tensors of this session that the
  /// program reads are the model's inputs. Tensors that it writes and that exist at its end are the
  /// outputs, under their names. If a tensor is both, its input has `_in` appended to the name.
  /// Arguments and all loaded values become constants of the model; `print` and `save` are left
  /// out. Throws Error: that of the first line that fails, or that of the exporter.
  ExportReport export_program(std::string_view text, const std::filesystem::path& to,
                              const ExportOptions& = {}) const;

 private:
  struct Impl;
  Handle<Impl> impl_;
};

}  // namespace rondel::deepx
