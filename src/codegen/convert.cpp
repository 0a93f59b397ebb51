#include "codegen/function_builder.h"

#include "base/error.h"

#include <algorithm>
#include <cmath>

namespace rondel::codegen {
namespace {

/// The type `element`, or a vector of it if `x` is a vector.
llvm::Type* like(Value* x, llvm::Type* element) { return x->getType()->getWithNewType(element); }

Value* f16_to_f32(FunctionBuilder& fb, Value* bits) {
  llvm::IRBuilder<>& build = fb.build;
  Value* half = build.CreateBitCast(bits, like(bits, build.getHalfTy()));
  return build.CreateFPExt(half, like(bits, build.getFloatTy()));
}

Value* f32_to_f16(FunctionBuilder& fb, Value* x) {
  llvm::IRBuilder<>& build = fb.build;
  Value* half = build.CreateFPTrunc(x, like(x, build.getHalfTy()));
  return build.CreateBitCast(half, like(x, build.getInt16Ty()));
}

Value* bf16_to_f32(FunctionBuilder& fb, Value* bits) {
  llvm::IRBuilder<>& build = fb.build;
  Value* wide = build.CreateShl(build.CreateZExt(bits, like(bits, build.getInt32Ty())), 16);
  return build.CreateBitCast(wide, like(wide, build.getFloatTy()));
}

/// Rounds to nearest, ties to even, by adding just under half a unit of the last kept bit. A NaN
/// keeps its upper bits and becomes quiet, so that it does not round to an infinity.
Value* f32_to_bf16(FunctionBuilder& fb, Value* x) {
  llvm::IRBuilder<>& build = fb.build;
  Value* bits = build.CreateBitCast(x, like(x, build.getInt32Ty()));
  Value* high = build.CreateLShr(bits, 16);
  Value* odd = build.CreateAnd(high, 1);
  Value* bias = build.CreateAdd(odd, llvm::ConstantInt::get(odd->getType(), 0x7fff));
  Value* rounded = build.CreateLShr(build.CreateAdd(bits, bias), 16);
  Value* quiet = build.CreateOr(high, 0x40);
  Value* result = build.CreateSelect(build.CreateFCmpUNO(x, x), quiet, rounded);
  return build.CreateTrunc(result, like(x, build.getInt16Ty()));
}

/// The integers of a type as floats.
struct FloatLimits {
  double least, most;  ///< the least one; the greatest one, or the float before it
  bool exact;          ///< whether `most` is the greatest one
};
FloatLimits float_limits(DType to, bool from_f32) {
  const int bits = static_cast<int>(8 * byte_size(to)), digits = from_f32 ? 24 : 53;
  const int magnitude = is_signed_integer(to) ? bits - 1 : bits;
  const int spacing = std::max(magnitude - digits, 0);
  const double end = std::ldexp(1.0, magnitude);
  return {is_signed_integer(to) ? -end : 0, end - std::ldexp(1.0, spacing), spacing == 0};
}

/// Saturates, and gives 0 for NaN. Of LLVM's intrinsics that do, its vectoriser makes no vectors.
Value* float_to_integer(FunctionBuilder& fb, Value* x, DType to) {
  llvm::IRBuilder<>& build = fb.build;
  llvm::Type* type = like(x, register_type(fb.llvm, to));
  const auto real = [&](double v) { return llvm::ConstantFP::get(x->getType(), v); };
  const FloatLimits limits = float_limits(to, x->getType()->getScalarType()->isFloatTy());
  Value *least = real(limits.least), *most = real(limits.most);
  Value* not_less = build.CreateSelect(build.CreateFCmpOGT(x, least), x, least);  // NaN: the least
  Value* within = build.CreateSelect(build.CreateFCmpOLT(not_less, most), not_less, most);
  const bool narrow = byte_size(to) < 4;
  llvm::Type* converted = narrow ? like(x, build.getInt32Ty()) : type;
  Value* y = narrow || is_signed_integer(to) ? build.CreateFPToSI(within, converted)
                                             : build.CreateFPToUI(within, converted);
  if (narrow) y = build.CreateTrunc(y, type);
  if (!limits.exact) {
    const unsigned bits = type->getScalarSizeInBits();
    const llvm::APInt greatest = is_signed_integer(to) ? llvm::APInt::getSignedMaxValue(bits)
                                                       : llvm::APInt::getMaxValue(bits);
    y = build.CreateSelect(build.CreateFCmpOGT(x, most), llvm::ConstantInt::get(type, greatest), y);
  }
  if (limits.least < 0)
    y = build.CreateSelect(build.CreateFCmpUNO(x, x), llvm::Constant::getNullValue(type), y);
  return y;
}

Value* from_float(FunctionBuilder& fb, Value* x, DType from, DType to) {
  llvm::IRBuilder<>& build = fb.build;
  if (to == DType::boolean) return build.CreateFCmpUNE(x, llvm::ConstantFP::getZero(x->getType()));
  if (native_float(to)) return build.CreateFPCast(x, like(x, register_type(fb.llvm, to)));
  if (is_integer(to)) return float_to_integer(fb, x, to);
  invariant(from == DType::f32, "codegen: no cast of {} to {}", name(from), name(to));
  return to == DType::f16 ? f32_to_f16(fb, x) : f32_to_bf16(fb, x);
}

Value* from_integer(FunctionBuilder& fb, Value* x, DType from, DType to) {
  llvm::IRBuilder<>& build = fb.build;
  llvm::Type* type = like(x, register_type(fb.llvm, to));
  const bool with_sign = is_signed_integer(from);
  if (to == DType::boolean) return build.CreateIsNotNull(x);
  if (!native_float(to)) return build.CreateIntCast(x, type, with_sign);
  return with_sign ? build.CreateSIToFP(x, type) : build.CreateUIToFP(x, type);
}

}  // namespace

Value* convert(FunctionBuilder& fb, Value* x, DType from, DType to) {
  if (from == to) return x;
  if (from == DType::f16) return convert(fb, f16_to_f32(fb, x), DType::f32, to);
  if (from == DType::bf16) return convert(fb, bf16_to_f32(fb, x), DType::f32, to);
  return native_float(from) ? from_float(fb, x, from, to) : from_integer(fb, x, from, to);
}

Value* bit_cast(FunctionBuilder& fb, Value* x, DType from, DType to) {
  if (from == DType::boolean) x = fb.build.CreateZExt(x, like(x, fb.build.getInt8Ty()));
  if (to == DType::boolean) return fb.build.CreateIsNotNull(x);
  return fb.build.CreateBitCast(x, like(x, register_type(fb.llvm, to)));
}

}  // namespace rondel::codegen
