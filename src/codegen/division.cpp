// Loops and products as functions of their own, which threads run parts of.
#include "codegen/function_builder.h"

#include "base/parts.h"

#include <llvm/ADT/MapVector.h>

namespace rondel::codegen {
namespace {

constexpr std::uint64_t slot_bytes = 16;  ///< of the widest register

/// The values of `outer` that `inner` reads. The code around the part stores them in an array in
/// its stack frame; the part loads them in its entry block.
class Passed {
 public:
  Passed(FunctionBuilder& outer, FunctionBuilder& inner) : outer_(outer), inner_(inner) {}

  Value* in_part(Value* v) {
    if (v == nullptr || llvm::isa<llvm::Constant>(v)) return v;
    const auto [known, added] = loaded_.insert({v, nullptr});
    if (!added) return known->second;
    llvm::LoadInst* load = inner_.build.CreateAlignedLoad(
        v->getType(), slot(inner_, inner_.function->getArg(1), loaded_.size() - 1),
        llvm::Align(slot_bytes));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(inner_.llvm, {}));
    return loaded_[v] = load;
  }

  /// Stores the values; returns the address of the array.
  Value* store() {
    auto* type = llvm::ArrayType::get(outer_.build.getInt8Ty(), slot_bytes * loaded_.size());
    Value* array = outer_.frame_slot(type, llvm::Align(slot_bytes));
    std::size_t k = 0;
    for (const auto& [value, load] : loaded_)
      outer_.build.CreateAlignedStore(value, slot(outer_, array, k++), llvm::Align(slot_bytes));
    return array;
  }

 private:
  static Value* slot(FunctionBuilder& fb, Value* array, std::size_t k) {
    return fb.build.CreateConstInBoundsGEP1_64(fb.build.getInt8Ty(), array, slot_bytes * k);
  }

