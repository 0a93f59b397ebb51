#include "passes/packed_list.h"

#include "base/axis.h"
#include "passes/batched_trips.h"
#include "passes/lists.h"
#include "passes/named_extents.h"
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

std::vector<Type> ListForm::types() const {
  ir::Extents block = without_own_symbols(Type::tensor(dtype, item)).extents();
  if (ragged) block[static_cast<std::size_t>(axis)] = {};
  else block.insert(block.begin() + axis, Extent());
  std::vector<Type> all{Type::tensor(dtype, std::move(block))};
  if (ragged) all.push_back(Type::ranked(DType::i64, 1));
  return all;
}

PackedListWriter::PackedListWriter(ir::Graph& g, ir::NodeId n, const ListForm& form)
    : b_(g, g.node(n).region), form_(form) {
  b_.insert_before(n);
  b_.source(g.node(n).source);
}

// Lists that are made.

PackedList PackedListWriter::of_list(ValueId list) {
  ir::Attributes how{{"item", Type::tensor(form_.dtype, form_.item)}, {"axis", form_.axis}};
  if (!form_.ragged) how.set("new_axis", 1);
  return b_.add("pack_sequence", {list}, how, form_.ragged ? 2 : 1);
}

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
  return {whole, up_to(plus_one(b_("squeeze", {extent(whole, axis), one(0)})))};
}

PackedList PackedListWriter::of_parts(ValueId whole, ValueId lengths) {
  const ValueId given = as_i64(lengths), zero = b_.scalar(std::int64_t{0});
  const ValueId all = b_("squeeze", {extent(whole, form_.axis), one(0)});
  if (b_.graph().value(lengths).type.rank() == 0) {
    check(b_("greater", {given, zero}), "a part of a sequence must have length 1 or more");
    // Nothing overflows, and nothing that never runs is refused when the model is read.
    const ValueId each = b_("max", {b_("min", {given, all}), b_.scalar(std::int64_t{1})});
    const ValueId more = b_("sub", {b_("add", {all, each}), b_.scalar(std::int64_t{1})});
    const ValueId ends = b_("mul", {up_to(plus_one(b_("div", {more, each}))), each});
    return {whole, b_("min", {ends, all})};
  }
  check(b_("and", {b_("greater_or_equal", {given, zero}), b_("less_or_equal", {given, all})}),
        "a length of a part of a sequence is negative, or longer than the tensor");
  check(b_("equal", {b_("reduce_sum", {given}, {{"keepdims", 0}}), all}),
        "the lengths of the parts of a sequence do not add up to the extent of the tensor");
  return {whole, b_("concat", {one(0), b_("cum_sum", {given, zero})}, {{"axis", 0}})};
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
  const ValueId count = length(list);
  const ValueId at = from_front(position, count, true), all = with(list, item)[0];
  const ValueId row = up_to(plus_one(count)), before = b_("sub", {row, b_.scalar(std::int64_t{1})});
  const ValueId moved = b_("where", {b_("equal", {row, at}), count, before});
  const ValueId taken = b_("where", {b_("less", {row, at}), row, moved});
  return {b_("gather", {all, taken}, {{"axis", form_.axis}})};
}

PackedList PackedListWriter::without(const PackedList& list, ValueId position) {
  const ValueId count = length(list), at = from_front(position, count, false);
  const ValueId row = up_to(b_("sub", {count, b_.scalar(std::int64_t{1})}));
  const ValueId taken = b_("where", {b_("less", {row, at}), row, plus_one(row)});
  return {b_("gather", {list[0], taken}, {{"axis", form_.axis}})};
}

PackedList PackedListWriter::without_last(const PackedList& list) {
  const ValueId count = length(list), zero = b_.scalar(std::int64_t{0});
  check(b_("greater", {count, zero}), out_of_range);
  if (!form_.ragged) return {slice(list[0], 0, -1, form_.axis)};
  // Of an empty list, position 0: nothing that never runs is refused when the model is read.
  const ValueId last = b_("max", {b_("sub", {count, b_.scalar(std::int64_t{1})}), zero});
  const ValueId begin = as_one(b_("gather", {list[1], last}, {{"axis", 0}}));
  return {slice(list[0], one(0), begin, form_.axis), slice(list[1], 0, -1, 0)};
}

// What is read.

