#pragma once
#include "codegen/compiler.h"
#include "codegen/function_builder.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/OptBisect.h>
#include <llvm/Target/TargetMachine.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace rondel::codegen {

/// A symbol that the generated code refers to, and its address in this process.
struct Symbol {
  std::string name;
  const void* address;
};

/// Skips optional passes after the compilation has been cancelled. One per LLVM context.
class PassGate final : public llvm::OptPassGate {
 public:
  explicit PassGate(const Compiler::StillWanted& ask) : ask_(ask) {}
  bool wanted() { return wanted_ = wanted_ && (!ask_ || ask_()); }
  bool isEnabled() const override { return ask_ != nullptr; }
  bool shouldRunPass(llvm::StringRef, llvm::StringRef) override { return wanted(); }

 private:
  const Compiler::StillWanted& ask_;
  bool wanted_ = true;
};

/// LLVM, set up for a processor: passes, code generation and, for the host, linking. Thread-safe.
class Jit {
 public:
  /// For the host.
  Jit();
  /// For a processor by LLVM's name of it, such as "x86-64-v3". Throws Error(caller) if there is no
  /// such processor. Links nothing.
  explicit Jit(const std::string& cpu);

  /// Machine code that stays in memory for the lifetime of this object.
  class LinkedObject {
   public:
    LinkedObject(std::shared_ptr<Jit> jit, llvm::orc::JITDylib& library)
        : jit_(std::move(jit)), library_(library) {}
    ~LinkedObject();
    LinkedObject(const LinkedObject&) = delete;
    LinkedObject& operator=(const LinkedObject&) = delete;
    void* entry() const { return entry_; }

   private:
    friend class Jit;
    std::shared_ptr<Jit> jit_;
    llvm::orc::JITDylib& library_;
    void* entry_ = nullptr;
  };

  /// A module with the program's function.
  std::unique_ptr<llvm::Module> write(llvm::LLVMContext&, const scalar::Program&,
                                      const EmitOptions&, const Linkage& = {});
  /// The instruction sets of the processor, by LLVM's names.
  std::vector<std::string> instruction_sets();
  const std::string& cpu() const { return cpu_; }
  const Host& host() const { return host_; }
  void optimise(llvm::Module&);
  Compiler::Object assemble(llvm::Module&, Compiler::Tier);
  /// Links a copy of `object`; its entry point is the symbol "run". Besides `symbols`, the
  /// object may refer only to the few C library functions that LLVM itself calls.
  static std::unique_ptr<LinkedObject> link(const std::shared_ptr<Jit>&,
                                            std::span<const std::byte> object,
                                            const std::vector<Symbol>& symbols);

 private:
  using Machine = std::unique_ptr<llvm::TargetMachine>;
  explicit Jit(llvm::orc::JITTargetMachineBuilder);
  Machine take_machine(Compiler::Tier);
  void give_back(Compiler::Tier, Machine);

  const llvm::orc::JITTargetMachineBuilder target_;
  std::unique_ptr<llvm::orc::LLJIT> lljit_;  ///< null: not for the host
  llvm::orc::JITDylib* library_functions_ = nullptr;
  Host host_;
  std::string cpu_, features_;
  llvm::DataLayout layout_{""};
  std::mutex mutex_;  ///< guards `machines_`
  std::vector<Machine> machines_[2];
  std::atomic<std::uint64_t> next_{0};
};

}  // namespace rondel::codegen
