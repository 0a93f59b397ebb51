#pragma once
#include "codegen/safepoints.h"
#include "scalar/program.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <optional>
#include <vector>

/// The native function under construction, and the small functions that emit its parts. Internal to
/// this folder.
namespace rondel::codegen {

using llvm::Value;
using scalar::Inst;
using scalar::Op;
using scalar::Reg;

/// Properties of the host that the choice of code depends on.
struct Host {
  unsigned vector_bytes = 16;  ///< of the widest vector register
  unsigned vector_registers = 16;
};

/// A buffer of the program, its address, extents and strides in registers from the entry block on.
struct BoundBuffer {
  const scalar::Buffer* buffer = nullptr;
  Value* data = nullptr;
  std::vector<Value*> extents, strides;  ///< i64; strides in elements
  Value* extents_array = nullptr;        ///< for calls
  Value* strides_array = nullptr;
  llvm::MDNode* scope = nullptr;   ///< !alias.scope of its accesses
  llvm::MDNode* others = nullptr;  ///< !noalias of its accesses
  bool constant = false;           ///< nothing writes it while the program runs
};

struct OpenLoop {
  llvm::BasicBlock *before, *body, *after;
  llvm::BasicBlock* block = nullptr;  ///< begins a block of trips, where there are blocks
  llvm::PHINode* index;
  llvm::PHINode* block_index = nullptr;  ///< where the block begins
  Value* lo;
  Value* hi;
  Value* block_hi = nullptr;  ///< where it ends
  std::vector<llvm::PHINode*> carried;
  std::vector<llvm::PHINode*> block_carried;  ///< into the block
  std::vector<Value*> inits;
  llvm::MDNode* group = nullptr;  ///< access group of a parallel loop
  std::uint8_t flags = 0;
  Safepoint safepoint;
};

struct OpenIf {
  llvm::BasicBlock *otherwise, *after;
  llvm::BasicBlock* then_end = nullptr;
  std::vector<Value*> then_yields;
};

struct FunctionBuilder {
  FunctionBuilder(const scalar::Program&, llvm::Module&, const Host&);

  const scalar::Program& program;
  llvm::Module& module;
  Host host;
  llvm::LLVMContext& llvm;
  llvm::IRBuilder<> build;
  llvm::Function* function = nullptr;
  Value* context = nullptr;
  Value* stop = nullptr;              ///< address of the stop flag, never null
  std::vector<Safepoint> safepoints;  ///< by instruction
  std::vector<Value*> params;
  std::vector<BoundBuffer> buffers;
  std::vector<Value*> regs;
  std::vector<const Inst*> definitions;  ///< by Reg
  std::vector<OpenLoop> loops;
  std::vector<OpenIf> ifs;
  llvm::MDNode* all_scopes = nullptr;
  llvm::AllocaInst* panel = nullptr;  ///< in the frame, for the products' columns

  Value* reg(Reg r) const { return regs[static_cast<std::size_t>(r)]; }
  Value* operand(const Inst& i, std::size_t n) const { return reg(program.operands(i)[n]); }
  void define(const Inst& i, std::size_t n, Value* value) {
    regs[static_cast<std::size_t>(program.results(i)[n])] = value;
  }
  llvm::BasicBlock* block(const char* name) {
    return llvm::BasicBlock::Create(llvm, name, function);
  }
  const Safepoint& safepoint(const Inst& i) const {
    return safepoints[static_cast<std::size_t>(&i - program.code.data())];
  }
  Value* i64(std::int64_t v) { return build.getInt64(static_cast<std::uint64_t>(v)); }
  const BoundBuffer& bound(std::int32_t id) const { return buffers[static_cast<std::size_t>(id)]; }
  /// Room in the function's frame, allocated once whatever loop the code is in.
  llvm::AllocaInst* frame_slot(llvm::Type*, llvm::Align);
};

// types.cpp
llvm::Type* register_type(llvm::LLVMContext&, DType);  ///< bool: i1; f16, bf16, ...: their bits
llvm::Type* memory_type(llvm::LLVMContext&, DType);    ///< bool: i8
bool native_float(DType);                              ///< f32 and f64, which arithmetic is done on
llvm::Constant* constant(llvm::LLVMContext&, DType, std::int64_t bits);

// emit.cpp
/// Writes `status run(context, views, params)` for the program into the module.
void emit_program(const scalar::Program&, llvm::Module&, const Host&);
inline constexpr const char* entry_name = "run";

// arithmetic.cpp
Value* arithmetic(FunctionBuilder&, const Inst&);

// convert.cpp
/// Also of vectors, element by element.
Value* convert(FunctionBuilder&, Value*, DType from, DType to);
Value* bit_cast(FunctionBuilder&, const Inst&);

// memory.cpp
/// Whether the locals live in the function's frame; else in the context's workspace.
bool locals_in_frame(const scalar::Program&);
void bind_buffers(FunctionBuilder&, Value* views);
// alias_scopes.cpp
/// Names what passes may take for granted about the overlap of the buffers, which are bound.
void name_scopes(FunctionBuilder&);
// memory.cpp
/// Address of the element at `indices` (the leading axes; the others at 0).
Value* address(FunctionBuilder&, const BoundBuffer&, std::span<const Reg> indices);
/// Marks an access of a buffer with what it cannot overlap and whose trips are independent.
void annotate(FunctionBuilder&, llvm::Instruction*, const BoundBuffer&);
Value* load_element(FunctionBuilder&, const BoundBuffer&, Value* at);
void store_element(FunctionBuilder&, const BoundBuffer&, Value* at, Value* value);
void emit_load(FunctionBuilder&, const Inst&);
void emit_store(FunctionBuilder&, const Inst&);

// control.cpp
void begin_for(FunctionBuilder&, const Inst&);
void end_for(FunctionBuilder&, const Inst&);
void begin_if(FunctionBuilder&, const Inst&);
void begin_else(FunctionBuilder&, const Inst&);
void end_if(FunctionBuilder&, const Inst&);
void emit_check(FunctionBuilder&, const Inst&);
/// Checks the stop flag: returns `stopped` when it is set.
void emit_stop_check(FunctionBuilder&);
/// Where the block of at most `block` steps that begins at `from` < `hi` ends.
Value* end_of_block(FunctionBuilder&, Value* from, Value* hi, std::int64_t block);
/// Goes on in a new block when `condition` holds; `fail` writes the block taken, rarely, otherwise.
void unless(FunctionBuilder&, Value* condition, const char* name, llvm::function_ref<void()> fail);

// call.cpp
/// In the entry block: extents and strides in memory, for the views that calls take.
void prepare_calls(FunctionBuilder&);
void emit_call(FunctionBuilder&, const Inst&);
std::string call_symbol(std::int32_t id);        ///< the kernel's address
std::string attributes_symbol(std::int32_t id);  ///< its attributes' address

// contract.cpp
void emit_contract(FunctionBuilder&, const Inst&);
}  // namespace rondel::codegen
