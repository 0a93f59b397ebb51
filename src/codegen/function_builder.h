#pragma once
#include "codegen/host.h"
#include "codegen/lanes.h"
#include "codegen/parts.h"
#include "codegen/safepoints.h"
#include "scalar/program.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// The state of a native function under construction, and the functions that emit its parts.
/// Internal to this folder.
namespace rondel::codegen {

using llvm::Value;
using scalar::Inst;
using scalar::Op;
using scalar::Reg;

/// A buffer of the program. Its address, extents and strides are loaded in the entry block.
struct BoundBuffer {
  const scalar::Buffer* buffer = nullptr;
  Value* data = nullptr;
  std::vector<Value*> extents, strides;  ///< i64; strides in elements
  Value* extents_array = nullptr;        ///< address of the extents in memory, for calls
  Value* strides_array = nullptr;        ///< address of the strides in memory, for calls
  llvm::MDNode* scope = nullptr;         ///< !alias.scope of its accesses
  llvm::MDNode* others = nullptr;        ///< !noalias of its accesses
  bool constant = false;                 ///< not written while the program runs
  std::size_t family = 0;                ///< the same number for buffers that may overlap
};

/// A loop whose end has not been emitted yet. With `Safepoint::Kind::blocks` it is two nested
/// loops: over blocks of trips, and over the trips of a block.
struct OpenLoop {
  llvm::BasicBlock *before, *body, *after;
  llvm::BasicBlock* block = nullptr;  ///< header of the loop over blocks; null: none
  llvm::PHINode* index;
  llvm::PHINode* block_index = nullptr;  ///< first trip of the block
  Value* lo;
  Value* hi;
  std::int64_t step = 1;      ///< of the index; more than 1 if trips are lanes
  Value* block_hi = nullptr;  ///< end of the block
  std::vector<llvm::PHINode*> carried;
  std::vector<llvm::PHINode*> block_carried;  ///< carried values of the loop over blocks
  std::vector<Value*> inits;
  llvm::MDNode* group = nullptr;  ///< access group of a parallel loop
  /// Of a parallel loop: the families of buffers that a trip writes, and whether the trip accesses
  /// one of them after that. If so, LLVM is not told that the loop is parallel: for such a loop its
  /// vectoriser asks for no dependences, also not for those within a trip, and may move a trip's
  /// loads before its stores.
  std::set<std::size_t> written;
  bool accesses_again = false;
  std::uint8_t flags = 0;
  Safepoint safepoint;
};

struct OpenIf {
  Value* lanes = nullptr;  ///< which lanes take the first branch, if they may disagree
  Value* outer_mask = nullptr;
  llvm::BasicBlock* before = nullptr;  ///< where the condition was tested
  llvm::BasicBlock *otherwise, *after;
  llvm::BasicBlock* then_end = nullptr;
  std::vector<Value*> then_yields;
};

/// The symbols of a program's code.
struct Linkage {
  std::string entry = "run";
  /// Kernels and their attributes are not symbols: their addresses are an argument of the function.
  /// Such code is not divided among threads.
  bool by_argument = false;
};

/// What was decided about a program before code is emitted.
struct Decisions {
  std::vector<Safepoint> safepoints;  ///< by instruction
  LanePlan lanes;
  PartPlan parts;
  Definitions definitions;
  std::vector<bool> needed;  ///< by Reg: see `needed_registers`
};

struct FunctionBuilder {
  FunctionBuilder(const scalar::Program&, llvm::Module&, const Host&, const Decisions&, Linkage);

  const scalar::Program& program;
  const Linkage linkage;
  llvm::Module& module;
  Host host;
  llvm::LLVMContext& llvm;
  llvm::IRBuilder<> build;
  llvm::Function* function = nullptr;
  Value* context = nullptr;
  Value* links = nullptr;
  Value* stop = nullptr;  ///< address of the stop flag, never null
  const Decisions& decisions;
  /// The loop or product of which this function runs a part; null: it runs the program.
  const Inst* part = nullptr;
  Value *part_from = nullptr, *part_to = nullptr;  ///< its trips
  const LaneLoop* lanes = nullptr;  ///< the loop around the code whose trips are lanes, if any
  Value* mask = nullptr;            ///< which of the lanes are trips; null: all
  std::vector<Value*> params;
  std::vector<BoundBuffer> buffers;
  std::vector<Value*> regs;
  std::vector<OpenLoop> loops;
  std::vector<OpenIf> ifs;
  llvm::MDNode* all_scopes = nullptr;
  llvm::AllocaInst* panel = nullptr;  ///< in the stack frame: packed columns of products

