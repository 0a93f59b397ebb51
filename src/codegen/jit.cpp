#include "codegen/jit.h"

#include "base/error.h"
#include "base/parts.h"

#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

namespace rondel::codegen {
namespace {

[[noreturn]] void fail_with(const char* doing, llvm::Error error) {
  throw_error(Blame::internal,
              fmt::format("codegen: {}: {}", doing, llvm::toString(std::move(error))));
}

/// What LLVM reported on this thread, in addition to or instead of a returned error.
std::string& last_report() {
  thread_local std::string text;
  return text;
}

template <class T> T value_of(const char* doing, llvm::Expected<T> expected) {
  if (!expected) fail_with(doing, expected.takeError());
  return std::move(*expected);
}

void expect_success(const char* doing, llvm::Error error) {
  if (error) fail_with(doing, std::move(error));
}

/// LLVM's own way is to exit, which waits for the threads that compile: for the one that failed,
/// too.
void abort_at_once(void*, const char* reason, bool) {
  fmt::print(stderr, "LLVM: {}\n", reason);
  std::abort();
}

void set_up_target_once() {
  static const bool done = [] {
    llvm::install_fatal_error_handler(abort_at_once);
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)done;
}

/// Multiplications and additions are not fused unless the program says fma.
llvm::TargetOptions strict_floats() {
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  options.UnsafeFPMath = false;
  options.NoInfsFPMath = options.NoNaNsFPMath = options.NoSignedZerosFPMath = false;
  return options;
}

/// Tells LLVM to use no gathers and scatters. They take as long as the elements one by one, on some
/// processors (Zen 4) several times as long; but LLVM takes them for cheap: it unrolls inner loops
/// over short rows, and then vectorises the loop around them with gathers.
void avoid_gathers(llvm::orc::JITTargetMachineBuilder& builder) {
  if (builder.getTargetTriple().isX86())
    builder.addFeatures({"+prefer-no-gather", "+prefer-no-scatter"});
}

llvm::orc::JITTargetMachineBuilder host_machine() {
  set_up_target_once();
  auto builder = value_of("the host's processor", llvm::orc::JITTargetMachineBuilder::detectHost());
  builder.setOptions(strict_floats());
  builder.setRelocationModel(llvm::Reloc::PIC_);
  builder.setCodeModel(llvm::CodeModel::Small);
  avoid_gathers(builder);
  return builder;
}

llvm::orc::JITTargetMachineBuilder named_machine(const std::string& cpu) {
  auto builder = host_machine();
  builder.setCPU(cpu);
  builder.getFeatures() = llvm::SubtargetFeatures();
  avoid_gathers(builder);
  std::string wrong;
  const llvm::Triple& triple = builder.getTargetTriple();
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple.str(), wrong);
  invariant(target != nullptr, "codegen: LLVM knows no {}: {}", triple.str(), wrong);
  // Of a processor that it does not know, LLVM prints a warning: an empty name asks for none.
  const std::unique_ptr<llvm::MCSubtargetInfo> known(
      target->createMCSubtargetInfo(triple.str(), "", ""));
  const bool is_known = known->isCPUStringValid(cpu);
  const bool has_64_bits = is_known && (!triple.isX86() ||
                                        std::unique_ptr<llvm::MCSubtargetInfo>(
                                            target->createMCSubtargetInfo(triple.str(), cpu, ""))
                                            ->checkFeatures("+64bit"));
  require(
      has_64_bits,
      "there is no processor '{}' of 64 bits; expected native, or LLVM's name of one, such as {}",
      cpu,
      triple.isX86() ? "x86-64-v3 (AVX2), x86-64-v4 (AVX-512), skylake-avx512 or znver4"
                     : "generic, neoverse-n1, neoverse-v2 or apple-m1");
  return builder;
}

Host measure(const llvm::MCSubtargetInfo& processor) {
  if (processor.getTargetTriple().isAArch64()) return {.vector_bytes = 16, .vector_registers = 32};
  const auto has = [&](const char* feature) { return processor.checkFeatures(feature); };
  if (has("+avx512f")) return {.vector_bytes = 64, .vector_registers = 32, .scales = true};
  if (has("+avx2")) return {.vector_bytes = 32, .vector_registers = 16};
  return {.vector_bytes = 16, .vector_registers = 16};
}

template <class Function> llvm::orc::ExecutorSymbolDef at(Function* function) {
  return {llvm::orc::ExecutorAddr::fromPtr(function), llvm::JITSymbolFlags::Exported};
}

template <class T> T quotient(T a, T b) { return a / b; }
template <class T> T remainder(T a, T b) { return a % b; }

/// The functions that code may call: C functions for an operation that the processor lacks, or for
/// a loop that LLVM recognises as a copy; divisions of 128 bits, by which LLVM computes what a
/// counter of 64 bits ends with; ours that divides loops.
llvm::orc::SymbolMap library_functions(llvm::orc::LLJIT& jit) {
  using F1 = float(float);
  using D1 = double(double);
  using F2 = float(float, float);
  using D2 = double(double, double);
  using F3 = float(float, float, float);
  using D3 = double(double, double, double);
  llvm::orc::SymbolMap map;
  const auto put = [&](const char* name, auto* function) {
    map[jit.mangleAndIntern(name)] = at(function);
  };
  put("fmod", static_cast<D2*>(std::fmod));
  put("fmodf", static_cast<F2*>(std::fmod));
  put("fma", static_cast<D3*>(std::fma));
  put("fmaf", static_cast<F3*>(std::fma));
  put("floor", static_cast<D1*>(std::floor));
  put("floorf", static_cast<F1*>(std::floor));
  put("ceil", static_cast<D1*>(std::ceil));
  put("ceilf", static_cast<F1*>(std::ceil));
  put("trunc", static_cast<D1*>(std::trunc));
  put("truncf", static_cast<F1*>(std::trunc));
  // For saturating casts to unsigned. The sign of a zero, which fmax and fmin may choose, is lost
  // in these casts.
  put("fmax", static_cast<D2*>(std::fmax));
  put("fmaxf", static_cast<F2*>(std::fmax));
  put("fmin", static_cast<D2*>(std::fmin));
  put("fminf", static_cast<F2*>(std::fmin));
  // The rounding mode is never changed, so nearbyint rounds ties to even.
  put("roundeven", static_cast<D1*>(std::nearbyint));
  put("roundevenf", static_cast<F1*>(std::nearbyint));
  put("__divti3", quotient<__int128>);
  put("__modti3", remainder<__int128>);
  put("__udivti3", quotient<unsigned __int128>);
  put("__umodti3", remainder<unsigned __int128>);
  put("memcpy", std::memcpy);
  put("memmove", std::memmove);
  put("memset", std::memset);
  put(run_in_parts_name, run_in_parts);
  return map;
}

/// Keeps errors until LLVM has returned, since exceptions must not pass through its frames. Ignores
/// remarks and warnings.
struct Diagnostics final : llvm::DiagnosticHandler {
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error || !last_report().empty()) return true;
    llvm::raw_string_ostream stream(last_report());
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    return true;
  }
};

