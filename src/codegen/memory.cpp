#include "codegen/code.h"

#include "scalar/op_facts.h"

#include <llvm/IR/MDBuilder.h>

#include <cstddef>

namespace rondel::codegen {
namespace {

/// Locals of a program that together take no more live in the function's frame.
constexpr std::size_t frame_limit = 16 * 1024;
constexpr std::uint64_t local_alignment = 64;

llvm::MDNode* extent_range(Code& code) {
  return llvm::MDBuilder(code.llvm).createRange(llvm::APInt(64, 0), llvm::APInt(64, 1ULL << 62));
}

Value* load_word(Code& code, llvm::Type* type, Value* base, std::size_t offset, const char* name) {
  Value* at = code.build.CreateConstInBoundsGEP1_64(code.build.getInt8Ty(), base, offset);
  llvm::LoadInst* word = code.build.CreateAlignedLoad(type, at, llvm::Align(8), name);
  word->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(code.llvm, {}));
  return word;
}

/// Row-major: each stride is the product of the extents after it.
void contiguous_strides(Code& code, BoundBuffer& b) {
  b.strides.resize(b.extents.size());
  Value* stride = code.i64(1);
  for (std::size_t axis = b.extents.size(); axis-- > 0;) {
    b.strides[axis] = stride;
    if (axis > 0) stride = code.build.CreateMul(stride, b.extents[axis]);
  }
}

void bind_extents(Code& code, BoundBuffer& b) {
  for (std::size_t axis = 0; axis < b.buffer->extents.size(); ++axis) {
    const std::int64_t known = b.buffer->extents[axis];
    if (known >= 0) {
      b.extents.push_back(code.i64(known));
      continue;
    }
    Value* extent = load_word(code, code.build.getInt64Ty(), b.extents_array, 8 * axis, "extent");
    llvm::cast<llvm::LoadInst>(extent)->setMetadata(llvm::LLVMContext::MD_range,
                                                    extent_range(code));
    b.extents.push_back(extent);
  }
}

void bind_strides(Code& code, BoundBuffer& b) {
  if (b.buffer->contiguous) return contiguous_strides(code, b);
  for (std::size_t axis = 0; axis < b.extents.size(); ++axis)
    b.strides.push_back(
        load_word(code, code.build.getInt64Ty(), b.strides_array, 8 * axis, "stride"));
}

void bind_parameter(Code& code, BoundBuffer& b, Value* views, std::size_t number) {
  const std::size_t view = number * sizeof(scalar::View);
  llvm::Type* pointer = code.build.getPtrTy();
  const auto field = [&](std::size_t offset, const char* name) {
    return load_word(code, pointer, views, view + offset, name);
  };
  b.data = field(offsetof(scalar::View, data), b.buffer->name.c_str());
  b.extents_array = field(offsetof(scalar::View, extents), "extents");
  if (!b.buffer->contiguous) b.strides_array = field(offsetof(scalar::View, strides), "strides");
  bind_extents(code, b);
  bind_strides(code, b);
}

std::uint64_t byte_count(const scalar::Buffer& b) {
  std::uint64_t bytes = byte_size(b.dtype);
  for (const std::int64_t extent : b.extents) bytes *= static_cast<std::uint64_t>(extent);
  return bytes;
}

/// `offset`: where the local begins when the workspace holds it; `workspace` null: the frame does.
void bind_local(Code& code, BoundBuffer& b, Value* workspace, std::uint64_t offset) {
  const std::uint64_t bytes = byte_count(*b.buffer);
  if (workspace)
    b.data = code.build.CreateConstInBoundsGEP1_64(code.build.getInt8Ty(), workspace, offset);
  else
    b.data = code.frame_slot(llvm::ArrayType::get(code.build.getInt8Ty(), bytes),
                             llvm::Align(local_alignment));
  bind_extents(code, b);
  contiguous_strides(code, b);
}

bool may_overlap(const Code& code, std::size_t i, std::size_t j) {
  const scalar::Buffer &a = *code.buffers[i].buffer, &b = *code.buffers[j].buffer;
  const auto names = [](const scalar::Buffer& buffer, std::size_t other) {
    return buffer.may_alias == static_cast<std::int32_t>(other);
  };
  const bool share = a.lifetime && b.lifetime && !a.lifetime->meets(*b.lifetime);
  return i == j || share || names(a, j) || names(b, i);
}

bool never_written(const Code& code, std::size_t i) {
  if (code.buffers[i].buffer->access != scalar::Access::in) return false;
  for (std::size_t j = 0; j < code.buffers.size(); ++j)
    if (j != i && may_overlap(code, i, j)) return false;
  return true;
}

/// One alias scope a buffer: what passes may take for granted about overlap.
void name_scopes(Code& code) {
  llvm::MDBuilder metadata(code.llvm);
  llvm::MDNode* domain = metadata.createAnonymousAliasScopeDomain();
  std::vector<llvm::Metadata*> scopes;
  for (std::size_t i = 0; i < code.buffers.size(); ++i)
    scopes.push_back(metadata.createAnonymousAliasScope(domain));
  for (std::size_t i = 0; i < code.buffers.size(); ++i) {
    std::vector<llvm::Metadata*> others;
    for (std::size_t j = 0; j < code.buffers.size(); ++j)
      if (!may_overlap(code, i, j)) others.push_back(scopes[j]);
    code.buffers[i].scope = llvm::MDNode::get(code.llvm, {scopes[i]});
    code.buffers[i].others = llvm::MDNode::get(code.llvm, others);
    code.buffers[i].constant = never_written(code, i);
  }
  code.all_scopes = llvm::MDNode::get(code.llvm, scopes);
}

/// The access groups of the open parallel loops. A local that trips share as scratch is not
/// independent from trip to trip, so accesses of locals carry none.
llvm::MDNode* access_groups(Code& code) {
  std::vector<llvm::Metadata*> groups;
  for (const OpenLoop& loop : code.loops)
    if (loop.group) groups.push_back(loop.group);
  if (groups.empty()) return nullptr;
  if (groups.size() == 1) return llvm::cast<llvm::MDNode>(groups[0]);
  return llvm::MDNode::get(code.llvm, groups);
}

std::vector<Value*> first_operands(Code& code, const Inst& inst, std::size_t count) {
  std::vector<Value*> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(code.operand(inst, i));
  return values;
}

}  // namespace