  Value* reg(Reg r) const { return regs[static_cast<std::size_t>(r)]; }
  Value* operand(const Inst& i, std::size_t n) const { return reg(program.operands(i)[n]); }
  /// Whether the register holds a vector: its lanes have values of their own. The register of a
  /// value that steps from lane to lane holds that of lane 0.
  bool varies(Reg r) const {
    return lanes && decisions.lanes.variation[static_cast<std::size_t>(r)] == Variation::any;
  }
  void define(const Inst& i, std::size_t n, Value* value) {
    regs[static_cast<std::size_t>(program.results(i)[n])] = value;
  }
  unsigned lane_count() const { return static_cast<unsigned>(lanes->width); }
  llvm::BasicBlock* block(const char* name) {
    return llvm::BasicBlock::Create(llvm, name, function);
  }
  const Safepoint& safepoint(const Inst& i) const {
    return decisions.safepoints[static_cast<std::size_t>(&i - program.code.data())];
  }
  Value* i64(std::int64_t v) { return build.getInt64(static_cast<std::uint64_t>(v)); }
  const BoundBuffer& bound(std::int32_t id) const { return buffers[static_cast<std::size_t>(id)]; }
  /// The first trip of a loop, and the end of its trips.
  std::pair<Value*, Value*> trips(const Inst& loop) const {
    if (&loop == part) return {part_from, part_to};
    return {operand(loop, 0), operand(loop, 1)};
  }
  /// An alloca in the entry block, so that it is allocated once even for code in a loop.
  llvm::AllocaInst* frame_slot(llvm::Type*, llvm::Align);
};

// lane_loop.cpp
/// Emits the instructions of [begin, end).
void emit_range(FunctionBuilder&, std::size_t begin, std::size_t end);
/// Emits the loop that begins at instruction `at`, with lanes if that was decided.
void emit_loop(FunctionBuilder&, std::size_t at);
/// The end of the trips from `lo` whose number is the largest multiple of `together`, a power of
/// two.
Value* end_of_whole(FunctionBuilder&, Value* lo, Value* hi, std::int64_t together);
/// 0, 1, ... below `count`, as i64.
llvm::Constant* numbers_up_to(FunctionBuilder&, unsigned count);
/// The values of all lanes.
Value* all_lanes(FunctionBuilder&, Reg);
/// The register, as a vector if `like` holds one.
Value* shaped(FunctionBuilder&, Reg, Reg like);

// types.cpp
llvm::Type* register_type(llvm::LLVMContext&, DType);  ///< bool: i1; f16, bf16, ...: an integer
llvm::Type* memory_type(llvm::LLVMContext&, DType);    ///< bool: i8
bool native_float(DType);                              ///< whether arithmetic is native: f32, f64
llvm::Constant* constant(llvm::LLVMContext&, DType, std::int64_t bits);

// emit.cpp
struct EmitOptions {
  /// Trips become lanes of vectors, and small loops that threads may share are also emitted in
  /// place.
  bool optimised = true;
  bool divides_all = false;  ///< see Compiler
};
/// Emits the function `status run(context, views, params)` of the program into the module.
void emit_program(const scalar::Program&, llvm::Module&, const Host&, const EmitOptions&,
                  const Linkage&);
void emit_instruction(FunctionBuilder&, const Inst&);
inline constexpr const char* run_in_parts_name = "run_in_parts";  ///< base/parts.h

// arithmetic.cpp
Value* arithmetic(FunctionBuilder&, const Inst&);

// convert.cpp
/// Casts a scalar, or a vector elementwise.
Value* convert(FunctionBuilder&, Value*, DType from, DType to);
Value* bit_cast(FunctionBuilder&, Value*, DType from, DType to);

// memory.cpp
/// Whether locals are allocated in the stack frame; else they are in the context's workspace.
bool locals_in_frame(const scalar::Program&);
void bind_buffers(FunctionBuilder&, Value* views);
// alias_scopes.cpp
/// Assigns alias scopes to the bound buffers: what passes may assume about their overlap.
void assign_alias_scopes(FunctionBuilder&);
// memory.cpp
/// The address of the element at `indices`, on the leading axes. Indices of the other axes are 0.
Value* address(FunctionBuilder&, const BoundBuffer&, std::span<const Reg> indices);
/// Attaches metadata to an access of a buffer: its alias scopes and its access groups.
void annotate(FunctionBuilder&, llvm::Instruction*, const BoundBuffer&);
Value* load_element(FunctionBuilder&, const BoundBuffer&, Value* at);
void store_element(FunctionBuilder&, const BoundBuffer&, Value* at, Value* value);
/// The adjacent elements of all lanes, or of those in the mask.
Value* load_elements(FunctionBuilder&, const BoundBuffer&, Value* at, Value* mask);
void store_elements(FunctionBuilder&, const BoundBuffer&, Value* at, Value* values, Value* mask);
void emit_load(FunctionBuilder&, const Inst&);
void emit_store(FunctionBuilder&, const Inst&);

// row_tile.cpp
/// Emits all loads, or all stores, of a tile.
void load_tile(FunctionBuilder&, const RowTile&);
void store_tile(FunctionBuilder&, const RowTile&);
/// Emits a loop in a lane loop whose trips are columns of tiles.
void emit_column_loop(FunctionBuilder&, std::size_t at, const ColumnLoop&);

// control.cpp
void begin_for(FunctionBuilder&, const Inst&);
/// The same for the trips lo, lo + step, ... below hi.
void begin_for(FunctionBuilder&, const Inst&, Value* lo, Value* hi, std::int64_t step);
void end_for(FunctionBuilder&, const Inst&);
void begin_if(FunctionBuilder&, const Inst&);
void begin_else(FunctionBuilder&, const Inst&);
void end_if(FunctionBuilder&, const Inst&);
void emit_check(FunctionBuilder&, const Inst&);
/// Emits a check of the stop flag. If the flag is set, the function returns `stopped`.
void emit_stop_check(FunctionBuilder&);
/// The end of the block of at most `block` steps that begins at `from` < `hi`.
Value* end_of_block(FunctionBuilder&, Value* from, Value* hi, std::int64_t block);
/// Branches on `condition`. `fail` emits the unlikely block for a false condition, which must not
/// fall through. The insertion point is then in a new block for a true condition.
void unless(FunctionBuilder&, Value* condition, const char* name, llvm::function_ref<void()> fail);

// loop_hints.cpp
/// Tells LLVM about the loop with this back edge and the first block of its body, which is the
/// newest code of the function: the access group of accesses that do not depend on each other
/// across trips, if there is one; and that a large body is not to be unrolled.
void hint_loop(llvm::Instruction* back_edge, llvm::BasicBlock* body,
               llvm::MDNode* parallel = nullptr, bool never_unroll = false);

// call.cpp
/// Emits, in the entry block, the arrays of extents and strides for the views that calls take.
void prepare_calls(FunctionBuilder&);
void emit_call(FunctionBuilder&, const Inst&);
std::string call_symbol(std::int32_t id);        ///< the symbol of the kernel function
std::string attributes_symbol(std::int32_t id);  ///< the symbol of the kernel's attributes

// contract.cpp
void emit_contract(FunctionBuilder&, const Inst&);

// division.cpp
/// Emits a loop or a product that threads share if its work is worth it. `trips`: into how many
/// parts it can be divided; null: into the trips of the loop. `emit` emits the trips from
/// `part_from` to `part_to`, or all of them if the function is not a part.
using EmitPart = llvm::function_ref<void(FunctionBuilder&)>;
void emit_divided(FunctionBuilder&, std::size_t at, const Part&, Value* trips, EmitPart);
/// The part that instruction `at` becomes; null: none.
const Part* part_at(const FunctionBuilder&, std::size_t at);
}  // namespace rondel::codegen
