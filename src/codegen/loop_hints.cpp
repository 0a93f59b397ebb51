// What LLVM is told about loops. No code.
#include "codegen/function_builder.h"

namespace rondel::codegen {
namespace {

/// A body of as many instructions as this is not unrolled. LLVM would seldom do so either, but
/// finding that out takes longer than all other passes over it.
constexpr std::size_t large_body = 150;

/// Whether the loop whose body begins with this block is large. Blocks are in the order in which
/// they were made, so that those behind it are of the same loop.
bool is_large(llvm::BasicBlock* body) {
  std::size_t count = 0;
  for (auto at = body->getIterator(); at != body->getParent()->end(); ++at) {
    count += at->size();
    if (count >= large_body) return true;
  }
  return false;
}

}  // namespace

void hint_loop(llvm::Instruction* back_edge, llvm::BasicBlock* body, llvm::MDNode* parallel,
               bool never_unroll) {
  llvm::LLVMContext& context = body->getContext();
  llvm::SmallVector<llvm::Metadata*, 3> hints{nullptr};
  if (parallel != nullptr) {
    llvm::Metadata* accesses[] = {llvm::MDString::get(context, "llvm.loop.parallel_accesses"),
                                  parallel};
    hints.push_back(llvm::MDNode::get(context, accesses));
  }
  if (never_unroll || is_large(body))
    hints.push_back(
        llvm::MDNode::get(context, llvm::MDString::get(context, "llvm.loop.unroll.disable")));
  if (hints.size() == 1) return;
  llvm::MDNode* id = llvm::MDNode::getDistinct(context, hints);
  id->replaceOperandWith(0, id);
  back_edge->setMetadata(llvm::LLVMContext::MD_loop, id);
}

}  // namespace rondel::codegen