bool locals_in_frame(const scalar::Program& program) {
  return program.workspace_bytes() <= frame_limit;
}

void bind_buffers(Code& code, Value* views) {
  const std::size_t parameters = code.program.binding_count();
  Value* workspace = nullptr;
  if (!locals_in_frame(code.program))
    workspace = load_word(code, code.build.getPtrTy(), code.context,
                          offsetof(scalar::Context, workspace), "workspace");
  const std::vector<std::int64_t> offsets = scalar::local_offsets(code.program);
  for (std::size_t i = 0; i < code.program.buffers.size(); ++i) {
    BoundBuffer b;
    b.buffer = &code.program.buffers[i];
    if (i < parameters) bind_parameter(code, b, views, i);
    else bind_local(code, b, workspace, static_cast<std::uint64_t>(offsets[i]));
    code.buffers.push_back(std::move(b));
  }
  name_scopes(code);
}

Value* address(Code& code, const BoundBuffer& b, llvm::ArrayRef<Value*> indices) {
  Value* offset = nullptr;
  for (std::size_t axis = 0; axis < indices.size(); ++axis) {
    Value* step = code.build.CreateNSWMul(indices[axis], b.strides[axis]);
    offset = offset ? code.build.CreateNSWAdd(offset, step) : step;
  }
  if (!offset) return b.data;
  return code.build.CreateInBoundsGEP(memory_type(code.llvm, b.buffer->dtype), b.data, offset);
}

void annotate(Code& code, llvm::Instruction* access, const BoundBuffer& b) {
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, b.scope);
  access->setMetadata(llvm::LLVMContext::MD_noalias, b.others);
  if (b.constant && llvm::isa<llvm::LoadInst>(access))
    access->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(code.llvm, {}));
  if (b.buffer->access == scalar::Access::local) return;
  if (llvm::MDNode* groups = access_groups(code))
    access->setMetadata(llvm::LLVMContext::MD_access_group, groups);
}

namespace {
llvm::Align element_alignment(DType t) {
  return llvm::Align(std::min<std::size_t>(byte_size(t), 8));
}
}  // namespace

Value* load_element(Code& code, const BoundBuffer& b, Value* at) {
  const DType t = b.buffer->dtype;
  llvm::LoadInst* loaded = code.build.CreateAlignedLoad(memory_type(code.llvm, t), at,
                                                        element_alignment(t));
  annotate(code, loaded, b);
  return t == DType::boolean ? code.build.CreateIsNotNull(loaded) : loaded;
}

void store_element(Code& code, const BoundBuffer& b, Value* at, Value* value) {
  const DType t = b.buffer->dtype;
  if (t == DType::boolean) value = code.build.CreateZExt(value, code.build.getInt8Ty());
  annotate(code, code.build.CreateAlignedStore(value, at, element_alignment(t)), b);
}

void emit_load(Code& code, const Inst& inst) {
  const BoundBuffer& b = code.bound(inst.id);
  const auto indices = first_operands(code, inst, inst.operand_count);
  code.define(inst, 0, load_element(code, b, address(code, b, indices)));
}

void emit_store(Code& code, const Inst& inst) {
  const BoundBuffer& b = code.bound(inst.id);
  const auto indices = first_operands(code, inst, inst.operand_count - 1);
  store_element(code, b, address(code, b, indices), code.operand(inst, inst.operand_count - 1));
}

}  // namespace rondel::codegen
