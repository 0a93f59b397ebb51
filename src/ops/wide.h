#pragma once
#include "ops/meaning.h"

namespace rondel::ops {

/// x converted to the type that its arithmetic uses: f32 for floats narrower than f32, else its own
/// type.
inline Ex widened(Ex x) {
  const DType t = scalar::compute_type(x.type());
  return t == x.type() ? x : cast(t, x);
}
inline Ex narrowed(DType t, Ex x) { return t == x.type() ? x : cast(t, x); }

/// A formula of several steps on the elements of one op. Narrow floats are widened first, and the
/// result is rounded once, at the end:
/// `.meaning = elementwise(wide([](Ex x) { return x / (1 + abs(x)); }))`.
template <class F> auto wide(F f) {
  return [f](Emitter& e, std::span<const Ex> x) -> Ex {
    std::vector<Ex> w;
    for (Ex v : x) w.push_back(v ? widened(v) : v);
    Ex y;
    if constexpr (std::is_invocable_v<F, Emitter&, Ex>) y = f(e, w[0]);
    else if constexpr (std::is_invocable_v<F, Ex>) y = f(w[0]);
    else if constexpr (std::is_invocable_v<F, Emitter&, std::span<const Ex>>) y = f(e, w);
    else y = f(w[0], w[1]);
    return narrowed(x[0].type(), y);
  };
}

/// The attribute `name` as a constant of the type of `like`.
inline Ex attribute(Emitter& e, std::string_view name, Ex like) {
  return scalar::literal(like, e.attributes().f(name, 0.0));
}

}  // namespace rondel::ops
