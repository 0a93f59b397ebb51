#include "ops/type_rules.h"

#include "base/axis.h"
#include "base/error.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

namespace rondel::ops {
namespace {

using ir::Extent;
using ir::Extents;
using ir::Integer;
using ir::Integers;
using ir::Ints;
using ir::Type;
using ir::TypeContext;
using ir::TypeRule;

/// The types of the given inputs, which must all be tensors of one dtype.
std::vector<const Type*> uniform_inputs(const TypeContext& c) {
  std::vector<const Type*> types;
  std::size_t first = 0;
  for (std::size_t k = 0; k < c.input_count(); ++k) {
    if (!c.has(k)) continue;
    require_tensor(c, k);
    if (types.empty()) first = k;
    types.push_back(&c.input(k));
    require(types.back()->dtype() == types.front()->dtype(),
            "input {} is {} and input {} is {}; expected one dtype; cast one of them?", first,
            name(types.front()->dtype()), k, name(types.back()->dtype()));
  }
  require(!types.empty(), "there is no input; expected at least one");
  return types;
}

void broadcast_to(TypeContext& c, DType t, std::span<const Type* const> inputs) {
  auto extents = broadcast_extents(c, inputs);
  if (!extents) return c.output(0, Type::unranked(t));
  holds_if_broadcasts(c, inputs, *extents);
  c.output(0, Type::tensor(t, std::move(*extents)));
}

std::string names_of(std::span<const DType> types) {
  std::string text;
  for (DType t : types) text += (text.empty() ? "" : ", ") + std::string(name(t));
  return text;
}

TypeRule with_dtype_list(std::vector<DType> allowed, TypeRule rule) {
  return [allowed = std::move(allowed), rule = std::move(rule)](TypeContext& c) {
    for (std::size_t k = 0; k < c.input_count(); ++k)
      if (c.has(k)) require_dtypes(c, k, allowed);
    rule(c);
  };
}

Extent broadcast_extent(const Extent& a, const Extent& b, std::size_t from_last) {
  if (a == b) return a;
  if (a.known() && a.value == 1) return b;
  if (b.known() && b.value == 1) return a;
  require(!a.known() || !b.known(), "extents {} and {} of axis -{} do not broadcast", a.value,
          b.value, from_last);
  if (a.known()) return a;
  if (b.known()) return b;
  return {};
}

/// `of_symbols`: gives the extent that two symbols broadcast to.
using OfSymbols = std::function<Extent(const Extent&, const Extent&)>;

Extents broadcast_shapes(const Extents& a, const Extents& b, const OfSymbols& of_symbols) {
  const std::size_t rank = std::max(a.size(), b.size());
  Extents result(rank);
  for (std::size_t last = 1; last <= rank; ++last) {
    const Extent x = last <= a.size() ? a[a.size() - last] : Extent(1);
    const Extent y = last <= b.size() ? b[b.size() - last] : Extent(1);
    Extent& e = result[rank - last] = broadcast_extent(x, y, last);
    if (!e.known_or_symbolic() && x.symbolic() && y.symbolic()) e = of_symbols(x, y);
  }
  return result;
}

std::optional<Extents> broadcast_types(std::span<const Type* const> types,
                                       const OfSymbols& of_symbols) {
  Extents result;
  for (const Type* t : types) {
    if (!t->has_rank()) return std::nullopt;
    result = broadcast_shapes(result, t->extents(), of_symbols);
  }
  return result;
}

}  // namespace

std::span<const DType> float_dtypes() {
  static constexpr DType list[] = {DType::f32, DType::f64, DType::f16, DType::bf16};
  return list;
}

std::span<const DType> integer_dtypes() {
  static constexpr DType list[] = {DType::i64, DType::i32, DType::i16, DType::i8,
                                   DType::u64, DType::u32, DType::u16, DType::u8};
  return list;
}

std::span<const DType> number_dtypes() {
  static constexpr DType list[] = {DType::f32, DType::f64, DType::f16, DType::bf16,
                                   DType::i64, DType::i32, DType::i16, DType::i8,
                                   DType::u64, DType::u32, DType::u16, DType::u8};
  return list;
}

void same_as_first(TypeContext& c) {
  require_tensor(c, 0);
  c.output(0, c.input(0));
  c.holds_while();
}

void same_shape_along_axis(TypeContext& c) {
  require_tensor(c, 0);
  c.output(0, c.input(0));
  if (!c.input(0).has_rank()) return;
  normal_axis(c.attributes().i("axis", -1), c.input(0).rank());
  c.holds_while();
}

void keep_elements(TypeContext& c) {
  auto elements = c.elements(0);
  if (!elements) return;
  const bool wraps = c.outputs()[0].is_tensor() && c.outputs()[0].dtype() == DType::u64;
  for (Integer& e : *elements)
    if (wraps && !e.at_least(0)) e = {};
  c.set_elements(0, std::move(*elements));
}

void combine_elements(TypeContext& c, Integer (*f)(const Integer&, const Integer&)) {
  const DType t = c.input(0).dtype();
  if (!holds_extents(t)) return;
  for (std::size_t k = 0; k < c.input_count(); ++k)
    if (!c.input(k).has_rank() || c.input(k).rank() > 1) return;
  auto result = c.elements(0);
  for (std::size_t k = 1; result && k < c.input_count(); ++k) {
    const auto more = c.elements(k);
    if (!more || more->empty() || result->empty()) return;
    const std::size_t a = result->size(), b = more->size();
    if (a != b && a != 1 && b != 1) return;
    Integers combined;
    for (std::size_t i = 0; i < std::max(a, b); ++i)
      combined.push_back(f((*result)[a == 1 ? 0 : i], (*more)[b == 1 ? 0 : i]));
    result = std::move(combined);
    for (Integer& e : *result)
      if (t == DType::u64 && !e.at_least(0)) e = {};
  }
  if (result) c.set_elements(0, std::move(*result));
}

bool holds_extents(DType t) { return t == DType::i64 || t == DType::u64; }

void broadcast_rule(TypeContext& c) {
  const auto types = uniform_inputs(c);
  broadcast_to(c, types.front()->dtype(), types);
}

void broadcast_to_bool(TypeContext& c) { broadcast_to(c, DType::boolean, uniform_inputs(c)); }

TypeRule with_dtypes(std::initializer_list<DType> allowed, TypeRule rule) {
  return with_dtype_list(allowed, std::move(rule));
}
TypeRule floats_only(TypeRule rule) {
  return with_dtype_list({float_dtypes().begin(), float_dtypes().end()}, std::move(rule));
}
TypeRule numbers_only(TypeRule rule) {
  return with_dtype_list({number_dtypes().begin(), number_dtypes().end()}, std::move(rule));
}
TypeRule bools_only(TypeRule rule) { return with_dtypes({DType::boolean}, std::move(rule)); }
TypeRule integers_only(TypeRule rule) {
  return with_dtype_list({integer_dtypes().begin(), integer_dtypes().end()}, std::move(rule));
}

void Conditions::broadcasts(std::span<const Type* const> types, const Extents& result) {
  for (const Type* t : types)
    for (std::int64_t a = 0; a < t->rank(); ++a) {
      const Integer e = t->extent(a),
                    to = result[result.size() - t->extents().size() + static_cast<std::size_t>(a)];
      if (!(e == 1) && !(e == to)) equal((e - 1) * (e - to), 0);
    }
}

void holds_if_broadcasts(TypeContext& c, std::span<const Type* const> types,
                         const Extents& result) {
  Conditions conditions;
  conditions.broadcasts(types, result);
  conditions.state(c);
}

void Conditions::equal(const Integer& a, const Integer& b) {
  if (a == b) return;
  not_negative(a - b);
  not_negative(b - a);
}

void Conditions::state(TypeContext& c) const {
  if (std::ranges::all_of(integers_, [](const Integer& i) { return i.known() || i.symbolic(); }))
    c.holds_while(integers_);
}

std::optional<Extents> broadcast_extents(const Extents& a, const Extents& b) {
  return broadcast_shapes(a, b, [](const Extent&, const Extent&) { return Extent(); });
}

std::optional<Extents> broadcast_extents(std::span<const Type* const> types) {
  return broadcast_types(types, [](const Extent&, const Extent&) { return Extent(); });
}

std::optional<Extents> broadcast_extents(const TypeContext& c, std::span<const Type* const> types) {
  return broadcast_types(types,
                         [&](const Extent& a, const Extent& b) { return c.broadcast(a, b); });
}

void broadcast_onto(const Extents& to, const Extents& from) {
  require(from.size() <= to.size(), "rank {} does not broadcast to rank {}", from.size(),
          to.size());
  for (std::size_t last = 1; last <= from.size(); ++last) {
    const Extent &x = to[to.size() - last], &y = from[from.size() - last];
    const bool grows = x.known() && x.value == 1 && y.known() && y.value != 1;
    require(!grows, "extent {} of axis -{} does not broadcast to 1", y.value, last);
    broadcast_extent(x, y, last);
  }
}

Type with_dtype(const Type& t, DType dtype) {
  return t.has_rank() ? Type::tensor(dtype, t.extents()) : Type::unranked(dtype);
}

std::int64_t normal_axis(std::int64_t axis, std::int64_t rank, std::string_view what) {
  require(has_axis(axis, rank), "{} {} is outside [{}, {}) of a tensor of rank {}", what, axis,
          -rank, rank, rank);
  return axis_from_front(axis, rank);
}

Ints normal_axes(const Ints& axes, std::int64_t rank, std::string_view what) {
  Ints result;
  for (std::int64_t axis : axes) result.push_back(normal_axis(axis, rank, what));
  std::sort(result.begin(), result.end());
  require(std::adjacent_find(result.begin(), result.end()) == result.end(),
          "{} [{}] name one axis twice", what, fmt::join(axes, ", "));
  return result;
}

void require_tensor(const TypeContext& c, std::size_t k) {
  if (!c.input(k).is_tensor()) fail("input {} is {}; expected a tensor", k, to_text(c.input(k)));
}

void require_dtype(const TypeContext& c, std::size_t k, DType t) { require_dtypes(c, k, {&t, 1}); }

void require_dtypes(const TypeContext& c, std::size_t k, std::span<const DType> allowed) {
  require_tensor(c, k);
  const DType t = c.input(k).dtype();
  if (std::find(allowed.begin(), allowed.end(), t) == allowed.end())
    fail("input {} is {}; expected {}{}", k, name(t), allowed.size() > 1 ? "one of " : "",
         names_of(allowed));
}

void require_same_dtype(const TypeContext& c, std::size_t a, std::size_t b) {
  require_tensor(c, a);
  require_tensor(c, b);
  require(c.input(a).dtype() == c.input(b).dtype(),
          "input {} is {} and input {} is {}; expected one dtype; cast one of them?", a,
          name(c.input(a).dtype()), b, name(c.input(b).dtype()));
}

std::optional<ir::Integers> listed_integers(const TypeContext& c, std::size_t k) {
  if (const auto known = c.integers(k)) return ir::Integers(known->begin(), known->end());
  return c.elements(k);
}

void require_rank(const TypeContext& c, std::size_t k, std::int64_t rank) {
  require_tensor(c, k);
  const Type& t = c.input(k);
  if (t.has_rank() && t.rank() != rank)
    fail("input {} is {}; expected rank {}", k, to_text(t), rank);
}

void require_scalar(TypeContext& c, std::size_t k) {
  require_tensor(c, k);
  const Type& t = c.input(k);
  const bool single = !t.has_rank() || t.rank() == 0 ||
                      (t.rank() == 1 && (!t.extent(0).known() || t.extent(0).value == 1));
  if (!single) fail("input {} is {}; expected a scalar", k, to_text(t));
  if (t.has_rank() && t.rank() == 1) c.requires_equal(t.extent(0), 1);
}

DType dtype_attribute(const ir::Attributes& attributes, std::string_view name) {
  return attributes.type(name).dtype();
}

ir::CanFail unless_known(std::vector<std::size_t> value_inputs) {
  return [values_fail = unless_constant(std::move(value_inputs))](const ir::TypeContext& c) {
    for (std::size_t k = 0; k < c.input_count(); ++k)
      if (c.has(k) && !c.input(k).is_static()) return true;
    return values_fail(c);
  };
}

ir::CanFail unless_constant(std::vector<std::size_t> value_inputs) {
  return [value_inputs = std::move(value_inputs)](const ir::TypeContext& c) {
    return std::ranges::any_of(value_inputs,
                               [&](std::size_t k) { return c.has(k) && c.value(k) == nullptr; });
  };
}

bool may_divide_by_zero(const ir::TypeContext& c) {
  const ir::Type& divisor = c.input(1);
  if (!divisor.is_tensor() || !is_integer(divisor.dtype())) return false;
  return c.value(1) == nullptr || std::ranges::count(ir::integers_of(*c.value(1)), 0) > 0;
}

bool may_be_out_of_range(const ir::TypeContext& c, std::int64_t axis) {
  const ir::Type& x = c.input(0);
  if (!x.is_tensor() || !x.has_rank() || axis < -x.rank() || axis >= x.rank()) return true;
  const ir::Extent& extent = x.extent(axis_from_front(axis, x.rank()));
  if (!extent.known() || c.value(1) == nullptr) return true;
  return std::ranges::any_of(ir::integers_of(*c.value(1)), [&](std::int64_t at) {
    return at < -extent.value || at >= extent.value;
  });
}

void float_predicate_rule(TypeContext& c) {
  require_tensor(c, 0);
  const Type& x = c.input(0);
  require(is_float(x.dtype()), "input 0 is {}; expected a float", name(x.dtype()));
  c.output(0, with_dtype(x, DType::boolean));
  c.holds_while();
}

}  // namespace rondel::ops
