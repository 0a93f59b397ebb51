#include "codegen/function_builder.h"

#include <llvm/IR/MDBuilder.h>

#include <cstddef>

namespace rondel::codegen {
namespace {

/// Of more trips in straight code, LLVM finds no vectors.
constexpr std::int64_t most_unrolled_trips = 8;

/// Whether trips are independent, so that passes may reorder or vectorise them.
bool independent(const OpenLoop& loop) {
  return (loop.flags & scalar::parallel) && !(loop.flags & scalar::conditional) &&
         loop.carried.empty();
}

/// Whether LLVM should make vectors of a loop, whose last block is `latch`, rather than unroll it.
bool is_for_vectors(const OpenLoop& loop, const llvm::BasicBlock* latch) {
  const auto* lo = llvm::dyn_cast<llvm::ConstantInt>(loop.lo);
  const auto* hi = llvm::dyn_cast<llvm::ConstantInt>(loop.hi);
  const bool is_innermost = latch == loop.body;
  return is_innermost && loop.group != nullptr && lo != nullptr && hi != nullptr &&
         hi->getSExtValue() - lo->getSExtValue() > most_unrolled_trips;
}

llvm::PHINode* phi(FunctionBuilder& fb, llvm::Type* type, unsigned incoming) {
  return fb.build.CreatePHI(type, incoming);
}

/// Defines the final values and, for a conditional loop, the index after the last trip.
void define_finals(FunctionBuilder& fb, const Inst& inst, const OpenLoop& loop,
                   llvm::BasicBlock* latch, const std::vector<Value*>& nexts, Value* next_index) {
  for (std::size_t i = 0; i < nexts.size(); ++i) {
    llvm::PHINode* final = phi(fb, nexts[i]->getType(), 2);
    final->addIncoming(loop.inits[i], loop.before);
    final->addIncoming(nexts[i], latch);
    fb.define(inst, i, final);
  }
  if (!(loop.flags & scalar::conditional)) return;
  llvm::PHINode* stopped = phi(fb, next_index->getType(), 2);
  stopped->addIncoming(loop.lo, loop.before);
  stopped->addIncoming(next_index, latch);
  fb.define(inst, nexts.size(), stopped);
}

/// Masks the lanes that do not take a branch, beside those outside of `mask`; returns whether any
/// takes it.
Value* begin_lanes(FunctionBuilder& fb, Value* lanes, Value* mask) {
  fb.mask = mask ? fb.build.CreateAnd(lanes, mask) : lanes;
  return fb.build.CreateOrReduce(fb.mask);
}

/// The values of a branch that no lane takes. Zeros, not poison, which would spread to what the
/// branches of later ifs depend on.
Value* nothing(Value* like) { return llvm::Constant::getNullValue(like->getType()); }

/// Joins the lanes of the first branch, whether or not it was taken, and begins the second one if
/// any other lane takes it.
void take_else(FunctionBuilder& fb, OpenIf& branch) {
  for (Value*& yield : branch.then_yields) {
    llvm::PHINode* merged = phi(fb, yield->getType(), 2);
    merged->addIncoming(yield, branch.then_end);
    merged->addIncoming(nothing(yield), branch.before);
    yield = merged;
  }
  llvm::BasicBlock* body = fb.block("others");
  branch.then_end = fb.build.GetInsertBlock();
  fb.build.CreateCondBr(begin_lanes(fb, fb.build.CreateNot(branch.lanes), branch.outer_mask), body,
                        branch.after);
  fb.build.SetInsertPoint(body);
}

/// Opens the loop over blocks around the loop over trips.
void begin_block(FunctionBuilder& fb, OpenLoop& loop, llvm::BasicBlock* enter) {
  loop.block = fb.block("block");
  fb.build.CreateBr(loop.block);
  fb.build.SetInsertPoint(loop.block);
  loop.block_index = phi(fb, fb.build.getInt64Ty(), 2);
  loop.block_index->addIncoming(loop.lo, enter);
  for (Value* init : loop.inits) {
    loop.block_carried.push_back(phi(fb, init->getType(), 2));
    loop.block_carried.back()->addIncoming(init, enter);
  }
  loop.block_hi = end_of_block(fb, loop.block_index, loop.hi, loop.safepoint.block);
}

/// Ends a block of trips: the next one begins after a stop check, unless the loop is done. The
/// insertion point is in the basic block that is reached after the last trip of the block.
void end_block(FunctionBuilder& fb, const OpenLoop& loop, Value* more,
               const std::vector<Value*>& nexts, Value* next_index) {
  llvm::BasicBlock* again = fb.block("next_block");
  fb.build.CreateCondBr(more, again, loop.after);
  fb.build.SetInsertPoint(again);
  emit_stop_check(fb);
  llvm::BasicBlock* back = fb.build.GetInsertBlock();
  fb.build.CreateBr(loop.block);
  loop.block_index->addIncoming(next_index, back);
  for (std::size_t i = 0; i < nexts.size(); ++i) loop.block_carried[i]->addIncoming(nexts[i], back);
}

}  // namespace

// The load is volatile, so that the check is not hoisted out of its loop. With an ordering stronger
// than `unordered`, passes would assume that it writes memory.
void emit_stop_check(FunctionBuilder& fb) {
  llvm::LoadInst* flag = fb.build.CreateAlignedLoad(fb.build.getInt32Ty(), fb.stop, llvm::Align(4),
                                                    /*isVolatile=*/true, "stop");
  flag->setAtomic(llvm::AtomicOrdering::Unordered);
  flag->setMetadata(llvm::LLVMContext::MD_noalias, fb.all_scopes);
  unless(fb, fb.build.CreateIsNull(flag), "stopped", [&] {
    fb.build.CreateRet(fb.build.getInt32(static_cast<std::uint32_t>(scalar::stopped)));
  });
}

Value* end_of_block(FunctionBuilder& fb, Value* from, Value* hi, std::int64_t block) {
  Value* left = fb.build.CreateSub(hi, from);  // as unsigned: never overflows
  return fb.build.CreateSelect(fb.build.CreateICmpULE(left, fb.i64(block)), hi,
                               fb.build.CreateAdd(from, fb.i64(block)));
}

void unless(FunctionBuilder& fb, Value* condition, const char* name,
            llvm::function_ref<void()> fail) {
  llvm::BasicBlock* failed = fb.block(name);
  llvm::BasicBlock* fine = fb.block("fine");
  llvm::MDNode* rarely = llvm::MDBuilder(fb.llvm).createLikelyBranchWeights();
  fb.build.CreateCondBr(condition, fine, failed, rarely);
  fb.build.SetInsertPoint(failed);
  fail();
  fb.build.SetInsertPoint(fine);
}

void begin_for(FunctionBuilder& fb, const Inst& inst) {
  const auto [lo, hi] = fb.trips(inst);
  begin_for(fb, inst, lo, hi, 1);
}

void begin_for(FunctionBuilder& fb, const Inst& inst, Value* lo, Value* hi, std::int64_t step) {
  OpenLoop loop;
  loop.lo = lo;
  loop.hi = hi;
  loop.step = step;
  loop.flags = inst.flags;
  loop.safepoint = fb.safepoint(inst);
  loop.safepoint.block = (loop.safepoint.block + step - 1) / step * step;
  if (loop.safepoint.before) emit_stop_check(fb);
  for (std::size_t i = 2; i < inst.operand_count; ++i)
    loop.inits.push_back(shaped(fb, fb.program.operands(inst)[i], fb.program.results(inst)[i - 1]));
  loop.before = fb.build.GetInsertBlock();
  loop.body = fb.block("body");
  loop.after = fb.block("after");
  llvm::BasicBlock* enter = fb.block("enter");
  fb.build.CreateCondBr(fb.build.CreateICmpSLT(loop.lo, loop.hi), enter, loop.after);
  fb.build.SetInsertPoint(enter);
  const bool blocks = loop.safepoint.kind == Safepoint::Kind::blocks;
  if (blocks) begin_block(fb, loop, enter);
  llvm::BasicBlock* from = fb.build.GetInsertBlock();
  fb.build.CreateBr(loop.body);
  fb.build.SetInsertPoint(loop.body);
  loop.index = phi(fb, fb.build.getInt64Ty(), 2);
  loop.index->addIncoming(blocks ? loop.block_index : loop.lo, from);
  fb.define(inst, 0, loop.index);
  for (std::size_t i = 0; i < loop.inits.size(); ++i) {
    llvm::PHINode* carried = phi(fb, loop.inits[i]->getType(), 2);
    carried->addIncoming(blocks ? loop.block_carried[i] : loop.inits[i], from);
    loop.carried.push_back(carried);
    fb.define(inst, i + 1, carried);
  }
  if (independent(loop) && step == 1) loop.group = llvm::MDNode::getDistinct(fb.llvm, {});
  fb.loops.push_back(std::move(loop));
}

void end_for(FunctionBuilder& fb, const Inst& inst) {
  const OpenLoop loop = std::move(fb.loops.back());
  fb.loops.pop_back();
  const bool conditional = loop.flags & scalar::conditional;
  const Inst& begin = fb.program.code[static_cast<std::size_t>(inst.jump)];
  std::vector<Value*> nexts;
  for (std::size_t i = conditional ? 1 : 0; i < inst.operand_count; ++i)
    nexts.push_back(
        shaped(fb, fb.program.operands(inst)[i], fb.program.results(begin)[nexts.size() + 1]));
  Value* next_index = fb.build.CreateNSWAdd(loop.index, fb.i64(loop.step));
  const auto goes_on = [&](Value* hi) {
    Value* more = fb.build.CreateICmpSLT(next_index, hi);
    return conditional ? fb.build.CreateAnd(fb.operand(inst, 0), more) : more;
  };

  llvm::BasicBlock* latch = fb.build.GetInsertBlock();
  llvm::Instruction* back_edge = nullptr;
  if (loop.safepoint.kind == Safepoint::Kind::back_edge) {
    llvm::BasicBlock* again = fb.block("again");
    fb.build.CreateCondBr(goes_on(loop.hi), again, loop.after);
    fb.build.SetInsertPoint(again);
    emit_stop_check(fb);
    back_edge = fb.build.CreateBr(loop.body);
  } else {
    llvm::BasicBlock* out = loop.block ? fb.block("block_done") : loop.after;
    back_edge = fb.build.CreateCondBr(goes_on(loop.block ? loop.block_hi : loop.hi), loop.body,
                                      out);
  }
  hint_loop(back_edge, loop.body, loop.accesses_again ? nullptr : loop.group,
            is_for_vectors(loop, latch));
  llvm::BasicBlock* back = back_edge->getParent();
  loop.index->addIncoming(next_index, back);
  for (std::size_t i = 0; i < nexts.size(); ++i) loop.carried[i]->addIncoming(nexts[i], back);
  if (loop.block) {
    latch = back_edge->getSuccessor(1);
    fb.build.SetInsertPoint(latch);
    end_block(fb, loop, goes_on(loop.hi), nexts, next_index);
  }
  fb.build.SetInsertPoint(loop.after);
  define_finals(fb, inst, loop, latch, nexts, next_index);
}

void begin_if(FunctionBuilder& fb, const Inst& inst) {
  OpenIf branch;
  const Reg condition = fb.program.operands(inst)[0];
  llvm::BasicBlock* then = fb.block("then");
  branch.before = fb.build.GetInsertBlock();
  branch.after = fb.block("joined");
  const bool has_else = fb.program.code[static_cast<std::size_t>(inst.jump)].op == Op::else_;
  branch.otherwise = has_else ? fb.block("else") : branch.after;
  if (fb.varies(condition)) {
    branch.lanes = fb.reg(condition);
    branch.outer_mask = fb.mask;
    fb.build.CreateCondBr(begin_lanes(fb, branch.lanes, branch.outer_mask), then, branch.otherwise);
  } else {
    fb.build.CreateCondBr(fb.reg(condition), then, branch.otherwise);
  }
  fb.build.SetInsertPoint(then);
  fb.ifs.push_back(std::move(branch));
}

void begin_else(FunctionBuilder& fb, const Inst& inst) {
  OpenIf& branch = fb.ifs.back();
  const Inst& end = fb.program.code[static_cast<std::size_t>(inst.jump)];
  for (std::size_t i = 0; i < inst.operand_count; ++i)
    branch.then_yields.push_back(
        shaped(fb, fb.program.operands(inst)[i], fb.program.results(end)[i]));
  branch.then_end = fb.build.GetInsertBlock();
  fb.build.CreateBr(branch.lanes ? branch.otherwise : branch.after);
  fb.build.SetInsertPoint(branch.otherwise);
  if (branch.lanes) take_else(fb, branch);
}

void end_if(FunctionBuilder& fb, const Inst& inst) {
  const OpenIf branch = std::move(fb.ifs.back());
  fb.ifs.pop_back();
  std::vector<Value*> yields;
  for (std::size_t i = 0; i < inst.operand_count; ++i)
    yields.push_back(shaped(fb, fb.program.operands(inst)[i], fb.program.results(inst)[i]));
  llvm::BasicBlock* last = fb.build.GetInsertBlock();
  fb.build.CreateBr(branch.after);
  fb.build.SetInsertPoint(branch.after);
  for (std::size_t i = 0; i < inst.operand_count; ++i) {
    llvm::PHINode* merged = phi(fb, yields[i]->getType(), 2);
    merged->addIncoming(branch.lanes ? nothing(yields[i]) : branch.then_yields[i], branch.then_end);
    merged->addIncoming(yields[i], last);
    fb.define(inst, i, merged);
  }
  if (!branch.lanes) return;
  for (std::size_t i = 0; i < inst.operand_count; ++i)
    fb.define(inst, i,
              fb.build.CreateSelect(branch.lanes, branch.then_yields[i],
                                    fb.reg(fb.program.results(inst)[i])));
  fb.mask = branch.outer_mask;
}

void emit_check(FunctionBuilder& fb, const Inst& inst) {
  unless(fb, fb.operand(inst, 0), "failed", [&] {
    for (std::size_t i = 1; i < inst.operand_count; ++i) {
      const std::size_t offset = offsetof(scalar::Context, shown) + 8 * (i - 1);
      Value* at = fb.build.CreateConstInBoundsGEP1_64(fb.build.getInt8Ty(), fb.context, offset);
      fb.build.CreateAlignedStore(fb.operand(inst, i), at, llvm::Align(8));
    }
    fb.build.CreateRet(fb.build.getInt32(static_cast<std::uint32_t>(inst.id + 1)));
  });
}

}  // namespace rondel::codegen
