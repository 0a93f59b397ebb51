#include "codegen/code.h"

#include <cstddef>

namespace rondel::codegen {
namespace {

/// Address of the stop flag, or of a zero when there is none: the null test is made once.
Value* stop_flag(Code& code) {
  llvm::Type* word = code.build.getInt32Ty();
  auto* never = new llvm::GlobalVariable(code.module, word, false,
                                         llvm::GlobalValue::InternalLinkage,
                                         llvm::ConstantInt::get(word, 0), "never");
  static_assert(sizeof(std::atomic<std::int32_t>) == 4);
  Value* at = code.build.CreateConstInBoundsGEP1_64(code.build.getInt8Ty(), code.context,
                                                    offsetof(scalar::Context, stop));
  Value* flag = code.build.CreateAlignedLoad(code.build.getPtrTy(), at, llvm::Align(8));
  return code.build.CreateSelect(code.build.CreateIsNull(flag), never, flag);
}

void load_params(Code& code, Value* params) {
  for (std::int32_t i = 0; i < code.program.param_count; ++i) {
    llvm::Type* word = code.build.getInt64Ty();
    Value* at = code.build.CreateConstInBoundsGEP1_64(word, params, static_cast<unsigned>(i));
    code.params.push_back(code.build.CreateAlignedLoad(word, at, llvm::Align(8), "param"));
  }
}

void open_function(Code& code) {
  llvm::Type* pointer = code.build.getPtrTy();
  auto* type = llvm::FunctionType::get(code.build.getInt32Ty(), {pointer, pointer, pointer}, false);
  code.function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, entry_name,
                                         code.module);
  // Kernels may throw; nothing else unwinds.
  if (code.program.calls.empty()) code.function->setDoesNotThrow();
  else code.function->setUWTableKind(llvm::UWTableKind::Async);
  for (unsigned i = 0; i < 3; ++i) {
    code.function->addParamAttr(i, llvm::Attribute::NonNull);
    code.function->addParamAttr(i, llvm::Attribute::NoUndef);
  }
  code.function->removeParamAttr(1, llvm::Attribute::NonNull);
  code.function->removeParamAttr(2, llvm::Attribute::NonNull);
  code.build.SetInsertPoint(code.block("entry"));
  code.context = code.function->getArg(0);
}

void emit(Code& code, const Inst& inst) {
  switch (inst.op) {
    case Op::constant: return code.define(inst, 0, constant(code.llvm, inst.type, inst.imm));
    case Op::param: return code.define(inst, 0, code.params[static_cast<std::size_t>(inst.id)]);
    case Op::extent:
      return code.define(inst, 0, code.bound(inst.id).extents[static_cast<std::size_t>(inst.imm)]);
    case Op::cast:
      return code.define(inst, 0, convert(code, code.operand(inst, 0), inst.from, inst.type));
    case Op::bitcast: return code.define(inst, 0, bit_cast(code, inst));
    case Op::load: return emit_load(code, inst);
    case Op::store: return emit_store(code, inst);
    case Op::for_: return begin_for(code, inst);
    case Op::end_for: return end_for(code, inst);
    case Op::if_: return begin_if(code, inst);
    case Op::else_: return begin_else(code, inst);
    case Op::end_if: return end_if(code, inst);
    case Op::check: return emit_check(code, inst);
    case Op::call: return emit_call(code, inst);
    case Op::contract: return emit_contract(code, inst);
    default: return code.define(inst, 0, arithmetic(code, inst));
  }
}

}  // namespace

Code::Code(const scalar::Program& p, llvm::Module& m, const Host& h)
    : program(p), module(m), host(h), llvm(m.getContext()), build(m.getContext()),
      looks(place_looks(p)), regs(p.reg_types.size()) {}

llvm::AllocaInst* Code::frame_slot(llvm::Type* type, llvm::Align alignment) {
  llvm::BasicBlock& entry = function->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  llvm::AllocaInst* slot = at_entry.CreateAlloca(type);
  slot->setAlignment(alignment);
  return slot;
}

void emit_program(const scalar::Program& program, llvm::Module& module, const Host& host) {
  Code code(program, module, host);
  open_function(code);
  load_params(code, code.function->getArg(2));
  bind_buffers(code, code.function->getArg(1));
  prepare_calls(code);
  code.stop = stop_flag(code);
  for (const Inst& inst : program.code) emit(code, inst);
  code.build.CreateRet(code.build.getInt32(static_cast<std::uint32_t>(scalar::done)));
}

}  // namespace rondel::codegen
