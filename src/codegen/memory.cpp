#include "codegen/function_builder.h"

#include "base/error.h"
#include "scalar/op_facts.h"

#include <llvm/IR/MDBuilder.h>

#include <cstddef>

namespace rondel::codegen {
namespace {

/// If the locals of a program take at most so many bytes together, they are in the stack frame.
constexpr std::size_t frame_limit = 16 * 1024;
constexpr std::uint64_t local_alignment = 64;

/// No extent is negative. That of an axis beside one without elements may be as large as 2^63 - 1.
llvm::MDNode* extent_range(FunctionBuilder& fb) {
  return llvm::MDBuilder(fb.llvm).createRange(llvm::APInt(64, 0),
                                              llvm::APInt::getSignedMinValue(64));
}

Value* load_word(FunctionBuilder& fb, llvm::Type* type, Value* base, std::size_t offset,
                 const char* name) {
  Value* at = fb.build.CreateConstInBoundsGEP1_64(fb.build.getInt8Ty(), base, offset);
  llvm::LoadInst* word = fb.build.CreateAlignedLoad(type, at, llvm::Align(8), name);
  word->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(fb.llvm, {}));
  return word;
}

/// Sets row-major strides: each stride is the product of the extents after it.
void contiguous_strides(FunctionBuilder& fb, BoundBuffer& b) {
  b.strides.resize(b.extents.size());
  Value* stride = fb.i64(1);
  for (std::size_t axis = b.extents.size(); axis-- > 0;) {
    b.strides[axis] = stride;
    if (axis > 0) stride = fb.build.CreateMul(stride, b.extents[axis]);
  }
}

void bind_extents(FunctionBuilder& fb, BoundBuffer& b) {
  for (std::size_t axis = 0; axis < b.buffer->extents.size(); ++axis) {
    const std::int64_t known = b.buffer->extents[axis];
    if (known >= 0) {
      b.extents.push_back(fb.i64(known));
      continue;
    }
    Value* extent = load_word(fb, fb.build.getInt64Ty(), b.extents_array, 8 * axis, "extent");
    llvm::cast<llvm::LoadInst>(extent)->setMetadata(llvm::LLVMContext::MD_range, extent_range(fb));
    b.extents.push_back(extent);
  }
}

void bind_strides(FunctionBuilder& fb, BoundBuffer& b) {
  if (b.buffer->contiguous) return contiguous_strides(fb, b);
  for (std::size_t axis = 0; axis < b.extents.size(); ++axis)
    b.strides.push_back(
        b.buffer->dense_rows && axis + 1 == b.extents.size()
            ? fb.i64(1)
            : load_word(fb, fb.build.getInt64Ty(), b.strides_array, 8 * axis, "stride"));
}

void bind_parameter(FunctionBuilder& fb, BoundBuffer& b, Value* views, std::size_t number) {
  const std::size_t view = number * sizeof(scalar::View);
  llvm::Type* pointer = fb.build.getPtrTy();
  const auto field = [&](std::size_t offset, const char* name) {
    return load_word(fb, pointer, views, view + offset, name);
  };
  b.data = field(offsetof(scalar::View, data), b.buffer->name.c_str());
  b.extents_array = field(offsetof(scalar::View, extents), "extents");
  if (!b.buffer->contiguous) b.strides_array = field(offsetof(scalar::View, strides), "strides");
  bind_extents(fb, b);
  bind_strides(fb, b);
}

std::uint64_t byte_count(const scalar::Buffer& b) {
  std::uint64_t bytes = byte_size(b.dtype);
  for (const std::int64_t extent : b.extents) bytes *= static_cast<std::uint64_t>(extent);
  return bytes;
}

/// Binds a local to `offset` in the workspace, or, if `workspace` is null, to the stack frame.
void bind_local(FunctionBuilder& fb, BoundBuffer& b, Value* workspace, std::uint64_t offset) {
  const std::uint64_t bytes = byte_count(*b.buffer);
  if (workspace)
    b.data = fb.build.CreateConstInBoundsGEP1_64(fb.build.getInt8Ty(), workspace, offset);
  else
    b.data = fb.frame_slot(llvm::ArrayType::get(fb.build.getInt8Ty(), bytes),
                           llvm::Align(local_alignment));
  bind_extents(fb, b);
  contiguous_strides(fb, b);
}

/// The access groups of the open parallel loops. Not for accesses of locals: trips may share a
/// local as scratch memory, so these accesses are not independent.
llvm::MDNode* access_groups(FunctionBuilder& fb) {
  std::vector<llvm::Metadata*> groups;
  for (const OpenLoop& loop : fb.loops)
    if (loop.group) groups.push_back(loop.group);
  if (groups.empty()) return nullptr;
  if (groups.size() == 1) return llvm::cast<llvm::MDNode>(groups[0]);
  return llvm::MDNode::get(fb.llvm, groups);
}

/// Notes in the open parallel loops that their trips access this buffer: once, or again and again
/// if a loop inside of them is not parallel.
void note_access(FunctionBuilder& fb, const BoundBuffer& b, bool is_store) {
  bool repeated = false;
  for (auto loop = fb.loops.rbegin(); loop != fb.loops.rend(); ++loop) {
    if (loop->group == nullptr) {
      repeated = true;
      continue;
    }
    if (loop->written.contains(b.family) || (is_store && repeated)) loop->accesses_again = true;
    if (is_store) loop->written.insert(b.family);
  }
}

}  // namespace

