#include "codegen/function_builder.h"

#include <cstddef>

namespace rondel::codegen {
namespace {

/// The address of the stop flag, or of a zero if there is none. So each check needs no null test.
Value* stop_flag(FunctionBuilder& fb) {
  llvm::Type* word = fb.build.getInt32Ty();
  auto* never = new llvm::GlobalVariable(fb.module, word, false, llvm::GlobalValue::InternalLinkage,
                                         llvm::ConstantInt::get(word, 0), "never");
  static_assert(sizeof(std::atomic<std::int32_t>) == 4);
  Value* at = fb.build.CreateConstInBoundsGEP1_64(fb.build.getInt8Ty(), fb.context,
                                                  offsetof(scalar::Context, stop));
  Value* flag = fb.build.CreateAlignedLoad(fb.build.getPtrTy(), at, llvm::Align(8));
  return fb.build.CreateSelect(fb.build.CreateIsNull(flag), never, flag);
}

void load_params(FunctionBuilder& fb, Value* params) {
  for (std::int32_t i = 0; i < fb.program.param_count; ++i) {
    llvm::Type* word = fb.build.getInt64Ty();
    Value* at = fb.build.CreateConstInBoundsGEP1_64(word, params, static_cast<unsigned>(i));
    fb.params.push_back(fb.build.CreateAlignedLoad(word, at, llvm::Align(8), "param"));
  }
}

Decisions decide(const scalar::Program& p, const Host& host, const EmitOptions& options,
                 const Linkage& linkage) {
  Decisions d;
  d.safepoints = insert_safepoints(p);
  d.definitions = definitions_of(p);
  d.needed = needed_registers(p, d.definitions);
  if (options.optimised) d.lanes = plan_lanes(p, host);
  else d.lanes.variation.resize(p.reg_types.size());
  if (!linkage.by_argument)
    d.parts = plan_parts(p, {.in_place = options.optimised, .all = options.divides_all});
  return d;
}

void open_function(FunctionBuilder& fb) {
  llvm::Type* pointer = fb.build.getPtrTy();
  auto* type = llvm::FunctionType::get(fb.build.getInt32Ty(), {pointer, pointer, pointer, pointer},
                                       false);
  fb.function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, fb.linkage.entry,
                                       fb.module);
  // Kernels may throw; no other code unwinds.
  if (fb.program.calls.empty()) fb.function->setDoesNotThrow();
  else fb.function->setUWTableKind(llvm::UWTableKind::Async);
  for (unsigned i = 0; i < 3; ++i) {
    fb.function->addParamAttr(i, llvm::Attribute::NonNull);
    fb.function->addParamAttr(i, llvm::Attribute::NoUndef);
  }
  fb.function->removeParamAttr(1, llvm::Attribute::NonNull);
  fb.function->removeParamAttr(2, llvm::Attribute::NonNull);
  fb.links = fb.function->getArg(3);
  fb.build.SetInsertPoint(fb.block("entry"));
  fb.context = fb.function->getArg(0);
}

}  // namespace

void emit_instruction(FunctionBuilder& fb, const Inst& inst) {
  switch (inst.op) {
    case Op::constant: return fb.define(inst, 0, constant(fb.llvm, inst.type, inst.imm));
    case Op::param: return fb.define(inst, 0, fb.params[static_cast<std::size_t>(inst.id)]);
    case Op::extent:
      return fb.define(inst, 0, fb.bound(inst.id).extents[static_cast<std::size_t>(inst.imm)]);
    case Op::cast:
    case Op::bitcast: {
      Value* x = shaped(fb, fb.program.operands(inst)[0], fb.program.results(inst)[0]);
      const auto change = inst.op == Op::cast ? convert : bit_cast;
      return fb.define(inst, 0, change(fb, x, inst.from, inst.type));
    }
    case Op::load: return emit_load(fb, inst);
    case Op::store: return emit_store(fb, inst);
    case Op::for_: return begin_for(fb, inst);
    case Op::end_for: return end_for(fb, inst);
    case Op::if_: return begin_if(fb, inst);
    case Op::else_: return begin_else(fb, inst);
    case Op::end_if: return end_if(fb, inst);
    case Op::check: return emit_check(fb, inst);
    case Op::call: return emit_call(fb, inst);
    case Op::contract: return emit_contract(fb, inst);
    case Op::fresh: return;
    case Op::div:
    case Op::rem:
      if (!fb.decisions.needed[static_cast<std::size_t>(fb.program.results(inst)[0])]) return;
      [[fallthrough]];
    default: return fb.define(inst, 0, arithmetic(fb, inst));
  }
}

FunctionBuilder::FunctionBuilder(const scalar::Program& p, llvm::Module& m, const Host& h,
                                 const Decisions& d, Linkage symbols)
    : program(p), linkage(std::move(symbols)), module(m), host(h), llvm(m.getContext()),
      build(m.getContext()), decisions(d), regs(p.reg_types.size()) {}

llvm::AllocaInst* FunctionBuilder::frame_slot(llvm::Type* type, llvm::Align alignment) {
  llvm::BasicBlock& entry = function->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  llvm::AllocaInst* slot = at_entry.CreateAlloca(type);
  slot->setAlignment(alignment);
  return slot;
}

void emit_program(const scalar::Program& program, llvm::Module& module, const Host& host,
                  const EmitOptions& options, const Linkage& linkage) {
  const Decisions decisions = decide(program, host, options, linkage);
  FunctionBuilder fb(program, module, host, decisions, linkage);
  open_function(fb);
  load_params(fb, fb.function->getArg(2));
  bind_buffers(fb, fb.function->getArg(1));
  prepare_calls(fb);
  fb.stop = stop_flag(fb);
  emit_range(fb, 0, program.code.size());
  fb.build.CreateRet(fb.build.getInt32(static_cast<std::uint32_t>(scalar::done)));
}

}  // namespace rondel::codegen
