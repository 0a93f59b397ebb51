#pragma once
#include <rondel/error.h>
#include <rondel/export.h>
#include <rondel/handle.h>
#include <rondel/session.h>
#include <rondel/tensor.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// Models compiled ahead of time: a shared object with the code of a model, its weights and what
/// runs them, and without LLVM, onnx or protobuf. docs/ahead_of_time.md describes them.
namespace rondel {

/// The extents of some inputs, by name; -1: any extent. Where the model leaves extents of other
/// inputs open, those are any extents, too.
using InputShapes = std::map<std::string, std::vector<std::int64_t>>;

struct CompileOptions {
  /// How the model is read and optimised, and the limits of its runs. `jit` must be true, and there
  /// is no `profile`.
  SessionOptions session = {};
  /// "native": the processor of this machine. Else LLVM's name of one, such as "x86-64-v3".
  std::string cpu = "native";
  /// The shapes for which code is made, one case each; empty: the shapes that the model declares.
  /// Code is made for the class of each case (src/lowering/shape_class.h), and runs all shapes of
  /// the class. With at most three extents that are open in a case, there is code for every class
  /// that they allow: each of them may be 1, and any of them may be equal. With more there is code
  /// for different extents greater than 1. Other shapes are interpreted, with the same results.
  std::vector<InputShapes> shapes = {};
  /// Values of all inputs with which the model is run once, interpreted, so that code is also made
  /// for the sizes that these data decide.
  std::vector<std::map<std::string, Value>> samples = {};
  /// Nodes that have no native code are interpreted, or run step by step. False: they are an error.
  bool allow_steps = false;
  /// The prefix of the model's C functions: a C identifier. Empty: made of the name of the file.
  std::string name = {};
  /// Where the C header is written; empty: beside the model, with the suffix ".h".
  std::filesystem::path header = {};
  /// Called before each part of the work: its name, and how much of it is done. May be null.
  std::function<void(const std::string& what, std::size_t done, std::size_t all)> progress = {};
};

/// A node of a compiled model that runs without native code, or in part, and why.
struct NotCompiledNode {
  std::string where, why;
};

struct CompileReport {
  std::filesystem::path library, header;
  std::string name, cpu;
  std::vector<std::string> instruction_sets;  ///< that the code may use, by LLVM's names
  std::size_t programs = 0;                   ///< functions of native code
  std::size_t cases = 0;                      ///< combinations of shapes that were considered
  std::uint64_t code_bytes = 0, weight_bytes = 0, library_bytes = 0;
  std::vector<NotCompiledNode> not_compiled;
};

/// Compiles a model to a shared object and a C header. Needs the system's C compiler (`cc`, or what
/// the environment's CC names), which links it. Both files are written whole or not at all.
///
/// Throws Error: as Session's constructor does; `caller` for shapes that the model does not take, a
/// name that is no identifier, a processor that there is not, a place that cannot be written;
/// `unsupported` for inputs and outputs that are no tensors, for nodes that cannot be compiled
/// (unless `allow_steps`), which it names, and if there is no C compiler.
RONDEL_API CompileReport compile_model(const std::filesystem::path& model,
                                       const std::filesystem::path& library,
                                       const CompileOptions& = {});
/// The same for a serialized ONNX ModelProto.
RONDEL_API CompileReport compile_model(std::span<const std::byte> model,
                                       const std::filesystem::path& library,
                                       const CompileOptions& = {});

/// A compiled model, loaded into this process. Safe to run from many threads at once.
class RONDEL_API CompiledModel {
 public:
  /// Throws Error(caller) for a file that cannot be read, is cut off or is no compiled model, and
  /// Error(unsupported) if this version cannot call it, or this processor lacks what it needs. The
  /// file is code: load no file of somebody whom you do not trust.
  explicit CompiledModel(const std::filesystem::path& library);
  ~CompiledModel();
  CompiledModel(CompiledModel&&) noexcept;
  CompiledModel& operator=(CompiledModel&&) noexcept;

  /// As those of Session.
  const std::vector<PortInfo>& inputs() const;
  const std::vector<PortInfo>& outputs() const;
  const ModelInfo& info() const;
  /// Returns the named outputs, in the requested order; empty: all. The same bits as those of a
  /// Session of the model, and the same errors. `RunOptions::terminate` ends a run within about 20
  /// ms.
  std::vector<Value> run(std::span<const std::string> outputs,
                         const std::map<std::string, Value>& feeds, const RunOptions& = {}) const;
  /// As Session::how_it_ran; of what was not compiled it says how many trips were interpreted.
  std::map<std::string, std::string> how_it_ran(bool tiers = false) const;

 private:
  struct Impl;
  Handle<Impl> impl_;
};

}  // namespace rondel
