#include "codegen/compiler.h"

#include "base/error.h"
#include "codegen/jit.h"
#include "scalar/builder.h"
#include "scalar/native_executable.h"

#include <fmt/format.h>

namespace rondel::codegen {
namespace {

std::vector<Symbol> kernels(const scalar::Program& program) {
  std::vector<Symbol> symbols;
  for (std::size_t i = 0; i < program.calls.size(); ++i) {
    const scalar::Call& call = program.calls[i];
    const auto id = static_cast<std::int32_t>(i);
    symbols.push_back({call_symbol(id), reinterpret_cast<const void*>(call.function)});
    if (call.attributes) symbols.push_back({attributes_symbol(id), call.attributes.get()});
  }
  return symbols;
}

/// y[i] = x[i] * 3 + y[i]: vectors, constants, memory operands.
std::shared_ptr<const scalar::Program> tiny_program() {
  scalar::Builder b("tiny");
  const auto x = b.buffer({"x", DType::f32, scalar::Access::in, {64}});
  const auto y = b.buffer({"y", DType::f32, scalar::Access::inout, {64}});
  b.for_each(b.index(0), b.index(64), [&](scalar::Ex i) {
    b.store(y, {i}, b.load(x, {i}) * b.constant(DType::f32, 3.0) + b.load(y, {i}));
  });
  return b.finish();
}

}  // namespace

Compiler::Compiler(bool divides_all) : jit_(std::make_shared<Jit>()), divides_all_(divides_all) {}
Compiler::~Compiler() = default;

Compiler::Object Compiler::assemble(const scalar::Program& program, Tier tier,
                                    const StillWanted& wanted) const {
  invariant(refusal(program).empty(), "codegen: {}: {}", program.name, refusal(program));
  llvm::LLVMContext context;
  PassGate gate(wanted);
  context.setOptPassGate(gate);
  const auto module = jit_->write(context, program, {tier == Tier::optimised, divides_all_});
  if (tier == Tier::optimised) jit_->optimise(*module);
  if (!gate.wanted()) return {};
  Object object = jit_->assemble(*module, tier);
  return gate.wanted() ? std::move(object) : Object{};
}

std::unique_ptr<scalar::Executable> Compiler::link(std::shared_ptr<const scalar::Program> program,
                                                   std::span<const std::byte> object) const {
  const std::shared_ptr<const Jit::LinkedObject> code = Jit::link(jit_, object, kernels(*program));
  const bool takes_workspace = !locals_in_frame(*program);
  return std::make_unique<scalar::NativeExecutable>(
      std::move(program), reinterpret_cast<scalar::NativeFunction>(code->entry()), code,
      takes_workspace);
}

std::unique_ptr<scalar::Executable> Compiler::compile(
    std::shared_ptr<const scalar::Program> program, Tier tier, const StillWanted& wanted) const {
  const Object object = assemble(*program, tier, wanted);
  return object.empty() ? nullptr : link(std::move(program), object);
}

Host Compiler::host() const { return jit_->host(); }

void Compiler::warm_up(Tier tier) const { compile(tiny_program(), tier); }

std::string Compiler::to_llvm(const scalar::Program& program, Tier tier) const {
  llvm::LLVMContext context;
  const auto module = jit_->write(context, program, {tier == Tier::optimised, divides_all_});
  if (tier == Tier::optimised) jit_->optimise(*module);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, nullptr);
  return stream.str();
}

}  // namespace rondel::codegen
