#include "codegen/function_builder.h"

#include <fmt/format.h>

#include <cstddef>

namespace rondel::codegen {
namespace {

// The calling convention passes a span as two words: address and count.
using Views = std::span<const scalar::View>;
static_assert(std::is_trivially_copyable_v<Views> && sizeof(Views) == 2 * sizeof(void*));

Value* constant_words(FunctionBuilder& fb, const std::vector<Value*>& words) {
  std::vector<std::uint64_t> values;
  for (Value* word : words) values.push_back(llvm::cast<llvm::ConstantInt>(word)->getZExtValue());
  llvm::Constant* data = llvm::ConstantDataArray::get(fb.llvm, values);
  return new llvm::GlobalVariable(fb.module, data->getType(), true,
                                  llvm::GlobalValue::PrivateLinkage, data, "words");
}

/// The address of an array of `words`: a constant array if all of them are constants.
Value* words_in_memory(FunctionBuilder& fb, const std::vector<Value*>& words) {
  if (words.empty()) return llvm::ConstantPointerNull::get(fb.build.getPtrTy());
  if (llvm::all_of(words, [](Value* w) { return llvm::isa<llvm::ConstantInt>(w); }))
    return constant_words(fb, words);
  llvm::Type* word = fb.build.getInt64Ty();
  Value* array = fb.frame_slot(llvm::ArrayType::get(word, words.size()), llvm::Align(8));
  for (std::size_t i = 0; i < words.size(); ++i)
    fb.build.CreateStore(words[i], fb.build.CreateConstInBoundsGEP1_64(word, array, i));
  return array;
}

/// The address of element `leading` of `array`.
Value* tail(FunctionBuilder& fb, Value* array, std::int32_t leading) {
  return fb.build.CreateConstInBoundsGEP1_64(fb.build.getInt64Ty(), array,
                                             static_cast<std::uint64_t>(leading));
}

void store_field(FunctionBuilder& fb, Value* view, std::size_t offset, Value* field) {
  Value* at = fb.build.CreateConstInBoundsGEP1_64(fb.build.getInt8Ty(), view, offset);
  fb.build.CreateAlignedStore(field, at, llvm::Align(8));
}

void write_view(FunctionBuilder& fb, Value* view, const BoundBuffer& b,
                std::span<const Reg> leading) {
  const auto fixed = static_cast<std::int32_t>(leading.size());
  store_field(fb, view, offsetof(scalar::View, data), address(fb, b, leading));
  store_field(fb, view, offsetof(scalar::View, extents), tail(fb, b.extents_array, fixed));
  store_field(fb, view, offsetof(scalar::View, strides), tail(fb, b.strides_array, fixed));
}

/// Writes the view of an omitted operand.
void write_null_view(FunctionBuilder& fb, Value* view) {
  Value* null = llvm::ConstantPointerNull::get(fb.build.getPtrTy());
  for (const std::size_t offset : {offsetof(scalar::View, data), offsetof(scalar::View, extents),
                                   offsetof(scalar::View, strides)})
    store_field(fb, view, offset, null);
}

/// The address of `Context::shown[k]`.
Value* shown(FunctionBuilder& fb, std::size_t k) {
  return fb.build.CreateConstInBoundsGEP1_64(fb.build.getInt8Ty(), fb.context,
                                             offsetof(scalar::Context, shown) + 8 * k);
}

/// Inserts the operands from `first` on, the trips of the enclosing loops, before the values that
/// the kernel has stored in `Context::shown`.
void show_before(FunctionBuilder& fb, const Inst& inst, std::size_t first) {
  constexpr std::size_t most = std::tuple_size_v<decltype(scalar::Context::shown)>;
  const std::size_t count = inst.operand_count - first;
  llvm::Type* word = fb.build.getInt64Ty();
  for (std::size_t k = most; k-- > count;)
    fb.build.CreateAlignedStore(
        fb.build.CreateAlignedLoad(word, shown(fb, k - count), llvm::Align(8)), shown(fb, k),
        llvm::Align(8));
  for (std::size_t k = 0; k < count; ++k)
    fb.build.CreateAlignedStore(fb.operand(inst, first + k), shown(fb, k), llvm::Align(8));
}

/// Returns the status of a kernel that is not `done`, with its site converted to the program's
/// site.
void end_with(FunctionBuilder& fb, const Inst& inst, const scalar::Call& call, Value* status,
              std::size_t first_shown) {
  if (inst.operand_count == first_shown && call.first_site == 0) {
    fb.build.CreateRet(status);
    return;
  }
  Value* failed = fb.build.CreateICmpSGT(status, fb.build.getInt32(0));
  unless(fb, failed, "stopped", [&] { fb.build.CreateRet(status); });
  show_before(fb, inst, first_shown);
  fb.build.CreateRet(
      fb.build.CreateAdd(status, fb.build.getInt32(static_cast<std::uint32_t>(call.first_site))));
}

/// The address that is at this place of the function's links.
Value* link(FunctionBuilder& fb, std::int32_t place) {
  llvm::Type* pointer = fb.build.getPtrTy();
  Value* entry = fb.build.CreateConstInBoundsGEP1_64(pointer, fb.links,
                                                     static_cast<std::uint64_t>(place));
  return fb.build.CreateAlignedLoad(pointer, entry, llvm::Align(8));
}

Value* attributes(FunctionBuilder& fb, const scalar::Call& call, std::int32_t id) {
  if (!call.attributes) return llvm::ConstantPointerNull::get(fb.build.getPtrTy());
  if (fb.linkage.by_argument) return link(fb, 2 * id + 1);
  return fb.module.getOrInsertGlobal(attributes_symbol(id), fb.build.getInt8Ty());
}

}  // namespace

std::string call_symbol(std::int32_t id) { return fmt::format("kernel_{}", id); }
std::string attributes_symbol(std::int32_t id) { return fmt::format("attributes_{}", id); }

void prepare_calls(FunctionBuilder& fb) {
  for (const scalar::Call& call : fb.program.calls)
    for (const scalar::Call::Operand& operand : call.views) {
      if (operand.buffer < 0) continue;
      BoundBuffer& b = fb.buffers[static_cast<std::size_t>(operand.buffer)];
      if (!b.extents_array) b.extents_array = words_in_memory(fb, b.extents);
      if (!b.strides_array) b.strides_array = words_in_memory(fb, b.strides);
    }
}

void emit_call(FunctionBuilder& fb, const Inst& inst) {
  const scalar::Call& call = fb.program.calls[static_cast<std::size_t>(inst.id)];
  llvm::Type* bytes = llvm::ArrayType::get(fb.build.getInt8Ty(), sizeof(scalar::View));
  Value* views = fb.frame_slot(llvm::ArrayType::get(bytes, call.views.size()), llvm::Align(8));
  std::size_t next = 0;
  for (std::size_t i = 0; i < call.views.size(); ++i) {
    const auto fixed = static_cast<std::size_t>(call.views[i].leading);
    const std::span<const Reg> leading = fb.program.operands(inst).subspan(next, fixed);
    next += fixed;
    Value* view = fb.build.CreateConstInBoundsGEP1_64(bytes, views, i);
    if (call.views[i].buffer < 0) write_null_view(fb, view);
    else write_view(fb, view, fb.bound(call.views[i].buffer), leading);
  }
  llvm::Type* pointer = fb.build.getPtrTy();
  llvm::Type* parameters[] = {pointer, pointer, fb.build.getInt64Ty(), pointer};
  auto* type = llvm::FunctionType::get(fb.build.getInt32Ty(), parameters, /*isVarArg=*/false);
  const llvm::FunctionCallee kernel = fb.linkage.by_argument
                                          ? llvm::FunctionCallee(type, link(fb, 2 * inst.id))
                                          : fb.module.getOrInsertFunction(call_symbol(inst.id),
                                                                          type);
  Value* status = fb.build.CreateCall(
      kernel, {fb.context, views, fb.i64(static_cast<std::int64_t>(call.views.size())),
               attributes(fb, call, inst.id)});
  unless(fb, fb.build.CreateIsNull(status), "kernel_failed",
         [&] { end_with(fb, inst, call, status, next); });
}

}  // namespace rondel::codegen
