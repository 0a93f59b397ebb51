#pragma once
#include "compile/program_compiler.h"
#include "scalar/native_executable.h"
#include "scalar/same_code.h"

#include <cstdint>
#include <span>
#include <vector>

namespace rondel::compile {

/// The code of a program that was compiled ahead of time. The memory lives as long as the process.
struct CodeAhead {
  scalar::CodeKey key;
  std::span<const std::uint64_t> content;  ///< `scalar::code_content` of the program
  scalar::NativeFunction function;
};

/// Finds the code of programs among what was compiled ahead of time; a program that has none is
/// interpreted. Never compiles.
class LinkedCode final : public ProgramCompiler {
 public:
  explicit LinkedCode(std::vector<CodeAhead>);
  bool only_interprets() const override { return false; }
  std::shared_ptr<const scalar::Executable> make(std::shared_ptr<const scalar::Program>) override;

 private:
  std::vector<CodeAhead> codes_;  ///< by key
};

}  // namespace rondel::compile
