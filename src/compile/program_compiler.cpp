#include "compile/program_compiler.h"

namespace rondel::compile {
namespace {

class Interpreter final : public ProgramCompiler {
 public:
  bool only_interprets() const override { return true; }
  std::shared_ptr<const scalar::Executable> make(
      std::shared_ptr<const scalar::Program> program) override {
    return scalar::interpret(std::move(program));
  }
};

}  // namespace

std::shared_ptr<ProgramCompiler> interpreter_alone() { return std::make_shared<Interpreter>(); }

}  // namespace rondel::compile
