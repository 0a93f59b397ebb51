#include "codegen/function_builder.h"

#include "base/error.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <numeric>

namespace rondel::codegen {
namespace {

using llvm::Intrinsic::ID;

/// The operands and dtype of an arithmetic instruction.
struct Args {
  FunctionBuilder& fb;
  llvm::IRBuilder<>& build;
  DType type;
  Value *a, *b, *c;
  bool is_float() const { return native_float(type); }
  bool is_signed() const { return is_signed_integer(type); }
  llvm::Type* llvm_type() const { return a->getType(); }
  Value* number(std::int64_t n) const {
    return llvm::ConstantInt::get(llvm_type(), static_cast<std::uint64_t>(n), true);
  }
};

Value* add(const Args& x) {
  return x.is_float() ? x.build.CreateFAdd(x.a, x.b) : x.build.CreateAdd(x.a, x.b);
}
Value* sub(const Args& x) {
  return x.is_float() ? x.build.CreateFSub(x.a, x.b) : x.build.CreateSub(x.a, x.b);
}
Value* mul(const Args& x) {
  return x.is_float() ? x.build.CreateFMul(x.a, x.b) : x.build.CreateMul(x.a, x.b);
}
Value* neg(const Args& x) {
  return x.is_float() ? x.build.CreateFNeg(x.a) : x.build.CreateNeg(x.a);
}

/// `safe`: the divisor, replaced by 1 if it is 0 or -1, for which the processor's division may
/// trap. `zero`, `minus_one`: whether the divisor is 0 or -1.
struct Divisor {
  Value *safe, *zero, *minus_one;
};

Divisor divisor(const Args& x) {
  Divisor d;
  d.zero = x.build.CreateICmpEQ(x.b, x.number(0));
  d.minus_one = x.is_signed() ? x.build.CreateICmpEQ(x.b, x.number(-1))
                              : llvm::ConstantInt::getFalse(d.zero->getType());
  d.safe = x.build.CreateSelect(x.build.CreateOr(d.zero, d.minus_one), x.number(1), x.b);
  return d;
}

Value* div(const Args& x) {
  if (x.is_float()) return x.build.CreateFDiv(x.a, x.b);
  const Divisor d = divisor(x);
  Value* q = x.is_signed() ? x.build.CreateSDiv(x.a, d.safe) : x.build.CreateUDiv(x.a, d.safe);
  q = x.build.CreateSelect(d.minus_one, x.build.CreateNeg(x.a), q);
  return x.build.CreateSelect(d.zero, x.number(0), q);
}

Value* rem(const Args& x) {
  if (x.is_float()) return x.build.CreateFRem(x.a, x.b);
  const Divisor d = divisor(x);
  Value* r = x.is_signed() ? x.build.CreateSRem(x.a, d.safe) : x.build.CreateURem(x.a, d.safe);
  return x.build.CreateSelect(x.build.CreateOr(d.zero, d.minus_one), x.number(0), r);
}

Value* fma(const Args& x) {
  return x.build.CreateIntrinsic(llvm::Intrinsic::fma, {x.llvm_type()}, {x.a, x.b, x.c});
}

/// In two halves, so that each power is normal. Only the last product may be rounded.
Value* scale_in_halves(const Args& x) {
  const bool is_f32 = x.type == DType::f32;
  const unsigned mantissa = is_f32 ? 23 : 52;
  llvm::Type* bits = x.llvm_type()->getWithNewType(
      x.build.getIntNTy(x.llvm_type()->getScalarSizeInBits()));
  const auto number = [&](std::uint64_t k) { return llvm::ConstantInt::get(bits, k); };
  // Adding this rounds to an integer, and leaves it in the low bits; the others are shifted out.
  llvm::Constant* rounder = llvm::ConstantFP::get(x.llvm_type(), is_f32 ? 0x1.8p23 : 0x1.8p52);
  Value* n = x.build.CreateBitCast(x.build.CreateFAdd(x.b, rounder), bits);
  Value* all = x.build.CreateShl(n, mantissa);
  Value* half = x.build.CreateAnd(x.build.CreateShl(n, mantissa - 1),
                                  number(~std::uint64_t{0} << mantissa));
  const auto power_of_two = [&](Value* exponent) {
    Value* biased = x.build.CreateAdd(exponent, number((is_f32 ? 127ULL : 1023ULL) << mantissa));
    return x.build.CreateBitCast(biased, x.llvm_type());
  };
  Value* scaled = x.build.CreateFMul(x.a, power_of_two(half));
  return x.build.CreateFMul(scaled, power_of_two(x.build.CreateSub(all, half)));
}

/// `count` elements of a vector, from `first` on.
Value* part(const Args& x, Value* vector, unsigned first, unsigned count) {
  llvm::SmallVector<int, 16> lanes(count);
  std::iota(lanes.begin(), lanes.end(), static_cast<int>(first));
  return x.build.CreateShuffleVector(vector, lanes);
}

/// AVX-512's scalef, on 64 bytes at a time.
Value* scale_vectors(const Args& x, unsigned lanes) {
  const unsigned each = x.type == DType::f32 ? 16 : 8;
  const ID id = x.type == DType::f32 ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_512
                                     : llvm::Intrinsic::x86_avx512_mask_scalef_pd_512;
  constexpr unsigned current_rounding = 4;
  Value* result = llvm::PoisonValue::get(x.llvm_type());
  for (unsigned first = 0; first < lanes; first += each) {
    Value *a = part(x, x.a, first, each), *b = part(x, x.b, first, each);
    Value* mask = llvm::Constant::getAllOnesValue(x.build.getIntNTy(each));
    Value* y = x.build.CreateIntrinsic(id, {},
                                       {a, b, llvm::Constant::getNullValue(a->getType()), mask,
                                        x.build.getInt32(current_rounding)});
    if (lanes == each) return y;
    result = x.build.CreateInsertVector(x.llvm_type(), result, y, x.build.getInt64(first));
  }
  return result;
}

Value* scale(const Args& x) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x.llvm_type());
  const unsigned lanes = vector ? vector->getNumElements() : 1;
  const bool whole = lanes * byte_size(x.type) % 64 == 0;
  return x.fb.host.scales && whole ? scale_vectors(x, lanes) : scale_in_halves(x);
}

