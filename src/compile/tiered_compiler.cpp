#include "compile/tiered_compiler.h"

#include "base/error.h"
#include "compile/background_compiler.h"
#include "compile/check_mode.h"
#include "compile/code_cache.h"
#include "compile/disk_cache.h"
#include "compile/llvm_threads.h"
#include "scalar/with_checks.h"

#include <cstdlib>
#include <string>

namespace rondel::compile {

Execution execution_from_environment(Execution otherwise) {
  const char* jit = std::getenv("RONDEL_JIT");
  if (jit == nullptr || *jit == '\0') return otherwise;
  const std::string value = jit;
  if (value == "0") return Execution::interpreter;
  if (value == "1") return Execution::tiered;
  if (value == "2") return Execution::compiled;
  if (value == "quick") return Execution::quick;
  fail(
      "RONDEL_JIT is '{}'; expected 0 (interpreter), 1 (tiered), 2 (compiled at once) or quick "
      "(compiled at once, without optimisations)",
      value);
}

SharedCode& SharedCode::of_process(Tier tier, bool divides_all) {
  if (divides_all) {
    static auto* divided_quick = new SharedCode(Tier::quick, nullptr, true);
    static auto* divided = new SharedCode(Tier::optimised, nullptr, true);
    return tier == Tier::quick ? *divided_quick : *divided;
  }
  static auto* quick = new SharedCode(Tier::quick);
  static auto* optimised = new SharedCode(Tier::optimised, &DiskCache::of_process);
  return tier == Tier::quick ? *quick : *optimised;
}

/// Made when the library is loaded: a fork must not find them half made.
[[maybe_unused]] static const SharedCode& made_early = SharedCode::of_process(
    SharedCode::Tier::quick);

SharedCode::SharedCode(Tier last, DiskCache& (*disk)(), bool divides_all)
    : last_(last), cache_(std::make_shared<CodeCache>()),
      background_compiler_(std::make_shared<BackgroundCompiler>(cache_, disk, divides_all)) {}
SharedCode::~SharedCode() = default;

std::shared_ptr<TieredExecutable> SharedCode::get(
    const std::shared_ptr<const scalar::Program>& program) {
  auto code = cache_->get(*program, [&] { return tiered(program); });
  if (code->first_look() && background_compiler_->is_on_disk(*program)) {
    code->expect_soon();
    background_compiler_->enqueue(code, last_);
  }
  return code;
}

void SharedCode::compile_now(const std::shared_ptr<TieredExecutable>& code) {
  // It may not be there after one attempt: that was cancelled when the last user was gone, just
  // before this one came, or only looked at the disk. While the process exits, nothing is compiled.
  while (!code->settled() && !LlvmThreads::threads().exiting())
    background_compiler_->compile_now(code);
}

void SharedCode::compile_soon(const std::shared_ptr<TieredExecutable>& code) {
  if (!code->settled()) background_compiler_->enqueue(code, last_);
}

std::shared_ptr<TieredExecutable> SharedCode::tiered(std::shared_ptr<const scalar::Program> p) {
  auto tiered = std::make_shared<TieredExecutable>(std::move(p), last_);
  tiered->on_hot = [background = std::weak_ptr(background_compiler_),
                    self = std::weak_ptr(tiered)](Tier tier) {
    if (const auto b = background.lock()) b->enqueue(self, tier);
  };
  tiered->on_large_run = [background = std::weak_ptr(background_compiler_),
                          self = std::weak_ptr(tiered)](Tier tier, const scalar::Context& run) {
    if (const auto b = background.lock()) b->compile_now(self, tier, run);
  };
  return tiered;
}

TieredCompiler::TieredCompiler(Execution execution, bool checked, bool divides_all)
    : execution_(execution), checked_(checked) {
  if (execution == Execution::interpreter) return;
  using Tier = SharedCode::Tier;
  code_ = &SharedCode::of_process(execution == Execution::quick ? Tier::quick : Tier::optimised,
                                  divides_all);
}

TieredCompiler::TieredCompiler(Execution execution, SharedCode& code)
    : execution_(execution), code_(&code) {}

std::shared_ptr<const scalar::Executable> TieredCompiler::make(
    std::shared_ptr<const scalar::Program> p) {
  return make_tiered(std::move(p), false).code;
}

ProgramCompiler::Ahead TieredCompiler::make_ahead(std::shared_ptr<const scalar::Program> p) {
  return make_tiered(std::move(p), true);
}

ProgramCompiler::Ahead TieredCompiler::make_tiered(std::shared_ptr<const scalar::Program> p,
                                                   bool ahead) {
  if (!checked_) return make_unchecked(std::move(p), ahead);
  Ahead made = make_unchecked(scalar::with_checks(*p), ahead);
  made.code = checking_views(std::move(made.code));
  return made;
}

ProgramCompiler::Ahead TieredCompiler::make_unchecked(std::shared_ptr<const scalar::Program> p,
                                                      bool ahead) {
  if (!code_ || !codegen::Compiler::refusal(*p).empty())
    return {scalar::interpret(std::move(p)), [] { return true; }};
  std::shared_ptr<TieredExecutable> code = code_->get(p);
  if (execution_ != Execution::tiered) code_->compile_now(code);
  else if (ahead) code_->compile_soon(code);
  const auto ready = [code] { return code->settled(); };
  if (code->shared_program() == p) return {code, ready};
  return {std::make_shared<SharedCodeExecutable>(std::move(p), std::move(code)), ready};
}

}  // namespace rondel::compile