/// Runs passes. Throws the error that they reported, if any.
template <class Run> void run_passes(Run run) {
  last_report().clear();
  run();
  if (!last_report().empty()) throw_error(Blame::internal, "codegen: LLVM: " + last_report());
}

void set_target(llvm::Function& function, const std::string& cpu, const std::string& features,
                const Host& host) {
  function.addFnAttr("target-cpu", cpu);
  function.addFnAttr("target-features", features);
  function.addFnAttr("prefer-vector-width", std::to_string(8 * host.vector_bytes));
  // Sessions share code, and may take subnormal numbers for zero (`Arithmetic`).
  function.addFnAttr("denormal-fp-math", "dynamic,dynamic");
}

}  // namespace

Jit::Jit(llvm::orc::JITTargetMachineBuilder target) : target_(std::move(target)) {
  cpu_ = target_.getCPU();
  features_ = target_.getFeatures().getString();
  const Machine machine = take_machine(Compiler::Tier::optimised);
  host_ = measure(*machine->getMCSubtargetInfo());
  layout_ = machine->createDataLayout();
}

Jit::Jit(const std::string& cpu) : Jit(named_machine(cpu)) {}

Jit::Jit() : Jit(host_machine()) {
  auto builder = target_;
  lljit_ = value_of("starting LLVM's JIT", llvm::orc::LLJITBuilder()
                                               .setJITTargetMachineBuilder(std::move(builder))
                                               .setLinkProcessSymbolsByDefault(false)
                                               .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                                               .create());
  // Called on the linking thread, before its lookup fails with a less specific error.
  lljit_->getExecutionSession().setErrorReporter(
      [](llvm::Error error) { last_report() = llvm::toString(std::move(error)); });
  library_functions_ = &lljit_->getExecutionSession().createBareJITDylib("library functions");
  expect_success("library functions", library_functions_->define(
                                          llvm::orc::absoluteSymbols(library_functions(*lljit_))));
}

std::vector<std::string> Jit::instruction_sets() {
  Machine machine = take_machine(Compiler::Tier::optimised);
  const llvm::MCSubtargetInfo& processor = *machine->getMCSubtargetInfo();
  std::vector<std::string> names;
  for (const llvm::SubtargetFeatureKV& feature : processor.getAllProcessorFeatures())
    if (processor.checkFeatures(std::string("+") + feature.Key)) names.emplace_back(feature.Key);
  give_back(Compiler::Tier::optimised, std::move(machine));
  return names;
}

