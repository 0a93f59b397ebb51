#pragma once
#include "scalar/program.h"

#include <memory>

namespace rondel::session {

class Tiered;

/// How programs become executable.
enum class Execution {
  interpreter,  ///< the oracle only
  tiered,       ///< interpreted at first; what runs for long is compiled in the background
  compiled,     ///< compiled at once (what cannot be is interpreted)
};

/// The execution asked for in the environment: RONDEL_JIT=0 (interpreter), 1 (tiered), 2
/// (compiled at once); `otherwise` when it says nothing.
Execution execution_from_environment(Execution otherwise);

/// Makes programs executable. All tiers give the same bits. Programs that do the same share what is
/// made of them: it is compiled once, for what all of them have spent. Thread-safe.
class Code {
 public:
  explicit Code(Execution);
  ~Code();
  Execution execution() const { return execution_; }
  std::shared_ptr<const scalar::Executable> make(std::shared_ptr<const scalar::Program>);

 private:
  class Background;
  class Shared;
  std::shared_ptr<Tiered> tiered(std::shared_ptr<const scalar::Program>);

  Execution execution_;
  std::shared_ptr<Background> background_;
  std::unique_ptr<Shared> shared_;
};

}  // namespace rondel::session
