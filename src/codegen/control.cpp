#include "codegen/code.h"

#include <llvm/IR/MDBuilder.h>

#include <cstddef>

namespace rondel::codegen {
namespace {

/// Whether trips may run in any order and side by side, so far as passes may use it.
bool independent(const OpenLoop& loop) {
  return (loop.flags & scalar::parallel) && !(loop.flags & scalar::conditional) &&
         loop.carried.empty();
}

/// Tells passes on the loop's back edge that the accesses of its group do not depend on one
/// another.
void mark_parallel(Code& code, llvm::Instruction* back_edge, const OpenLoop& loop) {
  if (!loop.group) return;
  llvm::Metadata* parts[] = {llvm::MDString::get(code.llvm, "llvm.loop.parallel_accesses"),
                             loop.group};
  llvm::MDNode* accesses = llvm::MDNode::get(code.llvm, parts);
  llvm::MDNode* id = llvm::MDNode::getDistinct(code.llvm, {nullptr, accesses});
  id->replaceOperandWith(0, id);
  back_edge->setMetadata(llvm::LLVMContext::MD_loop, id);
}

llvm::PHINode* phi(Code& code, llvm::Type* type, unsigned incoming) {
  return code.build.CreatePHI(type, incoming);
}

/// Defines the finals and, for a conditional loop, the index after the last trip.
void define_finals(Code& code, const Inst& inst, const OpenLoop& loop, llvm::BasicBlock* latch,
                   const std::vector<Value*>& nexts, Value* next_index) {
  for (std::size_t i = 0; i < nexts.size(); ++i) {
    llvm::PHINode* final = phi(code, nexts[i]->getType(), 2);
    final->addIncoming(loop.inits[i], loop.before);
    final->addIncoming(nexts[i], latch);
    code.define(inst, i, final);
  }
  if (!(loop.flags & scalar::conditional)) return;
  llvm::PHINode* stopped = phi(code, next_index->getType(), 2);
  stopped->addIncoming(loop.lo, loop.before);
  stopped->addIncoming(next_index, latch);
  code.define(inst, nexts.size(), stopped);
}

/// Opens the loop over blocks around the loop over trips.
void begin_block(Code& code, OpenLoop& loop, llvm::BasicBlock* enter) {
  loop.block = code.block("block");
  code.build.CreateBr(loop.block);
  code.build.SetInsertPoint(loop.block);
  loop.block_index = phi(code, code.build.getInt64Ty(), 2);
  loop.block_index->addIncoming(loop.lo, enter);
  for (Value* init : loop.inits) {
    loop.block_carried.push_back(phi(code, init->getType(), 2));
    loop.block_carried.back()->addIncoming(init, enter);
  }
  loop.block_hi = end_of_block(code, loop.block_index, loop.hi, loop.look.block);
}

/// Ends a block: on to the next after a look, unless the loop is done. The insertion point is in a
/// block of its own that only the trips' last one reaches.
void end_block(Code& code, const OpenLoop& loop, Value* more, const std::vector<Value*>& nexts,
               Value* next_index) {
  llvm::BasicBlock* again = code.block("next_block");
  code.build.CreateCondBr(more, again, loop.after);
  code.build.SetInsertPoint(again);
  look_at_stop(code);
  llvm::BasicBlock* back = code.build.GetInsertBlock();
  code.build.CreateBr(loop.block);
  loop.block_index->addIncoming(next_index, back);
  for (std::size_t i = 0; i < nexts.size(); ++i) loop.block_carried[i]->addIncoming(nexts[i], back);
}

}  // namespace

// Volatile keeps the look in its loop; an order above `unordered` would make passes believe that it
// writes memory.
void look_at_stop(Code& code) {
  llvm::LoadInst* flag = code.build.CreateAlignedLoad(code.build.getInt32Ty(), code.stop,
                                                      llvm::Align(4), /*isVolatile=*/true, "stop");
  flag->setAtomic(llvm::AtomicOrdering::Unordered);
  flag->setMetadata(llvm::LLVMContext::MD_noalias, code.all_scopes);
  unless(code, code.build.CreateIsNull(flag), "stopped", [&] {
    code.build.CreateRet(code.build.getInt32(static_cast<std::uint32_t>(scalar::stopped)));
  });
}

Value* end_of_block(Code& code, Value* from, Value* hi, std::int64_t block) {
  Value* left = code.build.CreateSub(hi, from);  // as unsigned: never overflows
  return code.build.CreateSelect(code.build.CreateICmpULE(left, code.i64(block)), hi,
                                 code.build.CreateAdd(from, code.i64(block)));
}

void unless(Code& code, Value* condition, const char* name, llvm::function_ref<void()> fail) {
  llvm::BasicBlock* failed = code.block(name);
  llvm::BasicBlock* fine = code.block("fine");
  llvm::MDNode* rarely = llvm::MDBuilder(code.llvm).createLikelyBranchWeights();
  code.build.CreateCondBr(condition, fine, failed, rarely);
  code.build.SetInsertPoint(failed);
  fail();
  code.build.SetInsertPoint(fine);
}

void begin_for(Code& code, const Inst& inst) {
  OpenLoop loop;
  loop.flags = inst.flags;
  loop.look = code.look(inst);
  if (loop.look.before) look_at_stop(code);
  loop.lo = code.operand(inst, 0);
  loop.hi = code.operand(inst, 1);
  for (std::size_t i = 2; i < inst.operand_count; ++i) loop.inits.push_back(code.operand(inst, i));
  loop.before = code.build.GetInsertBlock();
  loop.body = code.block("body");
  loop.after = code.block("after");
  llvm::BasicBlock* enter = code.block("enter");
  code.build.CreateCondBr(code.build.CreateICmpSLT(loop.lo, loop.hi), enter, loop.after);
  code.build.SetInsertPoint(enter);
  const bool blocks = loop.look.kind == Look::Kind::blocks;
  if (blocks) begin_block(code, loop, enter);
  llvm::BasicBlock* from = code.build.GetInsertBlock();
  code.build.CreateBr(loop.body);
  code.build.SetInsertPoint(loop.body);
  loop.index = phi(code, code.build.getInt64Ty(), 2);
  loop.index->addIncoming(blocks ? loop.block_index : loop.lo, from);
  code.define(inst, 0, loop.index);
  for (std::size_t i = 0; i < loop.inits.size(); ++i) {
    llvm::PHINode* carried = phi(code, loop.inits[i]->getType(), 2);
    carried->addIncoming(blocks ? loop.block_carried[i] : loop.inits[i], from);
    loop.carried.push_back(carried);
    code.define(inst, i + 1, carried);
  }
  if (independent(loop)) loop.group = llvm::MDNode::getDistinct(code.llvm, {});
  code.loops.push_back(std::move(loop));
}

void end_for(Code& code, const Inst& inst) {
  const OpenLoop loop = std::move(code.loops.back());
  code.loops.pop_back();
  const bool conditional = loop.flags & scalar::conditional;
  std::vector<Value*> nexts;
  for (std::size_t i = conditional ? 1 : 0; i < inst.operand_count; ++i)
    nexts.push_back(code.operand(inst, i));
  Value* next_index = code.build.CreateNSWAdd(loop.index, code.i64(1));
  const auto goes_on = [&](Value* hi) {
    Value* more = code.build.CreateICmpSLT(next_index, hi);
    return conditional ? code.build.CreateAnd(code.operand(inst, 0), more) : more;
  };

  llvm::BasicBlock* latch = code.build.GetInsertBlock();
  llvm::Instruction* back_edge = nullptr;
  if (loop.look.kind == Look::Kind::each) {
    llvm::BasicBlock* again = code.block("again");
    code.build.CreateCondBr(goes_on(loop.hi), again, loop.after);
    code.build.SetInsertPoint(again);
    look_at_stop(code);
    back_edge = code.build.CreateBr(loop.body);
  } else {
    llvm::BasicBlock* out = loop.block ? code.block("block_done") : loop.after;
    back_edge = code.build.CreateCondBr(goes_on(loop.block ? loop.block_hi : loop.hi), loop.body,
                                        out);
  }
  mark_parallel(code, back_edge, loop);
  llvm::BasicBlock* back = back_edge->getParent();
  loop.index->addIncoming(next_index, back);
  for (std::size_t i = 0; i < nexts.size(); ++i) loop.carried[i]->addIncoming(nexts[i], back);
  if (loop.block) {
    latch = back_edge->getSuccessor(1);
    code.build.SetInsertPoint(latch);
    end_block(code, loop, goes_on(loop.hi), nexts, next_index);
  }
  code.build.SetInsertPoint(loop.after);
  define_finals(code, inst, loop, latch, nexts, next_index);
}

void begin_if(Code& code, const Inst& inst) {
  OpenIf branch;
  llvm::BasicBlock* then = code.block("then");
  branch.after = code.block("joined");
  const bool has_else = code.program.code[static_cast<std::size_t>(inst.jump)].op == Op::else_;
  branch.otherwise = has_else ? code.block("else") : branch.after;
  code.build.CreateCondBr(code.operand(inst, 0), then, branch.otherwise);
  code.build.SetInsertPoint(then);
  code.ifs.push_back(std::move(branch));
}

void begin_else(Code& code, const Inst& inst) {
  OpenIf& branch = code.ifs.back();
  branch.then_end = code.build.GetInsertBlock();
  for (std::size_t i = 0; i < inst.operand_count; ++i)
    branch.then_yields.push_back(code.operand(inst, i));
  code.build.CreateBr(branch.after);
  code.build.SetInsertPoint(branch.otherwise);
}

void end_if(Code& code, const Inst& inst) {
  const OpenIf branch = std::move(code.ifs.back());
  code.ifs.pop_back();
  llvm::BasicBlock* last = code.build.GetInsertBlock();
  code.build.CreateBr(branch.after);
  code.build.SetInsertPoint(branch.after);
  for (std::size_t i = 0; i < inst.operand_count; ++i) {
    Value* yield = code.operand(inst, i);
    llvm::PHINode* merged = phi(code, yield->getType(), 2);
    merged->addIncoming(branch.then_yields[i], branch.then_end);
    merged->addIncoming(yield, last);
    code.define(inst, i, merged);
  }
}

void emit_check(Code& code, const Inst& inst) {
  unless(code, code.operand(inst, 0), "failed", [&] {
    for (std::size_t i = 1; i < inst.operand_count; ++i) {
      const std::size_t offset = offsetof(scalar::Context, shown) + 8 * (i - 1);
      Value* at = code.build.CreateConstInBoundsGEP1_64(code.build.getInt8Ty(), code.context,
                                                        offset);
      code.build.CreateAlignedStore(code.operand(inst, i), at, llvm::Align(8));
    }
    code.build.CreateRet(code.build.getInt32(static_cast<std::uint32_t>(inst.id + 1)));
  });
}

}  // namespace rondel::codegen