template <ID id> Value* unary_intrinsic(const Args& x) {
  return x.build.CreateUnaryIntrinsic(id, x.a);
}

Value* band(const Args& x) { return x.build.CreateAnd(x.a, x.b); }
Value* bor(const Args& x) { return x.build.CreateOr(x.a, x.b); }
Value* bxor(const Args& x) { return x.build.CreateXor(x.a, x.b); }
Value* bnot(const Args& x) { return x.build.CreateNot(x.a); }

/// Whether a shift count is below the bit width. Counts are unsigned.
Value* in_width(const Args& x) {
  return x.build.CreateICmpULT(x.b, x.number(x.llvm_type()->getScalarSizeInBits()));
}

Value* shl(const Args& x) {
  Value* in = in_width(x);
  Value* count = x.build.CreateSelect(in, x.b, x.number(0));
  return x.build.CreateSelect(in, x.build.CreateShl(x.a, count), x.number(0));
}

Value* shr(const Args& x) {
  Value* in = in_width(x);
  if (x.is_signed()) {
    Value* last = x.number(x.llvm_type()->getScalarSizeInBits() - 1);
    return x.build.CreateAShr(x.a, x.build.CreateSelect(in, x.b, last));
  }
  Value* count = x.build.CreateSelect(in, x.b, x.number(0));
  return x.build.CreateSelect(in, x.build.CreateLShr(x.a, count), x.number(0));
}

/// The real and the imaginary part of a complex number that is represented as an integer.
std::pair<Value*, Value*> parts(const Args& x, Value* bits) {
  const unsigned half = bits->getType()->getIntegerBitWidth() / 2;
  llvm::Type* integer = x.build.getIntNTy(half);
  llvm::Type* real = half == 32 ? x.build.getFloatTy() : x.build.getDoubleTy();
  Value* high = x.build.CreateLShr(bits, half);
  return {x.build.CreateBitCast(x.build.CreateTrunc(bits, integer), real),
          x.build.CreateBitCast(x.build.CreateTrunc(high, integer), real)};
}

Value* eq(const Args& x) {
  if (x.is_float()) return x.build.CreateFCmpOEQ(x.a, x.b);
  if (!is_complex(x.type)) return x.build.CreateICmpEQ(x.a, x.b);
  const auto [ar, ai] = parts(x, x.a);
  const auto [br, bi] = parts(x, x.b);
  return x.build.CreateAnd(x.build.CreateFCmpOEQ(ar, br), x.build.CreateFCmpOEQ(ai, bi));
}
Value* ne(const Args& x) {
  return x.is_float() ? x.build.CreateFCmpUNE(x.a, x.b) : x.build.CreateNot(eq(x));
}
Value* lt(const Args& x) {
  if (x.is_float()) return x.build.CreateFCmpOLT(x.a, x.b);
  return x.is_signed() ? x.build.CreateICmpSLT(x.a, x.b) : x.build.CreateICmpULT(x.a, x.b);
}
Value* le(const Args& x) {
  if (x.is_float()) return x.build.CreateFCmpOLE(x.a, x.b);
  return x.is_signed() ? x.build.CreateICmpSLE(x.a, x.b) : x.build.CreateICmpULE(x.a, x.b);
}
Value* select(const Args& x) { return x.build.CreateSelect(x.a, x.b, x.c); }

using Emitter = Value* (*)(const Args&);

Emitter emitter(Op op) {
  switch (op) {
    case Op::add: return add;
    case Op::sub: return sub;
    case Op::mul: return mul;
    case Op::div: return div;
    case Op::rem: return rem;
    case Op::neg: return neg;
    case Op::fma: return fma;
    case Op::sqrt: return unary_intrinsic<llvm::Intrinsic::sqrt>;
    case Op::floor: return unary_intrinsic<llvm::Intrinsic::floor>;
    case Op::ceil: return unary_intrinsic<llvm::Intrinsic::ceil>;
    case Op::trunc: return unary_intrinsic<llvm::Intrinsic::trunc>;
    case Op::round_even: return unary_intrinsic<llvm::Intrinsic::roundeven>;
    case Op::scale: return scale;
    case Op::band: return band;
    case Op::bor: return bor;
    case Op::bxor: return bxor;
    case Op::bnot: return bnot;
    case Op::shl: return shl;
    case Op::shr: return shr;
    case Op::eq: return eq;
    case Op::ne: return ne;
    case Op::lt: return lt;
    case Op::le: return le;
    case Op::select: return select;
    default: return nullptr;
  }
}

}  // namespace

Value* arithmetic(FunctionBuilder& fb, const Inst& inst) {
  const Emitter emit = emitter(inst.op);
  invariant(emit != nullptr, "codegen: {} is not arithmetic", scalar::name(inst.op));
  const std::span<const Reg> operands = fb.program.operands(inst);
  const auto operand = [&](std::size_t n) -> Value* {
    return n < operands.size() ? shaped(fb, operands[n], fb.program.results(inst)[0]) : nullptr;
  };
  return emit({fb, fb.build, inst.type, operand(0), operand(1), operand(2)});
}

}  // namespace rondel::codegen