Jit::LinkedObject::~LinkedObject() {
  llvm::consumeError(jit_->lljit_->getExecutionSession().removeJITDylib(library_));
}

std::unique_ptr<llvm::Module> Jit::write(llvm::LLVMContext& context, const scalar::Program& program,
                                         const EmitOptions& options, const Linkage& linkage) {
  context.setDiagnosticHandler(std::make_unique<Diagnostics>());
  auto module = std::make_unique<llvm::Module>(program.name, context);
  module->setDataLayout(layout_);
  module->setTargetTriple(target_.getTargetTriple().str());
  emit_program(program, *module, host_, options, linkage);
  for (llvm::Function& function : *module)
    if (!function.isDeclaration()) set_target(function, cpu_, features_, host_);
#ifndef NDEBUG
  std::string text;
  llvm::raw_string_ostream stream(text);
  invariant(!llvm::verifyModule(*module, &stream), "codegen: {}: {}", program.name, stream.str());
#endif
  return module;
}

Jit::Machine Jit::take_machine(Compiler::Tier tier) {
  {
    const std::lock_guard lock(mutex_);
    auto& machines = machines_[static_cast<int>(tier)];
    if (!machines.empty()) {
      Machine machine = std::move(machines.back());
      machines.pop_back();
      return machine;
    }
  }
  auto builder = target_;
  const bool quick = tier == Compiler::Tier::quick;
  builder.setCodeGenOptLevel(quick ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default);
  Machine machine = value_of("the code generator", builder.createTargetMachine());
  machine->setFastISel(quick);
  return machine;
}

void Jit::give_back(Compiler::Tier tier, Machine machine) {
  const std::lock_guard lock(mutex_);
  machines_[static_cast<int>(tier)].push_back(std::move(machine));
}

void Jit::optimise(llvm::Module& module) {
  Machine machine = take_machine(Compiler::Tier::optimised);
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = tuning.LoopInterleaving = true;
  llvm::OptPassGate& gate = module.getContext().getOptPassGate();
  llvm::PassInstrumentationCallbacks callbacks;
  if (gate.isEnabled())
    callbacks.registerShouldRunOptionalPassCallback(
        [&gate](llvm::StringRef pass, llvm::Any) { return gate.shouldRunPass(pass, {}); });
  llvm::PassBuilder passes(machine.get(), tuning, std::nullopt, &callbacks);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(sccs);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, sccs, modules);
  run_passes([&] {
    passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
  });
  give_back(Compiler::Tier::optimised, std::move(machine));
}

Compiler::Object Jit::assemble(llvm::Module& module, Compiler::Tier tier) {
  Machine machine = take_machine(tier);
  llvm::SmallVector<char, 0> bytes;
  {
    llvm::raw_svector_ostream stream(bytes);
    llvm::legacy::PassManager passes;
    llvm::MCContext* context = nullptr;
    invariant(!machine->addPassesToEmitMC(passes, context, stream),
              "codegen: LLVM writes no objects for this machine");
    run_passes([&] { passes.run(module); });
  }
  give_back(tier, std::move(machine));
  const auto written = std::as_bytes(std::span(bytes.data(), bytes.size()));
  return {written.begin(), written.end()};
}

std::unique_ptr<Jit::LinkedObject> Jit::link(const std::shared_ptr<Jit>& jit,
                                             std::span<const std::byte> object,
                                             const std::vector<Symbol>& symbols) {
  llvm::orc::LLJIT& lljit = *jit->lljit_;
  auto& library = lljit.getExecutionSession().createBareJITDylib(
      fmt::format("program {}", jit->next_.fetch_add(1)));
  library.addToLinkOrder(*jit->library_functions_);
  auto linked = std::make_unique<LinkedObject>(jit, library);
  llvm::orc::SymbolMap map;
  for (const Symbol& symbol : symbols)
    map[lljit.mangleAndIntern(symbol.name)] = {llvm::orc::ExecutorAddr::fromPtr(symbol.address),
                                               llvm::JITSymbolFlags::Exported};
  if (!map.empty())
    expect_success("symbols of a program", library.define(llvm::orc::absoluteSymbols(map)));
  const llvm::StringRef bytes(reinterpret_cast<const char*>(object.data()), object.size());
  expect_success("adding code", lljit.addObjectFile(library, llvm::MemoryBuffer::getMemBufferCopy(
                                                                 bytes, "object")));
  last_report().clear();
  auto entry = lljit.lookup(library, Linkage().entry);
  if (!entry) fail_with(fmt::format("linking code: {}", last_report()).c_str(), entry.takeError());
  linked->entry_ = entry->toPtr<void*>();
  return linked;
}

}  // namespace rondel::codegen