  FunctionBuilder& outer_;
  FunctionBuilder& inner_;
  llvm::MapVector<Value*, Value*> loaded_;
};

/// The instructions of the loop or the product at `at`.
std::span<const Inst> instructions(const FunctionBuilder& fb, std::size_t at) {
  const Inst& i = fb.program.code[at];
  const auto end = i.op == Op::for_ ? static_cast<std::size_t>(i.jump) : at;
  return std::span(fb.program.code).subspan(at, end - at + 1);
}

void pass_registers(const FunctionBuilder& outer, FunctionBuilder& inner, Passed& passed,
                    std::span<const Inst> code) {
  for (const Inst& i : code)
    for (const Reg r : outer.program.operands(i)) {
      const Inst* const defined = outer.decisions.definitions[static_cast<std::size_t>(r)];
      if (defined < &code.front() || defined > &code.back())
        inner.regs[static_cast<std::size_t>(r)] = passed.in_part(outer.reg(r));
    }
}

void pass_buffer(const FunctionBuilder& outer, FunctionBuilder& inner, Passed& passed,
                 std::int32_t id) {
  BoundBuffer& b = inner.buffers[static_cast<std::size_t>(id)];
  if (b.buffer != nullptr) return;
  b = outer.bound(id);
  b.data = passed.in_part(b.data);
  for (Value*& extent : b.extents) extent = passed.in_part(extent);
  for (Value*& stride : b.strides) stride = passed.in_part(stride);
  b.extents_array = passed.in_part(b.extents_array);
  b.strides_array = passed.in_part(b.strides_array);
}

void pass_buffers(const FunctionBuilder& outer, FunctionBuilder& inner, Passed& passed,
                  std::span<const Inst> code) {
  const auto pass = [&](std::int32_t id) {
    if (id >= 0) pass_buffer(outer, inner, passed, id);
  };
  for (const Inst& i : code) {
    if (i.op == Op::load || i.op == Op::store) pass(i.id);
    if (i.op == Op::contract) {
      const scalar::Contract& c = outer.program.contracts[static_cast<std::size_t>(i.id)];
      pass(c.a), pass(c.b), pass(c.c);
    }
    if (i.op == Op::call)
      for (const auto& view : outer.program.calls[static_cast<std::size_t>(i.id)].views)
        pass(view.buffer);
  }
}

void make_private(FunctionBuilder& inner, const Part& part) {
  for (const std::int32_t id : part.private_locals) {
    BoundBuffer& b = inner.buffers[static_cast<std::size_t>(id)];
    std::uint64_t bytes = byte_size(b.buffer->dtype);
    for (const std::int64_t extent : b.buffer->extents) bytes *= static_cast<std::uint64_t>(extent);
    b.data = inner.frame_slot(llvm::ArrayType::get(inner.build.getInt8Ty(), bytes),
                              llvm::Align(64));
  }
}

/// The function `status part(context, values, from, to)`, without code.
llvm::Function* new_function(FunctionBuilder& outer) {
  llvm::Type *pointer = outer.build.getPtrTy(), *word = outer.build.getInt64Ty();
  auto* type = llvm::FunctionType::get(outer.build.getInt32Ty(), {pointer, pointer, word, word},
                                       false);
  auto* function = llvm::Function::Create(type, llvm::Function::InternalLinkage, "part",
                                          outer.module);
  if (outer.function->doesNotThrow()) function->setDoesNotThrow();
  else function->setUWTableKind(llvm::UWTableKind::Async);
  function->addFnAttr(llvm::Attribute::NoInline);
  for (llvm::Argument& argument : function->args()) argument.addAttr(llvm::Attribute::NoUndef);
  for (unsigned i = 0; i < 2; ++i) function->addParamAttr(i, llvm::Attribute::NonNull);
  function->addParamAttr(1, llvm::Attribute::NoAlias);
  function->addParamAttr(1, llvm::Attribute::ReadOnly);
  return function;
}

/// A part as a function, and the values to call it with.
struct Outlined {
  llvm::Function* function;
  Value* values;
};

Outlined outline(FunctionBuilder& outer, std::size_t at, const Part& part, EmitPart emit) {
  FunctionBuilder inner(outer.program, outer.module, outer.host, outer.decisions, outer.linkage);
  inner.function = new_function(outer);
  inner.build.SetInsertPoint(inner.block("entry"));
  inner.context = inner.function->getArg(0);
  inner.part = &outer.program.code[at];
  inner.part_from = inner.function->getArg(2);
  inner.part_to = inner.function->getArg(3);
  inner.all_scopes = outer.all_scopes;
  inner.buffers.resize(outer.buffers.size());
  Passed passed(outer, inner);
  inner.stop = passed.in_part(outer.stop);
  const std::span<const Inst> code = instructions(outer, at);
  pass_registers(outer, inner, passed, code);
  pass_buffers(outer, inner, passed, code);
  make_private(inner, part);
  emit(inner);
  inner.build.CreateRet(inner.build.getInt32(static_cast<std::uint32_t>(scalar::done)));
  return {inner.function, passed.store()};
}

/// The work of instructions, as a number of which what is known at compile time is folded.
class Work {
 public:
  Work(FunctionBuilder& fb, std::size_t at) : fb_(fb), first_(&fb.program.code[at]) {}

  Value* of(std::span<const Inst> code) {
    double fixed = 0;
    Value* all = number(0.0);
    for (std::size_t k = 0; k < code.size(); ++k) {
      const Inst& i = code[k];
      if (i.op == Op::for_) {
        const auto body = static_cast<std::size_t>(
            &fb_.program.code[static_cast<std::size_t>(i.jump)] - &i);
        all = fb_.build.CreateFAdd(
            all, fb_.build.CreateFMul(trips(i), of(code.subspan(k + 1, body - 1))));
        k += body;
      } else if (i.op == Op::contract) {
        all = fb_.build.CreateFAdd(all, product(i));
      } else {
        fixed += work_of(i);
      }
    }
    return fb_.build.CreateFAdd(all, number(fixed));
  }

 private:
  Value* number(double x) { return llvm::ConstantFP::get(fb_.build.getDoubleTy(), x); }
  Value* number(Value* x) { return fb_.build.CreateSIToFP(x, fb_.build.getDoubleTy()); }
  bool defined_before(Reg r) const {
    return fb_.decisions.definitions[static_cast<std::size_t>(r)] < first_;
  }

  Value* trips(const Inst& loop) {
    const auto bounds = fb_.program.operands(loop);
    if (!defined_before(bounds[0]) || !defined_before(bounds[1])) return number(unknown_trips);
    const auto [lo, hi] = fb_.trips(loop);
    Value* some = fb_.build.CreateICmpSLT(lo, hi);
    return fb_.build.CreateSelect(some, fb_.build.CreateFSub(number(hi), number(lo)), number(0.0));
  }

