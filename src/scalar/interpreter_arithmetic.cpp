#include "base/error.h"
#include "base/float_formats.h"
#include "scalar/interpreter_frame.h"
#include "scalar/op_facts.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

namespace rondel::scalar {
namespace {

/// A bool in a register: 0 or 1.
using Truth = std::uint8_t;
using Text = const std::string*;

template <class T> constexpr bool integral = std::is_integral_v<T>;
template <class T> std::uint64_t wide(T x) { return static_cast<std::uint64_t>(x); }

struct Add {
  template <class T> static T apply(T a, T b) {
    if constexpr (integral<T>) return static_cast<T>(wide(a) + wide(b));
    else return a + b;
  }
};
struct Sub {
  template <class T> static T apply(T a, T b) {
    if constexpr (integral<T>) return static_cast<T>(wide(a) - wide(b));
    else return a - b;
  }
};
struct Mul {
  template <class T> static T apply(T a, T b) {
    if constexpr (integral<T>) return static_cast<T>(wide(a) * wide(b));
    else return a * b;
  }
};
struct Div {
  template <class T> static T apply(T a, T b) {
    if constexpr (!integral<T>) return a / b;
    else if (b == 0) return T(0);
    else if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(0 - wide(a));
    else return static_cast<T>(a / b);
  }
};
struct Rem {
  template <class T> static T apply(T a, T b) {
    if constexpr (!integral<T>) return std::fmod(a, b);
    else if (b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1))) return T(0);
    else return static_cast<T>(a % b);
  }
};
struct And {
  template <class T> static T apply(T a, T b) { return static_cast<T>(a & b); }
};
struct Or {
  template <class T> static T apply(T a, T b) { return static_cast<T>(a | b); }
};
struct Xor {
  template <class T> static T apply(T a, T b) { return static_cast<T>(a ^ b); }
};

/// Shift counts are read as unsigned.
template <class T> bool shifts_out(T count) {
  return static_cast<std::make_unsigned_t<T>>(count) >= sizeof(T) * 8;
}
struct Shl {
  template <class T> static T apply(T a, T b) {
    return shifts_out(b) ? T(0) : static_cast<T>(wide(a) << wide(b));
  }
};
struct Shr {
  template <class T> static T apply(T a, T b) {
    if (shifts_out(b)) return static_cast<T>(std::is_signed_v<T> && a < 0 ? -1 : 0);
    return static_cast<T>(a >> b);
  }
};
struct Eq {
  template <class T> static Truth apply(T a, T b) {
    if constexpr (std::is_same_v<T, Text>) return *a == *b;
    else return a == b;
  }
};
struct Ne {
  template <class T> static Truth apply(T a, T b) { return !Eq::apply(a, b); }
};
struct Lt {
  template <class T> static Truth apply(T a, T b) { return a < b; }
};
struct Le {
  template <class T> static Truth apply(T a, T b) { return a <= b; }
};

struct Neg {
  template <class T> static T apply(T a) {
    if constexpr (integral<T>) return static_cast<T>(0 - wide(a));
    else return -a;
  }
};
struct Sqrt {
  template <class T> static T apply(T a) { return std::sqrt(a); }
};
struct Floor {
  template <class T> static T apply(T a) { return std::floor(a); }
};
struct Ceil {
  template <class T> static T apply(T a) { return std::ceil(a); }
};
struct Trunc {
  template <class T> static T apply(T a) { return std::trunc(a); }
};
struct RoundEven {
  template <class T> static T apply(T a) { return std::nearbyint(a); }
};
struct Scale {
  template <class T> static T apply(T a, T b) {
    constexpr T enough = 5000;  // more than twice the exponents of any type
    if (a != a || b != b) return a + b;
    return std::ldexp(a, static_cast<int>(std::clamp(b, -enough, enough)));
  }
};
struct Not {
  template <class T> static T apply(T a) { return static_cast<T>(~a); }
};

template <class F, class T> const Step* run_unary(Frame& f, const Step& s) {
  set(f, s.out, F::apply(get<T>(f, s.a)));
  return &s + 1;
}
template <class F, class T> const Step* run_binary(Frame& f, const Step& s) {
  set(f, s.out, F::apply(get<T>(f, s.a), get<T>(f, s.b)));
  return &s + 1;
}
template <class T> const Step* run_fma(Frame& f, const Step& s) {
  set(f, s.out, std::fma(get<T>(f, s.a), get<T>(f, s.b), get<T>(f, s.c)));
  return &s + 1;
}
const Step* run_not(Frame& f, const Step& s) {
  set<Truth>(f, s.out, get<Truth>(f, s.a) ^ 1);
  return &s + 1;
}
const Step* run_select(Frame& f, const Step& s) {
  std::memcpy(f.slots + s.out, f.slots + (get<Truth>(f, s.a) ? s.b : s.c), slot_size);
  return &s + 1;
}
const Step* run_bitcast(Frame& f, const Step& s) {
  std::memcpy(f.slots + s.out, f.slots + s.a, slot_size);
  return &s + 1;
}

/// Calls `f` with a null pointer to the C++ type of `t`; null if `t` is neither f32, f64 (if
/// `floats`) nor an integer of at least 8 bits (if `integers`).
template <class F> Handler for_type(DType t, bool floats, bool integers, F f) {
  if (floats) {
    if (t == DType::f64) return f.template operator()<double>();
    if (t == DType::f32) return f.template operator()<float>();
  }
  if (!integers) return nullptr;
  switch (t) {
    case DType::i64: return f.template operator()<std::int64_t>();
    case DType::i32: return f.template operator()<std::int32_t>();
    case DType::i16: return f.template operator()<std::int16_t>();
    case DType::i8: return f.template operator()<std::int8_t>();
    case DType::u64: return f.template operator()<std::uint64_t>();
    case DType::u32: return f.template operator()<std::uint32_t>();
    case DType::u16: return f.template operator()<std::uint16_t>();
    case DType::u8: return f.template operator()<std::uint8_t>();
    default: return nullptr;
  }
}

