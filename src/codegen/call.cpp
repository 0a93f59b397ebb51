#include "codegen/code.h"

#include <fmt/format.h>

#include <cstddef>

namespace rondel::codegen {
namespace {

// A span travels as two words: address, then count.
using Views = std::span<const scalar::View>;
static_assert(std::is_trivially_copyable_v<Views> && sizeof(Views) == 2 * sizeof(void*));

Value* constant_words(Code& code, const std::vector<Value*>& words) {
  std::vector<std::uint64_t> values;
  for (Value* word : words) values.push_back(llvm::cast<llvm::ConstantInt>(word)->getZExtValue());
  llvm::Constant* data = llvm::ConstantDataArray::get(code.llvm, values);
  return new llvm::GlobalVariable(code.module, data->getType(), true,
                                  llvm::GlobalValue::PrivateLinkage, data, "words");
}

/// The address of an array holding `words`: a constant when they all are.
Value* words_in_memory(Code& code, const std::vector<Value*>& words) {
  if (words.empty()) return llvm::ConstantPointerNull::get(code.build.getPtrTy());
  if (llvm::all_of(words, [](Value* w) { return llvm::isa<llvm::ConstantInt>(w); }))
    return constant_words(code, words);
  llvm::Type* word = code.build.getInt64Ty();
  Value* array = code.frame_slot(llvm::ArrayType::get(word, words.size()), llvm::Align(8));
  for (std::size_t i = 0; i < words.size(); ++i)
    code.build.CreateStore(words[i], code.build.CreateConstInBoundsGEP1_64(word, array, i));
  return array;
}

/// `array` from its element `leading` on.
Value* tail(Code& code, Value* array, std::int32_t leading) {
  return code.build.CreateConstInBoundsGEP1_64(code.build.getInt64Ty(), array,
                                               static_cast<std::uint64_t>(leading));
}

void store_field(Code& code, Value* view, std::size_t offset, Value* field) {
  Value* at = code.build.CreateConstInBoundsGEP1_64(code.build.getInt8Ty(), view, offset);
  code.build.CreateAlignedStore(field, at, llvm::Align(8));
}

void write_view(Code& code, Value* view, const BoundBuffer& b, llvm::ArrayRef<Value*> leading) {
  const auto fixed = static_cast<std::int32_t>(leading.size());
  store_field(code, view, offsetof(scalar::View, data), address(code, b, leading));
  store_field(code, view, offsetof(scalar::View, extents), tail(code, b.extents_array, fixed));
  store_field(code, view, offsetof(scalar::View, strides), tail(code, b.strides_array, fixed));
}

/// That of an operand left out.
void write_null_view(Code& code, Value* view) {
  Value* null = llvm::ConstantPointerNull::get(code.build.getPtrTy());
  for (const std::size_t offset : {offsetof(scalar::View, data), offsetof(scalar::View, extents),
                                   offsetof(scalar::View, strides)})
    store_field(code, view, offset, null);
}

/// Address of element k of what the context shows.
Value* shown(Code& code, std::size_t k) {
  return code.build.CreateConstInBoundsGEP1_64(code.build.getInt8Ty(), code.context,
                                               offsetof(scalar::Context, shown) + 8 * k);
}

/// What the kernel shows makes room for the operands from `first` on, which stand around the call.
void show_before(Code& code, const Inst& inst, std::size_t first) {
  constexpr std::size_t most = std::tuple_size_v<decltype(scalar::Context::shown)>;
  const std::size_t count = inst.operand_count - first;
  llvm::Type* word = code.build.getInt64Ty();
  for (std::size_t k = most; k-- > count;)
    code.build.CreateAlignedStore(
        code.build.CreateAlignedLoad(word, shown(code, k - count), llvm::Align(8)), shown(code, k),
        llvm::Align(8));
  for (std::size_t k = 0; k < count; ++k)
    code.build.CreateAlignedStore(code.operand(inst, first + k), shown(code, k), llvm::Align(8));
}

/// Ends the program with what a kernel returned, which is not `done`: sites are the program's.
void end_with(Code& code, const Inst& inst, const scalar::Call& call, Value* status,
              std::size_t first_shown) {
  if (inst.operand_count == first_shown && call.first_site == 0) {
    code.build.CreateRet(status);
    return;
  }
  Value* failed = code.build.CreateICmpSGT(status, code.build.getInt32(0));
  unless(code, failed, "stopped", [&] { code.build.CreateRet(status); });
  show_before(code, inst, first_shown);
  code.build.CreateRet(code.build.CreateAdd(
      status, code.build.getInt32(static_cast<std::uint32_t>(call.first_site))));
}

Value* attributes(Code& code, const scalar::Call& call, std::int32_t id) {
  if (!call.attributes) return llvm::ConstantPointerNull::get(code.build.getPtrTy());
  return code.module.getOrInsertGlobal(attributes_symbol(id), code.build.getInt8Ty());
}

}  // namespace

std::string call_symbol(std::int32_t id) { return fmt::format("kernel_{}", id); }
std::string attributes_symbol(std::int32_t id) { return fmt::format("attributes_{}", id); }

void prepare_calls(Code& code) {
  for (const scalar::Call& call : code.program.calls)
    for (const scalar::Call::Operand& operand : call.views) {
      if (operand.buffer < 0) continue;
      BoundBuffer& b = code.buffers[static_cast<std::size_t>(operand.buffer)];
      if (!b.extents_array) b.extents_array = words_in_memory(code, b.extents);
      if (!b.strides_array) b.strides_array = words_in_memory(code, b.strides);
    }
}

void emit_call(Code& code, const Inst& inst) {
  const scalar::Call& call = code.program.calls[static_cast<std::size_t>(inst.id)];
  llvm::Type* bytes = llvm::ArrayType::get(code.build.getInt8Ty(), sizeof(scalar::View));
  Value* views = code.frame_slot(llvm::ArrayType::get(bytes, call.views.size()), llvm::Align(8));
  std::size_t next = 0;
  for (std::size_t i = 0; i < call.views.size(); ++i) {
    std::vector<Value*> leading;
    for (std::int32_t axis = 0; axis < call.views[i].leading; ++axis)
      leading.push_back(code.operand(inst, next++));
    Value* view = code.build.CreateConstInBoundsGEP1_64(bytes, views, i);
    if (call.views[i].buffer < 0) write_null_view(code, view);
    else write_view(code, view, code.bound(call.views[i].buffer), leading);
  }
  llvm::Type* pointer = code.build.getPtrTy();
  llvm::Type* parameters[] = {pointer, pointer, code.build.getInt64Ty(), pointer};
  const llvm::FunctionCallee kernel = code.module.getOrInsertFunction(
      call_symbol(inst.id),
      llvm::FunctionType::get(code.build.getInt32Ty(), parameters, /*isVarArg=*/false));
  Value* status = code.build.CreateCall(
      kernel, {code.context, views, code.i64(static_cast<std::int64_t>(call.views.size())),
               attributes(code, call, inst.id)});
  unless(code, code.build.CreateIsNull(status), "kernel_failed",
         [&] { end_with(code, inst, call, status, next); });
}

}  // namespace rondel::codegen
