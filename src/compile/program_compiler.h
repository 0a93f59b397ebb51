#pragma once
#include "scalar/program.h"

#include <functional>
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

  /// Code that is made before it runs.
  struct Ahead {
    std::shared_ptr<const scalar::Executable> code;
    std::function<bool()> ready;  ///< whether it is the best code that the program will have
  };
  /// Whether there is code ahead of runs.
  virtual bool makes_ahead() const { return false; }
  /// Begins to make the best code of a program; returns before it is ready, unless programs are
  /// compiled at once.
  virtual Ahead make_ahead(std::shared_ptr<const scalar::Program>) { return {}; }
};

std::shared_ptr<ProgramCompiler> interpreter_alone();

}  // namespace rondel::compile
