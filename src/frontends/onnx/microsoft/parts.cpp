#include "frontends/onnx/microsoft/parts.h"

#include "base/axis.h"
#include "ir/permutation.h"
#include "scalar/builder.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

namespace rondel::onnx {

ValueId plus(const Call& c, ValueId a, ValueId b) {
  return b == ValueId::none ? a : c.one("Add", {a, b});
}

ValueId times(const Call& c, ValueId a, ValueId b) {
  return b == ValueId::none ? a : c.one("Mul", {a, b});
}

ValueId minus(const Call& c, ValueId a, ValueId b) {
  return b == ValueId::none ? a : c.one("Sub", {a, b});
}

ValueId scaled(const Call& c, ValueId x, double factor) {
  return factor == 1 ? x : times(c, x, c.number(dtype_of(c, x), factor));
}

ValueId cast(const Call& c, ValueId x, DType t) {
  return dtype_of(c, x) == t ? x : c.one("Cast", {x}, {{"to", ir::Type::scalar(t)}});
}

DType dtype_of(const Call& c, ValueId x) { return c.type(x).dtype(); }

ValueId wide(const Call& c, ValueId x) {
  return x == ValueId::none ? x : cast(c, x, scalar::compute_type(dtype_of(c, x)));
}

ValueId wide_in(const Call& c, std::size_t k) { return wide(c, c.in(k)); }

ValueId as_first(const Call& c, ValueId y) { return cast(c, y, dtype_of(c, c.in(0))); }

ValueId reshaped(const Call& c, ValueId x, const ir::Ints& shape) {
  return c.one("Reshape", {x, c.integers(shape)});
}

ValueId transposed(const Call& c, ValueId x, ir::Ints perm) {
  return c.one("Transpose", {x}, {{"perm", std::move(perm)}});
}

ValueId matrix_transposed(const Call& c, ValueId x) {
  const auto rank = c.rank(x);
  if (!rank)
    unsupported("a transposed product of {}, whose rank is not known", ir::to_text(c.type(x)));
  if (*rank < 2) return x;
  return transposed(c, x, ir::last_axes_swapped(*rank));
}

ValueId unsqueezed(const Call& c, ValueId x, const ir::Ints& axes) {
  return c.one("Unsqueeze", {x, c.integers(axes)});
}

ValueId sliced(const Call& c, ValueId x, ValueId start, ValueId end, std::int64_t axis) {
  return c.one("Slice", {x, start, end, c.integers({axis})});
}

ValueId joined(const Call& c, const std::vector<ValueId>& parts, std::int64_t axis) {
  return c.one("Concat", parts, {{"axis", axis}});
}

std::vector<ValueId> equal_parts(const Call& c, ValueId x, std::size_t parts, std::int64_t axis) {
  return c.add("Split", {x}, {{"axis", axis}, {"num_outputs", static_cast<std::int64_t>(parts)}},
               parts);
}

ValueId extent(const Call& c, ValueId x, std::int64_t axis) {
  return c.one("Shape", {x}, {{"start", axis}, {"end", axis + 1}});
}

ValueId as_scalar(const Call& c, ValueId x) {
  return c.one("Reshape", {x, c.constant(Tensor(DType::i64, {0}))});
}

ValueId one_element(const Call& c, std::size_t k) {
  if (!c.has(k)) return ValueId::none;
  const ir::Type& t = c.type(c.in(k));
  require(t.may_be_one_element(), "{}; expected one element", input_text(c, k));
  return t.has_rank() && t.rank() == 0 ? c.in(k) : as_scalar(c, c.in(k));
}

ValueId with_shape(const Call& c, std::size_t k, const ir::Ints& shape, bool or_list) {
  const ValueId x = c.in(k);
  const ir::Type& t = c.type(x);
  const ir::Ints list{
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>())};
  const auto may_be = [&t](const ir::Ints& s) {
    if (!t.has_rank()) return true;
    return std::ranges::equal(t.extents(), s, [](const ir::Extent& e, std::int64_t n) {
      return !e.known() || e.value == n;
    });
  };
  const bool as_is = may_be(shape);
  std::string wanted = ir::to_text(ir::Attribute(shape));
  if (or_list) wanted += " or " + ir::to_text(ir::Attribute(list));
  require(as_is || (or_list && may_be(list)), "{}; expected {}", input_text(c, k), wanted);
  if (t.has_rank() && t.is_static()) return as_is ? x : reshaped(c, x, shape);
  // Where the rank is not known, the first extent tells which shape is meant; Reshape counts the
  // elements.
  const auto first_is = [&](const ir::Ints& s) {
    return c.one("Equal", {extent(c, x, 0), c.integers({s[0]})});
  };
  ValueId holds = ValueId::none;
  if (t.has_rank()) holds = c.one("Equal", {c.one("Shape", {x}), c.integers(as_is ? shape : list)});
  else holds = or_list ? c.one("Or", {first_is(shape), first_is(list)}) : first_is(shape);
  require_in_run(c, holds, fmt::format("{}, and in the run not {}", input_text(c, k), wanted));
  return reshaped(c, x, shape);
}

ValueId in_shape_of(const Call& c, ValueId y, ValueId x) {
  const ir::Type &type = c.type(y), &like = c.type(x);
  if (type.has_rank() && like.has_rank() && type.extents() == like.extents()) return y;
  return c.one("Reshape", {y, c.one("Shape", {x})}, {{"allowzero", std::int64_t{1}}});
}

ValueId dequantized(const Call& c, ValueId x, std::size_t scale, std::size_t zero_point) {
  return c.one("DequantizeLinear", {x, one_element(c, scale), one_element(c, zero_point)});
}

