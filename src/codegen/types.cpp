#include "codegen/function_builder.h"

namespace rondel::codegen {

bool native_float(DType t) { return t == DType::f32 || t == DType::f64; }

llvm::Type* memory_type(llvm::LLVMContext& llvm, DType t) {
  if (t == DType::f32) return llvm::Type::getFloatTy(llvm);
  if (t == DType::f64) return llvm::Type::getDoubleTy(llvm);
  return llvm::IntegerType::get(llvm, static_cast<unsigned>(8 * byte_size(t)));
}

llvm::Type* register_type(llvm::LLVMContext& llvm, DType t) {
  return t == DType::boolean ? llvm::Type::getInt1Ty(llvm) : memory_type(llvm, t);
}

llvm::Constant* constant(llvm::LLVMContext& llvm, DType t, std::int64_t bits) {
  llvm::Type* type = register_type(llvm, t);
  const auto raw = static_cast<std::uint64_t>(bits);
  if (t == DType::boolean) return llvm::ConstantInt::getBool(llvm, bits != 0);
  if (native_float(t)) {
    const llvm::APInt value = llvm::APInt(64, raw).trunc(type->getScalarSizeInBits());
    return llvm::ConstantFP::get(type, llvm::APFloat(type->getFltSemantics(), value));
  }
  return llvm::ConstantInt::get(type, llvm::APInt(64, raw).zextOrTrunc(type->getIntegerBitWidth()));
}

}  // namespace rondel::codegen
