#pragma once
#include "scalar/program.h"

#include <memory>

namespace rondel::compile {

/// Makes programs executable. Thread-safe.
class ProgramCompiler {
 public:
  virtual ~ProgramCompiler() = default;
  /// Whether programs never have native code, so that whole loops need not be lowered.
  virtual bool only_interprets() const = 0;
  /// Whether programs are compiled before they run first, at any cost.
  virtual bool compiles_at_once() const { return false; }
  virtual std::shared_ptr<const scalar::Executable> make(
      std::shared_ptr<const scalar::Program>) = 0;
};

std::shared_ptr<ProgramCompiler> interpreter_alone();

}  // namespace rondel::compile
