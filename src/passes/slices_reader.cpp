#include "passes/slices_reader.h"

#include "base/axis.h"

#include <numeric>

namespace rondel::passes {

using ir::Builder;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Type;
using ir::ValueId;

namespace {

/// Whether a value is an index that `gather` takes, and that adds no axis to what it takes.
bool is_index(const Type& t) {
  return t.is_tensor() && t.has_rank() && t.rank() == 0 &&
         (t.dtype() == DType::i64 || t.dtype() == DType::i32);
}

}  // namespace

SlicesReader::SlicesReader(Graph& g, NodeId n, const Slices& list)
    : node_(g.node(n)), b_(g, g.node(n).region), list_(list) {
  b_.insert_before(n);
  b_.source(node_.source);
}

bool SlicesReader::can_read(const Graph& g, NodeId n, const Type& item, bool keeps_axis) {
  const Node& node = g.node(n);
  switch (reading_of(node)) {
    case Reading::item: return is_index(g.value(node.inputs[1]).type);
    case Reading::length: return true;
    case Reading::stacked: return !keeps_axis && has_axis(node, item.rank());
    case Reading::joined:
      return has_axis(node, item.rank()) &&
             item.extent(axis_from_front(axis_of(node), item.rank())).known();
    case Reading::other: break;
  }
  return false;
}

bool SlicesReader::has_axis(const Node& n, std::int64_t rank_of_item) {
  return rondel::has_axis(axis_of(n), rank_of_item + (reading_of(n) == Reading::stacked ? 1 : 0));
}

ValueId SlicesReader::read() {
  switch (reading_of(node_)) {
    case Reading::item: return item();
    case Reading::length: return length();
    case Reading::stacked:
      check_not_empty();
      return moved(axis_from_front(axis_of(node_), type().rank()));
    default: check_not_empty(); return joined();
  }
}

ValueId SlicesReader::item() {
  const ValueId taken = b_("gather", {list_.whole, node_.inputs[1]}, {{"axis", list_.axis}});
  return list_.keeps_axis ? b_("unsqueeze", {taken, b_.integers({list_.axis})}) : taken;
}

ValueId SlicesReader::length() {
  return b_("gather", {b_("shape", {list_.whole}), b_.scalar(list_.axis)}, {{"axis", 0}});
}

void SlicesReader::check_not_empty() {
  if (ir::Integer(type().extent(list_.axis)).at_least(1)) return;
  const ValueId some = b_("greater", {length(), b_.scalar(std::int64_t{0})});
  b_.add("assertion", {some}, {{"message", nothing_to_join}}, 0);
}

/// The whole with the axis of the slices at another position.
ValueId SlicesReader::moved(std::int64_t to) {
  if (to == list_.axis) return list_.whole;
  ir::Ints order(static_cast<std::size_t>(type().rank()));
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + list_.axis);
  order.insert(order.begin() + to, list_.axis);
  return b_("transpose", {list_.whole}, {{"perm", order}});
}

/// The items one after the other along an axis of theirs: that axis follows the axis of the
/// slices, and both become one.
ValueId SlicesReader::joined() {
  const std::int64_t at = axis_from_front(axis_of(node_), list_.rank_of_item(type()));
  if (list_.keeps_axis && at == list_.axis) return list_.whole;
  const ValueId whole = list_.keeps_axis ? apart(at) : moved(at);
  const ir::Extent each = b_.graph().value(whole).type.extent(at + 1);
  if (each.value == 1) return b_("squeeze", {whole, b_.integers({at + 1})});
  const ValueId shape = b_("shape", {whole});
  const auto extent = [&](std::int64_t axis) {
    return b_("gather", {shape, b_.integers({axis})}, {{"axis", 0}});
  };
  const ValueId merged = b_(
      "concat",
      {b_("shape", {whole}, {{"start", 0}, {"end", at}}),
       b_("mul", {extent(at), each.known() ? b_.integers({each.value}) : extent(at + 1)}),
       b_("shape", {whole}, {{"start", at + 2}})},
      {{"axis", 0}});
  return b_("reshape", {whole, merged}, {{"allowzero", 1}});
}

/// The whole with the slices along a new axis, and extent 1 where they were.
ValueId SlicesReader::apart(std::int64_t to) {
  const ValueId kept = b_("unsqueeze", {list_.whole, b_.integers({list_.axis + 1})});
  list_ = {kept, list_.axis, false};
  return moved(to);
}

}  // namespace rondel::passes