bool locals_in_frame(const scalar::Program& program) {
  return program.workspace_bytes() <= frame_limit;
}

void bind_buffers(FunctionBuilder& fb, Value* views) {
  const std::size_t parameters = fb.program.binding_count();
  Value* workspace = nullptr;
  if (!locals_in_frame(fb.program))
    workspace = load_word(fb, fb.build.getPtrTy(), fb.context, offsetof(scalar::Context, workspace),
                          "workspace");
  const std::vector<std::int64_t> offsets = scalar::local_offsets(fb.program);
  for (std::size_t i = 0; i < fb.program.buffers.size(); ++i) {
    BoundBuffer b;
    b.buffer = &fb.program.buffers[i];
    if (i < parameters) bind_parameter(fb, b, views, i);
    else bind_local(fb, b, workspace, static_cast<std::uint64_t>(offsets[i]));
    fb.buffers.push_back(std::move(b));
  }
  assign_alias_scopes(fb);
}

Value* address(FunctionBuilder& fb, const BoundBuffer& b, std::span<const Reg> indices) {
  Value* offset = nullptr;
  const auto id = static_cast<std::int32_t>(&b - fb.buffers.data());
  const auto is_there = [&](Reg r) {  // not in all parts
    return fb.reg(r) != nullptr || !fb.decisions.needed[static_cast<std::size_t>(r)];
  };
  for (const auto& [index, first, axis] :
       joined_indices(fb.program, fb.decisions.definitions, id, indices, is_there)) {
    invariant(fb.reg(index) != nullptr, "codegen: an index of {} is not at hand", b.buffer->name);
    Value* step = fb.build.CreateNSWMul(fb.reg(index), b.strides[axis]);
    offset = offset ? fb.build.CreateNSWAdd(offset, step) : step;
  }
  if (!offset) return b.data;
  return fb.build.CreateInBoundsGEP(memory_type(fb.llvm, b.buffer->dtype), b.data, offset);
}

void annotate(FunctionBuilder& fb, llvm::Instruction* access, const BoundBuffer& b) {
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, b.scope);
  access->setMetadata(llvm::LLVMContext::MD_noalias, b.others);
  if (b.constant && llvm::isa<llvm::LoadInst>(access))
    access->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(fb.llvm, {}));
  if (b.buffer->access == scalar::Access::local) return;
  note_access(fb, b, access->mayWriteToMemory());
  if (llvm::MDNode* groups = access_groups(fb))
    access->setMetadata(llvm::LLVMContext::MD_access_group, groups);
}

namespace {
llvm::Align element_alignment(DType t) {
  return llvm::Align(std::min<std::size_t>(byte_size(t), 8));
}
}  // namespace

Value* load_element(FunctionBuilder& fb, const BoundBuffer& b, Value* at) {
  const DType t = b.buffer->dtype;
  llvm::LoadInst* loaded = fb.build.CreateAlignedLoad(memory_type(fb.llvm, t), at,
                                                      element_alignment(t));
  annotate(fb, loaded, b);
  return t == DType::boolean ? fb.build.CreateIsNotNull(loaded) : loaded;
}

void store_element(FunctionBuilder& fb, const BoundBuffer& b, Value* at, Value* value) {
  const DType t = b.buffer->dtype;
  if (t == DType::boolean) value = fb.build.CreateZExt(value, fb.build.getInt8Ty());
  annotate(fb, fb.build.CreateAlignedStore(value, at, element_alignment(t)), b);
}