ValueId PackedListWriter::read(ir::NodeId n, const PackedList& list) {
  const ir::Node& node = b_.graph().node(n);
  const Reading reading = reading_of(node);
  if (reading == Reading::length) return length(list);
  if (reading == Reading::item) return item(list, node.inputs[1]);
  const std::int64_t axis = SlicesReader::axis_of(node);
  if (form_.ragged && reading == Reading::joined &&
      axis_from_front(axis, std::ssize(form_.item)) == form_.axis) {
    check(b_("greater", {length(list), b_.scalar(std::int64_t{0})}), nothing_to_join);
    return list[0];
  }
  return SlicesReader(b_.graph(), n, {stacked(list), form_.axis, false}).read();
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
  // In this order, whatever the compiler, as in all that writes nodes.
  const ValueId after = bound(slice(list[1], 1, end, 0)), begin = bound(slice(list[1], 0, -1, 0));
  return slice(list[0], begin, after, form_.axis);
}

/// The tensors of a ragged list that must have one shape, along an axis of their own, which is
/// `axis`.
ValueId PackedListWriter::stacked(const PackedList& list) {
  if (!form_.ragged) return list[0];
  const ValueId count = length(list);
  check(b_("greater", {count, b_.scalar(std::int64_t{0})}), nothing_to_join);
  const ValueId row = up_to(plus_one(count));
  const ValueId first = slice(list[1], 1, 2, 0);
  check(b_("equal", {list[1], b_("mul", {row, first})}),
        "the tensors of the sequence have different shapes; expected one shape to join them");
  const ValueId shape = b_("shape", {list[0]});
  const ValueId apart = b_("concat",
                           {slice(shape, 0, form_.axis, 0), as_one(count),
                            b_("div", {extent(list[0], form_.axis), as_one(count)}),
                            slice(shape, form_.axis + 1, end, 0)},
                           {{"axis", 0}});
  return b_("reshape", {list[0], apart}, {{"allowzero", 1}});
}

ValueId PackedListWriter::list(const PackedList& list) {
  if (!form_.ragged)
    return b_("split_to_sequence", {list[0]}, {{"axis", form_.axis}, {"keepdims", 0}});
  const ValueId lengths = b_("sub", {slice(list[1], 1, end, 0), slice(list[1], 0, -1, 0)});
  return b_("split_to_sequence", {list[0], lengths}, {{"axis", form_.axis}});
}

// Parts.

/// The tensor as a part of the block.
ValueId PackedListWriter::with_axis(ValueId item) {
  return form_.ragged ? item : b_("unsqueeze", {item, one(form_.axis)});
}

ValueId PackedListWriter::as_i64(ValueId v) {
  if (b_.graph().value(v).type.dtype() == DType::i64) return v;
  return b_("convert", {v}, {{"to", Type::scalar(DType::i64)}});
}

ValueId PackedListWriter::up_to(ValueId end) {
  return b_("range", {b_.scalar(std::int64_t{0}), end, b_.scalar(std::int64_t{1})});
}

ValueId PackedListWriter::plus_one(ValueId v) { return b_("add", {v, b_.scalar(std::int64_t{1})}); }

/// A position as a scalar.
ValueId PackedListWriter::integer(ValueId position) {
  const Type& t = b_.graph().value(position).type;
  if (t.has_rank() && t.rank() == 0) return position;
  return b_("reshape", {position, b_.integers({})});
}

/// A position in a list of `length`, counted from the front, i64[]. `end`: the length itself is
/// one, too.
ValueId PackedListWriter::from_front(ValueId position, ValueId length, bool end) {
  const ValueId zero = b_.scalar(std::int64_t{0}), at = as_i64(integer(position));
  const ValueId counted = b_("where", {b_("less", {at, zero}), b_("add", {at, length}), at});
  check(b_("and", {b_("greater_or_equal", {counted, zero}),
                   b_(end ? "less_or_equal" : "less", {counted, length})}),
        out_of_range);
  return counted;
}

ValueId PackedListWriter::slice(ValueId x, ValueId from, ValueId to, std::int64_t axis) {
  return b_("slice", {x, from, to, one(axis)});
}

ValueId PackedListWriter::slice(ValueId x, std::int64_t from, std::int64_t to, std::int64_t axis) {
  const ValueId last = one(to), first = one(from);
  return slice(x, first, last, axis);
}

ValueId PackedListWriter::extent(ValueId x, std::int64_t axis) {
  return b_("shape", {x}, {{"start", axis}, {"end", axis + 1}});
}

void PackedListWriter::check(ValueId condition, const char* message) {
  b_.add("assertion", {condition}, {{"message", message}}, 0);
}

}  // namespace rondel::passes
