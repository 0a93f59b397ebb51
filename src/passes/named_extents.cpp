#include "passes/named_extents.h"

#include "base/error.h"
#include "ir/expression.h"

#include <algorithm>

namespace rondel::passes {

using ir::Builder;
using ir::Extent;
using ir::Type;
using ir::ValueId;

namespace {

/// Whether a quotient is in the integer.
bool divides(const ir::Integer& i) {
  if (!i.symbolic()) return false;
  const ir::Expression& e = i.symbol.expression();
  return e.kind == ir::Expression::Kind::quotient || divides(e.a) || divides(e.b) ||
         std::ranges::any_of(e.terms, [](const ir::Term& t) {
           return std::ranges::any_of(t.factors,
                                      [](ir::Symbol s) { return divides(ir::Integer(s)); });
         });
}

Type with_extents(const Type& t, bool (*keeps)(const Extent&)) {
  if (!t.is_tensor() || !t.has_rank()) return t;
  ir::Extents extents = t.extents();
  for (Extent& e : extents)
    if (!keeps(e)) e = {};
  return Type::tensor(t.dtype(), std::move(extents));
}

}  // namespace

NamedExtents::NamedExtents(const ir::Graph& g, const ir::TypeEnvironment& k) {
  for (const ValueId v : g.root().params) {
    const Type& t = k.types[ir::index(v)];
    if (!t.is_tensor() || !t.has_rank()) continue;
    for (std::int64_t a = 0; a < t.rank(); ++a)
      if (const Extent& e = t.extent(a); e.symbolic() && e.symbol.is_name())
        places_.try_emplace(e.symbol, v, a);
  }
}

bool NamedExtents::has(const Extent& e) const {
  return e.known() || (e.symbolic() && !divides(e) &&
                       std::ranges::all_of(e.symbol.names(), [&](ir::Symbol name) {
                         return places_.contains(name);
                       }));
}

struct NamedExtents::Arithmetic {
  Builder& b;
  const NamedExtents& all;
  ValueId number(std::int64_t v) { return b.integers({v}); }
  ValueId name(ir::Symbol s) {
    const auto& [v, axis] = all.places_.at(s);
    return b("shape", {v}, {{"start", axis}, {"end", axis + 1}});
  }
  ValueId add(ValueId x, ValueId y) { return b("add", {x, y}); }
  ValueId multiply(ValueId x, ValueId y) { return b("mul", {x, y}); }
  ValueId maximum(ValueId x, ValueId y) { return b("max", {x, y}); }
  ValueId quotient(ValueId, ValueId, const ir::Expression&) {
    invariant(false, "an extent is a quotient");
    return ValueId::none;
  }
};

ValueId NamedExtents::value(Builder& b, const Extent& e) const {
  Arithmetic arithmetic{b, *this};
  return ir::compute(ir::Integer(e), arithmetic);
}

Type without_own_symbols(const Type& t) {
  return with_extents(t, [](const Extent& e) { return !e.symbolic() || e.symbol.is_of_models(); });
}

Type with_numbers_only(const Type& t) {
  return with_extents(t, [](const Extent& e) { return e.known(); });
}

void complete(ir::Graph& g, ValueId v, const Type& t) {
  g.value(v).type = ir::completed(g.value(v).type, without_own_symbols(t));
}

}  // namespace rondel::passes
