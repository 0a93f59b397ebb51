#include "codegen/code.h"

#include "base/error.h"

#include <llvm/IR/Intrinsics.h>

namespace rondel::codegen {
namespace {

/// `element`, or a vector of it when `x` is a vector.
llvm::Type* like(Value* x, llvm::Type* element) { return x->getType()->getWithNewType(element); }

Value* f16_to_f32(Code& code, Value* bits) {
  llvm::IRBuilder<>& build = code.build;
  Value* half = build.CreateBitCast(bits, like(bits, build.getHalfTy()));
  return build.CreateFPExt(half, like(bits, build.getFloatTy()));
}

Value* f32_to_f16(Code& code, Value* x) {
  llvm::IRBuilder<>& build = code.build;
  Value* half = build.CreateFPTrunc(x, like(x, build.getHalfTy()));
  return build.CreateBitCast(half, like(x, build.getInt16Ty()));
}

Value* bf16_to_f32(Code& code, Value* bits) {
  llvm::IRBuilder<>& build = code.build;
  Value* wide = build.CreateShl(build.CreateZExt(bits, like(bits, build.getInt32Ty())), 16);
  return build.CreateBitCast(wide, like(wide, build.getFloatTy()));
}

/// To nearest, ties to even, by adding just under half a unit of the last kept bit; a NaN keeps its
/// upper bits and becomes quiet, so that it does not round to an infinity.
Value* f32_to_bf16(Code& code, Value* x) {
  llvm::IRBuilder<>& build = code.build;
  Value* bits = build.CreateBitCast(x, like(x, build.getInt32Ty()));
  Value* high = build.CreateLShr(bits, 16);
  Value* odd = build.CreateAnd(high, 1);
  Value* bias = build.CreateAdd(odd, llvm::ConstantInt::get(odd->getType(), 0x7fff));
  Value* rounded = build.CreateLShr(build.CreateAdd(bits, bias), 16);
  Value* quiet = build.CreateOr(high, 0x40);
  Value* result = build.CreateSelect(build.CreateFCmpUNO(x, x), quiet, rounded);
  return build.CreateTrunc(result, like(x, build.getInt16Ty()));
}

Value* float_to_integer(Code& code, Value* x, DType to) {
  llvm::Type* type = like(x, register_type(code.llvm, to));
  const auto id = is_signed_integer(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  return code.build.CreateIntrinsic(id, {type, x->getType()}, {x});
}

Value* from_float(Code& code, Value* x, DType from, DType to) {
  llvm::IRBuilder<>& build = code.build;
  if (to == DType::boolean) return build.CreateFCmpUNE(x, llvm::ConstantFP::getZero(x->getType()));
  if (native_float(to)) return build.CreateFPCast(x, like(x, register_type(code.llvm, to)));
  if (is_integer(to)) return float_to_integer(code, x, to);
  invariant(from == DType::f32, "codegen: no cast of {} to {}", name(from), name(to));
  return to == DType::f16 ? f32_to_f16(code, x) : f32_to_bf16(code, x);
}

Value* from_integer(Code& code, Value* x, DType from, DType to) {
  llvm::IRBuilder<>& build = code.build;
  llvm::Type* type = like(x, register_type(code.llvm, to));
  const bool with_sign = is_signed_integer(from);
  if (to == DType::boolean) return build.CreateIsNotNull(x);
  if (!native_float(to)) return build.CreateIntCast(x, type, with_sign);
  return with_sign ? build.CreateSIToFP(x, type) : build.CreateUIToFP(x, type);
}

}  // namespace

Value* convert(Code& code, Value* x, DType from, DType to) {
  if (from == to) return x;
  if (from == DType::f16) return convert(code, f16_to_f32(code, x), DType::f32, to);
  if (from == DType::bf16) return convert(code, bf16_to_f32(code, x), DType::f32, to);
  return native_float(from) ? from_float(code, x, from, to) : from_integer(code, x, from, to);
}

Value* bit_cast(Code& code, const Inst& inst) {
  Value* x = code.operand(inst, 0);
  llvm::Type* to = register_type(code.llvm, inst.type);
  if (inst.from == DType::boolean) x = code.build.CreateZExt(x, code.build.getInt8Ty());
  return inst.type == DType::boolean ? code.build.CreateIsNotNull(x)
                                     : code.build.CreateBitCast(x, to);
}

}  // namespace rondel::codegen