Value* load_elements(FunctionBuilder& fb, const BoundBuffer& b, Value* at, Value* mask) {
  const DType t = b.buffer->dtype;
  llvm::Type* type = llvm::FixedVectorType::get(memory_type(fb.llvm, t), fb.lane_count());
  llvm::Instruction* loaded = nullptr;
  if (mask)
    loaded = fb.build.CreateMaskedLoad(type, at, element_alignment(t), mask,
                                       llvm::Constant::getNullValue(type));
  else loaded = fb.build.CreateAlignedLoad(type, at, element_alignment(t));
  annotate(fb, loaded, b);
  return t == DType::boolean ? fb.build.CreateIsNotNull(loaded) : loaded;
}

void store_elements(FunctionBuilder& fb, const BoundBuffer& b, Value* at, Value* values,
                    Value* mask) {
  const DType t = b.buffer->dtype;
  if (t == DType::boolean)
    values = fb.build.CreateZExt(values, values->getType()->getWithNewType(fb.build.getInt8Ty()));
  llvm::Instruction* stored = nullptr;
  if (mask) stored = fb.build.CreateMaskedStore(values, at, element_alignment(t), mask);
  else stored = fb.build.CreateAlignedStore(values, at, element_alignment(t));
  annotate(fb, stored, b);
}

namespace {
/// Which lanes access the buffer; null: all. Lanes that are no trips have private arrays, too.
Value* mask_of(const FunctionBuilder& fb, std::int32_t buffer) {
  return fb.lanes->private_locals.contains(buffer) ? nullptr : fb.mask;
}

/// Whether the elements of all lanes, trips or not, are in the local array at a place that is
/// known. A lane that is no trip may read one that was never written: what it computes is not
/// stored.
bool is_in_local(const FunctionBuilder& fb, const Inst& inst, std::size_t indices) {
  const scalar::Buffer& b = *fb.bound(inst.id).buffer;
  if (b.access != scalar::Access::local || indices != 1) return false;
  const auto* first = llvm::dyn_cast<llvm::ConstantInt>(fb.operand(inst, 0));
  return first && first->getSExtValue() >= 0 &&
         first->getSExtValue() + fb.lanes->width <= b.extents[0];
}

/// Whether the access belongs to a tile of rows. One access of each tile emits them all.
bool is_in_tile(FunctionBuilder& fb, const Inst& inst, const std::map<std::size_t, RowTile>& tiles,
                void (*emit)(FunctionBuilder&, const RowTile&)) {
  const auto at = static_cast<std::size_t>(&inst - fb.program.code.data());
  const auto tile = tiles.find(at);
  if (tile != tiles.end()) emit(fb, tile->second);
  return tile != tiles.end() || fb.lanes->in_tiles.contains(at);
}
}  // namespace

void emit_load(FunctionBuilder& fb, const Inst& inst) {
  if (fb.lanes && is_in_tile(fb, inst, fb.lanes->loaded, load_tile)) return;
  const BoundBuffer& b = fb.bound(inst.id);
  Value* at = address(fb, b, fb.program.operands(inst));
  if (!fb.varies(fb.program.results(inst)[0])) return fb.define(inst, 0, load_element(fb, b, at));
  Value* mask = is_in_local(fb, inst, inst.operand_count) ? nullptr : mask_of(fb, inst.id);
  fb.define(inst, 0, load_elements(fb, b, at, mask));
}

void emit_store(FunctionBuilder& fb, const Inst& inst) {
  if (fb.lanes && is_in_tile(fb, inst, fb.lanes->stored, store_tile)) return;
  const BoundBuffer& b = fb.bound(inst.id);
  const std::span<const Reg> operands = fb.program.operands(inst);
  Value* at = address(fb, b, operands.first(operands.size() - 1));
  if (!fb.lanes) return store_element(fb, b, at, fb.reg(operands.back()));
  Value *values = all_lanes(fb, operands.back()), *mask = mask_of(fb, inst.id);
  if (mask && is_in_local(fb, inst, operands.size() - 1)) {
    // A masked store would keep the array in memory.
    values = fb.build.CreateSelect(mask, values, load_elements(fb, b, at, nullptr));
    mask = nullptr;
  }
  store_elements(fb, b, at, values, mask);
}

}  // namespace rondel::codegen
