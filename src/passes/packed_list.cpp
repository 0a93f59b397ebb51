#include "passes/packed_list.h"

#include "base/axis.h"
#include "passes/batched_trips.h"
#include "passes/lists.h"
#include "passes/slices_reader.h"

#include <limits>

namespace rondel::passes {

using ir::Extent;
using ir::Type;
using ir::ValueId;

namespace {

constexpr std::int64_t end = std::numeric_limits<std::int64_t>::max();
constexpr const char* out_of_range = "the position is out of range for the sequence";

}  // namespace

Type without_own_symbols(const Type& t) {
  ir::Extents extents = t.extents();
  for (Extent& e : extents)
    if (e.symbolic() && !e.symbol.is_of_models()) e = {};
  return Type::tensor(t.dtype(), std::move(extents));
}

std::vector<Type> ListForm::types() const {
  ir::Extents block = without_own_symbols(Type::tensor(dtype, item)).extents();
  if (ragged) block[static_cast<std::size_t>(axis)] = {};
  else block.insert(block.begin() + axis, Extent());
  std::vector<Type> all{Type::tensor(dtype, std::move(block))};
  if (ragged) all.push_back(Type::ranked(DType::i64, 1));
  return all;
}

PackedListWriter::PackedListWriter(ir::Graph& g, ir::NodeId n, const ListForm& form)
    : g_(g), n_(n), b_(g, g.node(n).region), form_(form) {
  b_.insert_before(n);
  b_.source(g.node(n).source);
}

PackedListWriter::PackedListWriter(ir::Graph& g, ir::RegionId r, const ListForm& form)
    : g_(g), b_(g, r), form_(form) {}

// Lists that are made.

PackedList PackedListWriter::empty(const ExtentValue& value_of) {
  const Type type = form_.types()[0];
  Shape shape;
  std::vector<ValueId> extents;
  bool numbers = true;
  for (std::int64_t a = 0, of_item = 0; a < type.rank(); ++a) {
    const Extent e = a == form_.axis ? Extent(0) : form_.item[static_cast<std::size_t>(of_item)];
    if (a != form_.axis || form_.ragged) ++of_item;
    numbers = numbers && e.known();
    shape.push_back(e.value);
    extents.push_back(e.known() ? one(e.value) : value_of(b_, e));
  }
  const ValueId zero = b_.constant(Tensor::zeros(form_.dtype, {}));
  PackedList made{numbers ? b_.constant(Tensor::zeros(form_.dtype, shape))
                          : b_("expand", {zero, b_("concat", extents, {{"axis", 0}})})};
  if (form_.ragged) made.push_back(one(0));
  return made;
}

PackedList PackedListWriter::of(std::span<const ValueId> items) {
  std::vector<ValueId> parts, bounds{one(0)};
  for (const ValueId v : items) {
    parts.push_back(with_axis(v));
    if (!form_.ragged) continue;
    const ValueId more = extent(v, form_.axis);
    bounds.push_back(bounds.size() == 1 ? more : b_("add", {bounds.back(), more}));
  }
  const auto joined = [&](const std::vector<ValueId>& all, std::int64_t axis) {
    return all.size() == 1 ? all[0] : b_("concat", all, {{"axis", axis}});
  };
  PackedList made{joined(parts, form_.axis)};
  if (form_.ragged) made.push_back(joined(bounds, 0));
  return made;
}

PackedList PackedListWriter::of_slices(ValueId whole, std::int64_t axis, bool keeps_axis) {
  if (!form_.ragged) {
    const ValueId apart = keeps_axis ? b_("unsqueeze", {whole, one(axis + 1)}) : whole;
    return {with_axis_moved(b_, apart, axis, form_.axis)};
  }
  const ValueId count = b_("squeeze", {extent(whole, axis), one(0)});
  const ValueId next = b_.scalar(std::int64_t{1});
  return {whole, b_("range", {b_.scalar(std::int64_t{0}), b_("add", {count, next}), next})};
}

PackedList PackedListWriter::with(const PackedList& list, ValueId item) {
  PackedList made{b_("concat", {list[0], with_axis(item)}, {{"axis", form_.axis}})};
  if (form_.ragged)
    made.push_back(b_("concat", {list[1], extent(made[0], form_.axis)}, {{"axis", 0}}));
  return made;
}

/// The tensor goes to the end of the block, of which rows are then taken in another order: so the
/// length follows from the types.
PackedList PackedListWriter::with(const PackedList& list, ValueId item, ValueId position) {
  const ValueId count = length(list), next = b_.scalar(std::int64_t{1});
  const ValueId at = from_front(position, count, true), all = with(list, item)[0];
  const ValueId row = b_("range", {b_.scalar(std::int64_t{0}), b_("add", {count, next}), next});
  const ValueId moved = b_("where", {b_("equal", {row, at}), count, b_("sub", {row, next})});
  const ValueId taken = b_("where", {b_("less", {row, at}), row, moved});
  return {b_("gather", {all, taken}, {{"axis", form_.axis}})};
}

PackedList PackedListWriter::without(const PackedList& list, ValueId position) {
  const ValueId count = length(list), next = b_.scalar(std::int64_t{1});
  const ValueId at = from_front(position, count, false);
  const ValueId row = b_("range", {b_.scalar(std::int64_t{0}), b_("sub", {count, next}), next});
  const ValueId taken = b_("where", {b_("less", {row, at}), row, b_("add", {row, next})});
  return {b_("gather", {list[0], taken}, {{"axis", form_.axis}})};
}

PackedList PackedListWriter::without_last(const PackedList& list) {
  const ValueId count = length(list), zero = b_.scalar(std::int64_t{0});
  check(b_("greater", {count, zero}), out_of_range);
  if (!form_.ragged) return {slice(list[0], one(0), one(-1), form_.axis)};
  // Of an empty list, position 0: nothing that never runs is refused when the model is read.
  const ValueId last = b_("max", {b_("sub", {count, b_.scalar(std::int64_t{1})}), zero});
  const ValueId begin = as_one(b_("gather", {list[1], last}, {{"axis", 0}}));
  return {slice(list[0], one(0), begin, form_.axis), slice(list[1], one(0), one(-1), 0)};
}

// What is read.

ValueId PackedListWriter::read(const PackedList& list) {
  const ir::Node& node = g_.node(n_);
  const Reading reading = reading_of(node);
  if (reading == Reading::length) return length(list);
  if (reading == Reading::item) return item(list, node.inputs[1]);
  const std::int64_t axis = SlicesReader::axis_of(node);
  if (form_.ragged && reading == Reading::joined &&
      axis_from_front(axis, std::ssize(form_.item)) == form_.axis) {
    check(b_("greater", {length(list), b_.scalar(std::int64_t{0})}), nothing_to_join);
    return list[0];
  }
  return SlicesReader(g_, n_, {stacked(list), form_.axis, false}).read();
}

ValueId PackedListWriter::length(const PackedList& list) {
  const std::int64_t axis = form_.ragged ? 0 : form_.axis;
  const ValueId extent = b_("gather", {b_("shape", {list.back()}), b_.scalar(axis)}, {{"axis", 0}});
  return form_.ragged ? b_("sub", {extent, b_.scalar(std::int64_t{1})}) : extent;
}

ValueId PackedListWriter::item(const PackedList& list, ValueId position) {
  const ValueId at = integer(position);
  if (!form_.ragged) return b_("gather", {list[0], at}, {{"axis", form_.axis}});
  const auto bound = [&](ValueId bounds) {
    return as_one(b_("gather", {bounds, at}, {{"axis", 0}}));
  };
  return slice(list[0], bound(slice(list[1], one(0), one(-1), 0)),
               bound(slice(list[1], one(1), one(end), 0)), form_.axis);
}

/// The tensors of a ragged list that must have one shape, along an axis of their own, which is
/// `axis`.
ValueId PackedListWriter::stacked(const PackedList& list) {
  if (!form_.ragged) return list[0];
  const ValueId count = length(list), zero = b_.scalar(std::int64_t{0}),
                next = b_.scalar(std::int64_t{1});
  check(b_("greater", {count, zero}), nothing_to_join);
  const ValueId row = b_("range", {zero, b_("add", {count, next}), next});
  const ValueId first = slice(list[1], one(1), one(2), 0);
  check(b_("equal", {list[1], b_("mul", {row, first})}),
        "the tensors of the sequence have different shapes; expected one shape to join them");
  const ValueId shape = b_("shape", {list[0]});
  const ValueId apart = b_("concat",
                           {slice(shape, one(0), one(form_.axis), 0), as_one(count),
                            b_("div", {extent(list[0], form_.axis), as_one(count)}),
                            slice(shape, one(form_.axis + 1), one(end), 0)},
                           {{"axis", 0}});
  return b_("reshape", {list[0], apart}, {{"allowzero", 1}});
}

ValueId PackedListWriter::list(const PackedList& list) {
  if (!form_.ragged)
    return b_("split_to_sequence", {list[0]}, {{"axis", form_.axis}, {"keepdims", 0}});
  const ValueId lengths = b_(
      "sub", {slice(list[1], one(1), one(end), 0), slice(list[1], one(0), one(-1), 0)});
  return b_("split_to_sequence", {list[0], lengths}, {{"axis", form_.axis}});
}

// Parts.

/// The tensor as a part of the block.
ValueId PackedListWriter::with_axis(ValueId item) {
  return form_.ragged ? item : b_("unsqueeze", {item, one(form_.axis)});
}

/// A position as a scalar.
ValueId PackedListWriter::integer(ValueId position) {
  const Type& t = g_.value(position).type;
  if (t.has_rank() && t.rank() == 0) return position;
  return b_("reshape", {position, b_.integers({})});
}

/// A position in a list of `length`, counted from the front, i64[]. `end`: the length itself is
/// one, too.
ValueId PackedListWriter::from_front(ValueId position, ValueId length, bool end) {
  const ValueId zero = b_.scalar(std::int64_t{0}), given = integer(position);
  const ValueId at = g_.value(given).type.dtype() == DType::i64
                         ? given
                         : b_("convert", {given}, {{"to", Type::scalar(DType::i64)}});
  const ValueId counted = b_("where", {b_("less", {at, zero}), b_("add", {at, length}), at});
  check(b_("and", {b_("greater_or_equal", {counted, zero}),
                   b_(end ? "less_or_equal" : "less", {counted, length})}),
        out_of_range);
  return counted;
}

ValueId PackedListWriter::slice(ValueId x, ValueId from, ValueId to, std::int64_t axis) {
  return b_("slice", {x, from, to, one(axis)});
}

ValueId PackedListWriter::extent(ValueId x, std::int64_t axis) {
  return b_("shape", {x}, {{"start", axis}, {"end", axis + 1}});
}

void PackedListWriter::check(ValueId condition, const char* message) {
  b_.add("assertion", {condition}, {{"message", message}}, 0);
}

}  // namespace rondel::passes