  Value* product(const Inst& i) {
    const scalar::Contract& c = fb_.program.contracts[static_cast<std::size_t>(i.id)];
    Value* all = number(1 / products_per_unit);
    const auto times = [&](std::size_t size, Value* extent) {
      if (c.sized) {
        const Reg r = fb_.program.operands(i).last(3)[size];
        extent = defined_before(r) ? fb_.reg(r) : nullptr;
      }
      all = fb_.build.CreateFMul(all, extent ? number(extent) : number(unknown_trips));
    };
    const auto &a = fb_.bound(c.a).extents, &out = fb_.bound(c.c).extents;
    if (!c.a_vector) times(0, out[static_cast<std::size_t>(c.c_leading)]);
    if (!c.b_vector) times(1, out.back());
    times(2, a[scalar::depth_axis(c, a.size())]);
    return all;
  }

  FunctionBuilder& fb_;
  const Inst* first_;
};

Value* call_part(FunctionBuilder& fb, const Outlined& part, Value* lo, Value* hi) {
  return fb.build.CreateCall(part.function, {fb.context, part.values, lo, hi});
}

/// Calls `run_in_parts`.
Value* call_in_parts(FunctionBuilder& fb, const Outlined& part, Value* lo, Value* hi, Value* work,
                     std::int64_t together) {
  llvm::Type *pointer = fb.build.getPtrTy(), *word = fb.build.getInt64Ty();
  const llvm::FunctionCallee run = fb.module.getOrInsertFunction(
      run_in_parts_name,
      llvm::FunctionType::get(fb.build.getInt32Ty(),
                              {pointer, pointer, pointer, word, word, fb.build.getDoubleTy(), word},
                              /*isVarArg=*/false));
  return fb.build.CreateCall(
      run, {fb.context, part.function, part.values, lo, hi, work, fb.i64(together)});
}

/// How many trips of the loop take as long as one: the lanes of its vectors.
std::int64_t trips_at_once(const FunctionBuilder& fb, std::size_t at, const Part& part) {
  const auto lanes = fb.decisions.lanes.loops.find(at);
  return part.always || lanes == fb.decisions.lanes.loops.end() ? 1 : lanes->second.width;
}

void return_unless_done(FunctionBuilder& fb, Value* status) {
  unless(fb, fb.build.CreateIsNull(status), "ended", [&] { fb.build.CreateRet(status); });
}

}  // namespace

const Part* part_at(const FunctionBuilder& fb, std::size_t at) {
  if (fb.part != nullptr || fb.lanes != nullptr) return nullptr;
  const auto found = fb.decisions.parts.find(at);
  return found == fb.decisions.parts.end() ? nullptr : &found->second;
}

void emit_divided(FunctionBuilder& fb, std::size_t at, const Part& part, Value* trips,
                  EmitPart emit) {
  const Inst& inst = fb.program.code[at];
  const auto [lo, hi] = trips ? std::pair<Value*, Value*>(fb.i64(0), trips) : fb.trips(inst);
  Value* work = Work(fb, at).of(instructions(fb, at));
  if (part.always) work = llvm::ConstantFP::getInfinity(fb.build.getDoubleTy());
  Value* limit = llvm::ConstantFP::get(fb.build.getDoubleTy(), worth_dividing);
  const std::int64_t together = trips_at_once(fb, at, part);
  Value* several = fb.build.CreateICmpSGT(fb.build.CreateSub(hi, lo), fb.i64(together));
  Value* divides = fb.build.CreateAnd(fb.build.CreateFCmpOGT(work, limit), several);

  llvm::BasicBlock *shared = fb.block("shared"), *alone = fb.block("alone"),
                   *after = fb.block("after_parts");
  std::optional<Outlined> outlined;
  if (!part.in_place) outlined = outline(fb, at, part, emit);
  fb.build.CreateCondBr(divides, shared, alone);
  fb.build.SetInsertPoint(shared);
  if (!outlined) outlined = outline(fb, at, part, emit);
  return_unless_done(fb, call_in_parts(fb, *outlined, lo, hi, work, together));
  fb.build.CreateBr(after);
  fb.build.SetInsertPoint(alone);
  if (part.in_place) emit(fb);
  else return_unless_done(fb, call_part(fb, *outlined, lo, hi));
  fb.build.CreateBr(after);
  fb.build.SetInsertPoint(after);
}

}  // namespace rondel::codegen
