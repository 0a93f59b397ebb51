#include "lowering/extent_expression.h"

#include "base/error.h"
#include "ir/expression.h"

#include <algorithm>

namespace rondel::lowering {
namespace {

using scalar::Ex;

struct ProgramArithmetic {
  scalar::Builder& b;
  const ExOfName& name_of;

  Ex number(std::int64_t v) { return b.index(v); }
  Ex name(ir::Symbol s) {
    const Ex x = name_of(s);
    invariant(static_cast<bool>(x), "a program has nothing for extent {}", s.text());
    return x;
  }
  static Ex add(Ex x, Ex y) { return x + y; }
  static Ex multiply(Ex x, Ex y) { return x * y; }
  static Ex maximum(Ex x, Ex y) { return scalar::max(x, y); }
  Ex quotient(Ex x, Ex y, const ir::Expression& e) {
    const bool not_negative = e.a.at_least(0) && e.b.at_least(0);
    const Ex by = e.b.known() ? y : select(y == 0, b.index(1), y);
    const Ex q = x / by;
    // Division in programs rounds towards zero, in extents towards minus infinity.
    const Ex down = not_negative ? q : select((q * by != x) & ((x < 0) != (by < 0)), q - 1, q);
    return e.b.known() ? down : select(y == 0, b.index(0), down);
  }
};

}  // namespace

std::span<const ir::Symbol> names_in(const ir::Integer& i) {
  return i.symbolic() ? i.symbol.names() : std::span<const ir::Symbol>();
}

bool can_express(const ir::Integer& i, const std::function<bool(ir::Symbol)>& has) {
  return i.known() || (i.symbolic() && std::ranges::all_of(i.symbol.names(), has));
}

Ex extent_expression(scalar::Builder& b, const ir::Integer& i, const ExOfName& name_of) {
  invariant(i.known() || i.symbolic(), "an extent that is not known is computed");
  ProgramArithmetic arithmetic{b, name_of};
  return compute(i, arithmetic);
}

}  // namespace rondel::lowering