ValueId counted(const Call& c, ValueId end) {
  return c.one("Range", {c.integer(0), end, c.integer(1)});
}

ValueId bounded(const Call& c, ValueId x, ValueId most, const std::string& message,
                std::int64_t least) {
  return c.importer.add_native(ir::op("bounded"), {x, most},
                               {{"least", least}, {"message", message}}, 1, c.source,
                               c.scope.region)[0];
}

ValueId rows_at(const Call& c, ValueId table, ValueId indices, std::string_view name) {
  const ValueId last = minus(c, as_scalar(c, extent(c, table, 0)), c.integer(1));
  const ValueId at = bounded(c, cast(c, indices, DType::i64), last,
                             fmt::format("{} has {{}}; expected 0 to {{}}", name), 0);
  return c.one("Gather", {table, at});
}

ValueId channels_to_end(const Call& c, ValueId x) {
  const auto rank = c.rank(x);
  if (!rank) unsupported("channels last in a tensor of unknown rank");
  require(*rank >= 2, "channels last in {}; expected rank 2 or more", ir::to_text(c.type(x)));
  ir::Ints perm{0};
  for (std::int64_t a = 2; a < *rank; ++a) perm.push_back(a);
  perm.push_back(1);
  return transposed(c, x, std::move(perm));
}

ValueId channels_to_front(const Call& c, ValueId x) {
  const auto rank = c.rank(x);
  if (!rank) unsupported("channels last in a tensor of unknown rank");
  require(*rank >= 2, "channels last in {}; expected rank 2 or more", ir::to_text(c.type(x)));
  ir::Ints perm{0, *rank - 1};
  for (std::int64_t a = 1; a < *rank - 1; ++a) perm.push_back(a);
  return transposed(c, x, std::move(perm));
}

double real(const Call& c, std::string_view attribute) { return c.attributes.f(attribute, 0); }

std::int64_t integer(const Call& c, std::string_view attribute) {
  return c.attributes.i(attribute, 0);
}

bool flag(const Call& c, std::string_view attribute) {
  const std::int64_t value = integer(c, attribute);
  if (value != 0 && value != 1) refuse_attribute(c, attribute);
  return value == 1;
}

std::int64_t count(const Call& c, std::string_view attribute) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const std::int64_t n = c.attributes.i(attribute);
  require(n > 0 && n <= most, "attribute '{}' = {}; expected 1 to {}", attribute, n, most);
  return n;
}

ir::Attributes some_attributes(const Call& c, std::initializer_list<std::string_view> names) {
  ir::Attributes some;
  for (const std::string_view name : names)
    if (const ir::Attribute* a = c.attributes.find(name)) some.set(std::string(name), *a);
  return some;
}

std::string input_text(const Call& c, std::size_t k) {
  const auto& ports = c.schema.inputs();
  return fmt::format("input {} ('{}') is {}", k, ports[std::min(k, ports.size() - 1)].GetName(),
                     ir::to_text(c.type(c.in(k))));
}

std::int64_t known_rank(const Call& c, std::size_t k) {
  const auto rank = c.rank(c.in(k));
  if (!rank) unsupported("{}; its rank must be known", input_text(c, k));
  return *rank;
}

void require_rank(Call& c, std::size_t k, std::int64_t rank) {
  if (!c.has(k)) return;
  const auto known = c.rank(c.in(k));
  require(!known || *known == rank, "{}; expected rank {}", input_text(c, k), rank);
  if (!known) c.inputs[k] = reshaped(c, c.in(k), ir::Ints(static_cast<std::size_t>(rank), 0));
}

ValueId with_length_of(const Call& c, ValueId x, std::int64_t axis, ValueId other,
                       std::int64_t other_axis, const ir::Strings& names) {
  const auto known = [&](ValueId v, std::int64_t a) {
    const ir::Type& t = c.type(v);
    return t.has_rank() && has_axis(a, t.rank()) ? ir::Integer(t.extent(a)) : ir::Integer();
  };
  const ir::Integer length = known(x, axis), wanted = known(other, other_axis);
  if (c.scope.region == ir::RegionId::root || length == wanted ||
      (length.known() && wanted.known()))
    return with_extent_of(c, x, axis, other, other_axis, names);
  require_in_run(c, c.one("Equal", {extent(c, x, axis), extent(c, other, other_axis)}),
                 fmt::format("'{}' on axis {} is not as long as '{}' on axis {}", names[0], axis,
                             names[1], other_axis));
  return x;
}

ValueId with_length(const Call& c, ValueId x, std::int64_t axis, ValueId count,
                    const ir::Strings& names) {
  return with_length_of(c, x, axis, counted(c, count), 0, names);
}

bool output_named(const Call& c, std::size_t j) {
  return j < c.outputs && !c.node.output(static_cast<int>(j)).empty();
}

void refuse_input(const Call& c, std::size_t k) {
  if (c.has(k)) unsupported("input {} ('{}') is not supported", k, c.schema.inputs()[k].GetName());
}

void refuse_output(const Call& c, std::size_t j) {
  if (output_named(c, j))
    unsupported("output {} ('{}') is not supported", j, c.schema.outputs()[j].GetName());
}

void refuse_unless(const Call& c, std::string_view attribute, const ir::Attribute& value) {
  const ir::Attribute* given = c.attributes.find(attribute);
  if (given != nullptr && ir::to_text(*given) != ir::to_text(value)) refuse_attribute(c, attribute);
}

void refuse_attribute(const Call& c, std::string_view attribute) {
  unsupported("attribute '{}' = {} is not supported", attribute,
              ir::to_text(*c.attributes.find(attribute)));
}

}  // namespace rondel::onnx
