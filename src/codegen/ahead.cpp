#include "codegen/ahead.h"

#include "base/error.h"
#include "codegen/jit.h"

namespace rondel::codegen {

AheadCompiler::AheadCompiler(const std::string& cpu)
    : jit_(cpu == "native" ? std::make_unique<Jit>() : std::make_unique<Jit>(cpu)) {}
AheadCompiler::~AheadCompiler() = default;

Compiler::Object AheadCompiler::assemble(const scalar::Program& program,
                                         const std::string& symbol) const {
  invariant(Compiler::refusal(program).empty(), "codegen: {}: {}", program.name,
            Compiler::refusal(program));
  constexpr auto tier = Compiler::Tier::optimised;
  llvm::LLVMContext context;
  const Compiler::StillWanted always;
  PassGate gate(always);
  context.setOptPassGate(gate);
  const auto module = jit_->write(context, program, {}, {symbol, /*by_argument=*/true});
  jit_->optimise(*module);
  return jit_->assemble(*module, tier);
}

std::vector<std::string> AheadCompiler::instruction_sets() const {
  return jit_->instruction_sets();
}
std::string AheadCompiler::cpu() const { return jit_->cpu(); }

}  // namespace rondel::codegen
