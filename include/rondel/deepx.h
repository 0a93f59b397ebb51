#pragma once
#include <rondel/exporter.h>
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

/// deepx: programs of one instruction a line, on tensors, arguments and vectors that have names
/// (docs/deepx.md).
namespace rondel::deepx {

/// Where `save`, `load` and `loadtensordata` lead. A path is as the program writes it: to keep
/// programs inside a folder is the business of these functions. Each may throw Error.
struct Files {
  std::function<void(const std::string& path, const Tensor&)> save;
  std::function<Tensor(const std::string& path)> load;
  /// The elements of a tensor whose type is known.
  std::function<Tensor(const std::string& path, DType, const Shape&)> load_data;
};

struct SessionOptions {
  /// Bytes that the session's tensors and what computes them may hold at once.
  std::size_t max_memory_bytes = std::numeric_limits<std::size_t>::max();
  /// Trips of any one loop, 0 or more; a trip beyond them never begins.
  std::int64_t max_trips = std::numeric_limits<std::int64_t>::max();
  /// Of all draws that have no seed of their own.
  std::uint64_t seed = 0;
  /// Threads of one op; 0: as many as there are cores.
  int intra_op_num_threads = 0;
  /// False: the interpreter alone. RONDEL_JIT=0 in the environment does the same.
  bool jit = true;
  /// None: programs may not touch files.
  std::optional<Files> files;
};

/// The `key=value` pairs behind `//` of a line, in order.
using Metadata = std::vector<std::pair<std::string, std::string>>;

/// A line that could not be read or run. Its message begins with "line N, column M: ".
struct Failure {
  std::size_t line = 0;  ///< of the text given to `run`, from 1; of a block its first line
  Metadata metadata;
  Error error;
};

/// How a text is run.
struct RunSettings {
  /// True: a line that fails is left out, and the next ones run.
  bool keep_going = false;
  /// Gets what `print` shows, a text of whole lines each time. None: it goes to standard output.
  std::function<void(const std::string&)> on_print;
  /// Told of each line, once it has taken effect or failed (then `failure` is set). Lines that
  /// compute take effect together, when a value is asked for; they are told in order.
  std::function<void(std::size_t line, const Metadata&, const Failure* failure)> on_line;
  /// The deadline is that of the whole text; `seed` is not looked at.
  RunOptions run;
};

/// A name that a session knows.
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
  std::string backward;                ///< "add@T a(a_grad) b(b_grad) <- c(c_grad)"; "" without
  std::string dtypes;                  ///< what T may be: "numbers"; "" where it has none
  std::string doc;                     ///< one line
};

/// Sorted by name; blocks last.
RONDEL_API const std::vector<InstructionInfo>& instructions();
/// What there is to say of an instruction, a few lines. Throws Error(caller) for one that there is
/// not.
RONDEL_API std::string help(std::string_view instruction);

/// The text in one form: statements that are read the same are written the same. Throws
/// Error(caller) for what cannot be read.
RONDEL_API std::string formatted(std::string_view text);
/// Whether a text ends inside of a block, so that more lines must follow.
RONDEL_API bool ends_in_block(std::string_view text);

/// Names and their values, and the programs that change them. One thread at a time: each function
/// throws Error(caller) while another one is under way.
class RONDEL_API Session {
 public:
  /// Throws Error(caller) for options out of range.
  explicit Session(const SessionOptions& = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// Runs a text, line by line; lines between two that need values are one program, which is
  /// optimised and compiled, or found again where the same has run before. Results are as if the
  /// lines ran one after another.
  ///
  /// A line that fails changes nothing. It ends the run, unless `keep_going`; the lines before it
  /// have taken effect. Gives the failures. Other errors than those of a line are thrown: the end
  /// of the run by its deadline or flag takes back the lines that had not been computed.
  std::vector<Failure> run(std::string_view text, const RunSettings& = {});

  /// All names, sorted.
  std::vector<NameInfo> names() const;
  std::optional<NameInfo> find(std::string_view name) const;
  /// The value: of an argument a scalar, of a vector one of rank 1. Not to be written. Throws
  /// Error(caller) where there is no such name.
  Tensor get(std::string_view name) const;
  /// Makes a tensor, or gives a tensor that there is another value, of any type. The memory is
  /// copied. Throws Error(caller) for a name that no program could write, one of an argument or
  /// vector, and a dtype that programs do not have; Error(limit).
  void set(const std::string& name, const Tensor&);
  /// Deletes a name of any kind. Throws Error(caller) where there is none.
  void erase(const std::string& name);

  /// A text as an ONNX model, which is not run: tensors of this session that it reads are the
  /// model's inputs, and those that it writes, and that are there at its end, its outputs, under
  /// their names; the input of one that is both has `_in` at its end. Arguments are constants of
  /// the model. `print` and `save` have no part in it, and what it loads is a constant. Throws
  /// Error: that of the first line that fails, or of the exporter.
  ExportReport export_program(std::string_view text, const std::filesystem::path& to,
                              const ExportOptions& = {}) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondel::deepx
