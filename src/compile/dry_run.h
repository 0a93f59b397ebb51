#pragma once
#include "compile/build_context.h"
#include "compile/program_compiler.h"
#include "runtime/plan.h"
#include "scalar/same_code.h"

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace rondel::compile {

/// Collects the programs that it is asked for, and interprets them.
class RecordingCompiler final : public ProgramCompiler {
 public:
  bool only_interprets() const override { return false; }
  std::shared_ptr<const scalar::Executable> make(std::shared_ptr<const scalar::Program>) override;

  /// All programs with native code that were asked for, in order; equal ones once.
  const std::vector<std::shared_ptr<const scalar::Program>>& programs() const { return programs_; }
  /// By name of a program: why it has no native code.
  const std::map<std::string, std::string>& refused() const { return refused_; }

 private:
  std::mutex mutex_;
  std::multimap<scalar::CodeKey, const scalar::Program*> known_;
  std::vector<std::shared_ptr<const scalar::Program>> programs_;
  std::map<std::string, std::string> refused_;
};

/// What does not run as native code.
struct NotCompiled {
  std::string where;  ///< "node 'decode' (Loop)"
  std::string why;
  bool late = false;  ///< because sizes or values were made up that only a run knows
  auto operator<=>(const NotCompiled&) const = default;
};

/// Prepares every step of a plan, those of both branches of an `if` included, as a run with inputs
/// of these shapes would, so that the context's compiler is asked for all programs of such runs.
/// Only what follows from shapes and constants is computed; extents that data decide are made up.
/// `b`: what the plan was built from, with origins and a log. `inputs`: by parameter of the plan,
/// of any contents. Returns the nodes that run step by step, and those whose types are not known
/// before a run: their programs are not found, but a run with real inputs asks for them.
std::vector<NotCompiled> dry_run(const BuildContext& b, const runtime::Plan&,
                                 std::span<const Value> inputs);

}  // namespace rondel::compile