template <class F> Handler number_binary(DType t) {
  return for_type(t, true, true, []<class T>() -> Handler { return run_binary<F, T>; });
}
template <class F> Handler integer_binary(DType t) {
  if (t == DType::boolean) t = DType::u8;
  return for_type(t, false, true, []<class T>() -> Handler {
    if constexpr (integral<T>) return run_binary<F, T>;
    else return nullptr;
  });
}
template <class F> Handler float_unary(DType t) {
  return for_type(t, true, false, []<class T>() -> Handler {
    if constexpr (!integral<T>) return run_unary<F, T>;
    else return nullptr;
  });
}
Handler scale_handler(DType t) {
  return t == DType::f64 ? run_binary<Scale, double> : run_binary<Scale, float>;
}
template <class F> Handler equality(DType t) {
  switch (t) {
    case DType::boolean: return run_binary<F, Truth>;
    case DType::string: return run_binary<F, Text>;
    case DType::c64: return run_binary<F, std::complex<float>>;
    case DType::c128: return run_binary<F, std::complex<double>>;
    default: return number_binary<F>(t);
  }
}

// ------------------------------------------------------------------ casts

struct F16 {
  std::uint16_t code;
};
struct BF16 {
  std::uint16_t code;
};
struct Bool {
  Truth value;
};

template <class To, class From> To to_integer(From x) {
  if constexpr (integral<From>) {
    return static_cast<To>(x);
  } else {
    const From limit = std::ldexp(From(1), std::numeric_limits<To>::digits);
    if (x != x) return To(0);
    if (x >= limit) return std::numeric_limits<To>::max();
    if (std::is_signed_v<To> ? x < -limit : x <= From(-1)) return std::numeric_limits<To>::min();
    return static_cast<To>(x);
  }
}

template <class To, class From> To convert(From x) {
  if constexpr (std::is_same_v<From, Bool>) return convert<To>(x.value);
  else if constexpr (std::is_same_v<From, F16>) return f16_to_f32(x.code);
  else if constexpr (std::is_same_v<From, BF16>) return bf16_to_f32(x.code);
  else if constexpr (std::is_same_v<To, Bool>) return Bool{x != From(0)};
  else if constexpr (std::is_same_v<To, F16>) return F16{f32_to_f16(x)};
  else if constexpr (std::is_same_v<To, BF16>) return BF16{f32_to_bf16(x)};
  else if constexpr (integral<To>) return to_integer<To>(x);
  else return static_cast<To>(x);
}

template <class To, class From> const Step* run_cast(Frame& f, const Step& s) {
  set(f, s.out, convert<To>(get<From>(f, s.a)));
  return &s + 1;
}

template <class From> Handler cast_from(DType to) {
  if (to == DType::boolean) return run_cast<Bool, From>;
  return for_type(to, true, true, []<class To>() -> Handler { return run_cast<To, From>; });
}

}  // namespace

Handler cast_handler(DType from, DType to) {
  if (from == DType::f16) return run_cast<float, F16>;
  if (from == DType::bf16) return run_cast<float, BF16>;
  if (to == DType::f16) return run_cast<F16, float>;
  if (to == DType::bf16) return run_cast<BF16, float>;
  if (from == DType::boolean) return cast_from<Bool>(to);
  return for_type(from, true, true, [to]<class From>() { return cast_from<From>(to); });
}

Handler arithmetic_handler(const Inst& i) {
  const DType t = i.type;
  switch (i.op) {
    case Op::add: return number_binary<Add>(t);
    case Op::sub: return number_binary<Sub>(t);
    case Op::mul: return number_binary<Mul>(t);
    case Op::div: return number_binary<Div>(t);
    case Op::rem: return number_binary<Rem>(t);
    case Op::lt: return number_binary<Lt>(t);
    case Op::le: return number_binary<Le>(t);
    case Op::eq: return equality<Eq>(t);
    case Op::ne: return equality<Ne>(t);
    case Op::band: return integer_binary<And>(t);
    case Op::bor: return integer_binary<Or>(t);
    case Op::bxor: return integer_binary<Xor>(t);
    case Op::shl: return integer_binary<Shl>(t);
    case Op::shr: return integer_binary<Shr>(t);
    case Op::sqrt: return float_unary<Sqrt>(t);
    case Op::floor: return float_unary<Floor>(t);
    case Op::ceil: return float_unary<Ceil>(t);
    case Op::trunc: return float_unary<Trunc>(t);
    case Op::round_even: return float_unary<RoundEven>(t);
    case Op::neg:
      return for_type(t, true, true, []<class T>() -> Handler { return run_unary<Neg, T>; });
    case Op::bnot:
      if (t == DType::boolean) return run_not;
      return for_type(t, false, true, []<class T>() -> Handler {
        if constexpr (integral<T>) return run_unary<Not, T>;
        else return nullptr;
      });
    case Op::fma: return t == DType::f64 ? run_fma<double> : run_fma<float>;
    case Op::scale: return scale_handler(t);
    case Op::select: return run_select;
    case Op::cast: return cast_handler(i.from, t);
    case Op::bitcast: return run_bitcast;
    default: return nullptr;
  }
}

}  // namespace rondel::scalar
