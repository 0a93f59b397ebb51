#include "exporters/onnx/strict_slices.h"

#include "base/axis.h"
#include "ir/builder.h"
#include "ir/infer.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

namespace rondel::exporters {
namespace {

using ir::Extent;
using ir::Extents;
using ir::Graph;
using ir::NodeId;
using ir::ValueId;

/// Larger than every extent, and small enough that adding a size does not overflow.
constexpr std::int64_t beyond = std::int64_t{1} << 62;
/// Limits below which products do not overflow: for products of known numbers, and of an extent and
/// a stride.
constexpr std::int64_t most_reach = std::int64_t{1} << 61, most_stride = std::int64_t{1} << 12;

/// Facts about one axis of a slice, from the graph's types.
struct Axis {
  std::size_t axis = 0;
  Extent extent;                            ///< the operand's
  std::optional<std::int64_t> start, step;  ///< nothing if unknown
  bool from_zero = false;                   ///< the start is certainly not negative
  Extent size;                              ///< known or symbolic only if certainly not negative

  bool whole() const { return start == 0 && step == 1 && size == extent; }
  bool inside() const {
    if (!start || !step || !size.known() || !extent.known()) return false;
    const __int128 last = *start + static_cast<__int128>(size.value - 1) * *step;
    const auto is_there = [&](__int128 at) { return at >= 0 && at < extent.value; };
    return size.value == 0 || (is_there(*start) && is_there(last));
  }
  bool open() const { return !whole() && !inside(); }
};

struct StrictSlice {
  NodeId node;
  std::vector<Axis> axes;  ///< in the order of the lists
  Extents result;
};

/// Known elements of a list: as numbers of any sign, and as extents if they are at least 0.
struct List {
  List(const ir::TypeEnvironment& k, ValueId v, std::size_t count)
      : numbers(count), extents(count) {
    if (const Tensor* t = k.value(v)) {
      const ir::Ints values = ir::integers_of(*t);
      for (std::size_t i = 0; i < std::min(count, values.size()); ++i) {
        numbers[i] = values[i];
        extents[i] = values[i];
      }
    } else if (const auto it = k.elements.find(static_cast<std::int32_t>(v));
               it != k.elements.end() && it->second.size() == count) {
      for (std::size_t i = 0; i < count; ++i) {
        numbers[i] = it->second[i].number;
        if (it->second[i].at_least(0)) extents[i] = Extent(it->second[i]);
      }
    }
  }
  std::vector<std::optional<std::int64_t>> numbers;
  Extents extents;
};

std::optional<StrictSlice> analyze(const Graph& g, const ir::TypeEnvironment& k, NodeId n) {
  const ir::Node& node = g.node(n);
  if (node.op->name != "strict_slice") return std::nullopt;
  const ir::Type &x = k.types[ir::index(node.inputs[0])], &y = k.types[ir::index(node.outputs[0])];
  if (!x.has_rank() || !y.has_rank()) return std::nullopt;
  const ir::Ints axes = node.attributes.ints("axes");
  const List starts(k, node.inputs[1], axes.size()), sizes(k, node.inputs[2], axes.size()),
      steps(k, node.inputs[3], axes.size());
  StrictSlice s{n, {}, y.extents()};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = axis_from_front(axes[i], x.rank());
    const Extent& start = starts.extents[i];
    s.axes.push_back({static_cast<std::size_t>(axis), x.extent(axis), starts.numbers[i],
                      steps.numbers[i], start.known() || start.symbolic(), sizes.extents[i]});
  }
  return s;
}

/// Writes the replacement of one strict slice before it.
class StrictSliceLowering {
 public:
  StrictSliceLowering(Graph& g, const StrictSlice& s)
      : g_(g), s_(s), node_(g.node(s.node)), b_(g, node_.region) {
    b_.source(node_.source);
    b_.insert_before(s.node);
  }

  /// Returns the replacement; nothing if too little is known.
  std::optional<ValueId> run() {
    const auto is_open = [](const Axis& a) { return a.open(); };
    const auto enough_known = [](const Axis& a) {
      if (!a.open()) return true;
      if (!a.step || *a.step <= 0 || *a.step > most_stride) return false;
      return a.size.known() ? a.size.value <= most_reach / *a.step : a.size.symbolic();
    };
    if (!std::ranges::all_of(s_.axes, enough_known)) return std::nullopt;
    if (std::ranges::none_of(s_.axes, is_open)) return slice_inside(node_.inputs[0]);
    const bool forward = std::ranges::all_of(s_.axes, [](const Axis& a) { return a.step > 0; });
    if (forward && reshape_detects_overrun()) return reshaped();
    const bool known_starts = std::ranges::all_of(
        s_.axes, [](const Axis& a) { return !a.open() || (a.from_zero && a.start); });
    if (!known_starts) return std::nullopt;
    ValueId y = slice_inside(node_.inputs[0]);
    for (std::size_t k = 0; k < s_.axes.size(); ++k)
      if (s_.axes[k].open()) y = gathered(y, k);
    return y;
  }

 private:
  /// Whether a Reshape to the wanted extents fails if the slice is too short along an axis. It
  /// does, unless another axis may be empty: then both shapes have no elements.
  bool reshape_detects_overrun() const {
    std::size_t unknown = 0;
    for (std::size_t a = 0; a < s_.result.size(); ++a) {
      const Extent& e = s_.result[a];
      if (e.known() && e.value > 0) continue;
      if (!std::ranges::any_of(s_.axes, [&](const Axis& x) { return x.axis == a && x.open(); }))
        return false;
      ++unknown;
    }
    const auto open = std::ranges::count_if(s_.axes, [](const Axis& a) { return a.open(); });
    return unknown == 0 || (unknown == 1 && open == 1);
  }

  /// Slices along the axes that are known to stay within the operand.
  ValueId slice_inside(ValueId x) {
    ir::Ints starts, ends, axes, steps, spread(s_.result.size(), 1);
    for (const Axis& a : s_.axes) {
      if (a.whole() || !a.inside()) continue;
      const std::int64_t size = a.size.value;
      std::int64_t taken = size, start = *a.start, step = *a.step;
      if (size > 0 && step == 0) {
        spread[a.axis] = size;
        taken = 1;
      }
      if (taken <= 1) step = 1;
      if (taken == 0) start = 0;
      const std::int64_t last = start + (taken - 1) * step, end = step < 0 ? last - 1 : last + 1;
      starts.push_back(start);
      ends.push_back(end < 0 ? std::numeric_limits<std::int64_t>::min() : end);
      axes.push_back(static_cast<std::int64_t>(a.axis));
      steps.push_back(step);
    }
    if (axes.empty()) return x;
    const ValueId y = sliced(x, b_.integers(starts), b_.integers(ends), axes, steps);
    const bool spreads = std::ranges::count(spread, 1) < std::ssize(spread);
    return spreads ? b_("expand", {y, b_.integers(spread)}) : y;
  }

  ValueId sliced(ValueId x, ValueId starts, ValueId ends, const ir::Ints& axes,
                 const ir::Ints& steps) {
    std::vector<ValueId> inputs{x, starts, ends, b_.integers(axes)};
    if (std::ranges::count(steps, 1) < std::ssize(steps)) inputs.push_back(b_.integers(steps));
    return b_("slice", inputs);
  }

  /// Slices along all axes at once, then reshapes. A negative start would count from the end, so it
  /// is replaced by a start beyond the end.
  ValueId reshaped() {
    ir::Ints axes, steps;
    for (const Axis& a : s_.axes) {
      axes.push_back(static_cast<std::int64_t>(a.axis));
      steps.push_back(*a.step);
    }
    const ValueId from = starts();
    return b_("reshape", {sliced(node_.inputs[0], from, ends(from, steps), axes, steps), wanted()});
  }

  ValueId starts() {
    ir::Ints known;
    for (const Axis& a : s_.axes)
      if (a.start) known.push_back(*a.start < 0 ? beyond : std::min(*a.start, beyond));
    if (known.size() == s_.axes.size()) return b_.integers(known);
    const ValueId given = node_.inputs[1];
    if (std::ranges::all_of(s_.axes, [](const Axis& a) { return a.from_zero; })) return given;
    return b_("where", {b_("less", {given, b_.scalar<std::int64_t>(0)}), b_.scalar(beyond), given});
  }

  ValueId ends(ValueId from, const ir::Ints& steps) {
    const bool by_one = std::ranges::count(steps, 1) == std::ssize(steps);
    ir::Ints lengths;
    for (std::size_t k = 0; k < steps.size(); ++k)
      if (const Extent& e = s_.axes[k].size; e.known()) lengths.push_back(e.value * steps[k]);
    const bool known_lengths = lengths.size() == steps.size();
    const Tensor* known = g_.constant(from);
    if (known != nullptr && known_lengths) {
      const ir::Ints first = ir::integers_of(*known);
      for (std::size_t k = 0; k < first.size(); ++k) lengths[k] += first[k];
      return b_.integers(lengths);
    }
    const ValueId length = known_lengths ? b_.integers(lengths)
                           : by_one      ? node_.inputs[2]
                                         : b_("mul", {node_.inputs[2], b_.integers(steps)});
    const auto is_zero = [](std::int64_t v) { return v == 0; };
    if (known != nullptr && std::ranges::all_of(ir::integers_of(*known), is_zero)) return length;
    return b_("add", {from, length});
  }

  /// The extents of the result; unknown ones are taken from the sizes.
  ValueId wanted() {
    ir::Ints known;
    for (const Extent& e : s_.result)
      if (e.known()) known.push_back(e.value);
    if (known.size() == s_.result.size()) return b_.integers(known);
    bool in_order = s_.axes.size() == s_.result.size();
    for (std::size_t k = 0; k < s_.axes.size(); ++k) in_order = in_order && s_.axes[k].axis == k;
    if (in_order) return node_.inputs[2];
    std::vector<ValueId> parts;
    for (std::size_t a = 0; a < s_.result.size(); ++a) {
      if (s_.result[a].known()) {
        parts.push_back(b_.integers({s_.result[a].value}));
        continue;
      }
      const auto k = std::ranges::find(s_.axes, a, &Axis::axis) - s_.axes.begin();
      parts.push_back(b_("gather", {node_.inputs[2], b_.integers({k})}));
    }
    return b_("concat", parts, {{"axis", std::int64_t{0}}});
  }

  /// Gathers one axis at each position; Gather fails for a position beyond the last.
  ValueId gathered(ValueId y, std::size_t k) {
    const Axis& a = s_.axes[k];
    const std::int64_t first = std::min(*a.start, beyond), step = *a.step;
    const auto end = [&] {
      if (a.size.known()) return b_.scalar(first + a.size.value * step);
      ValueId n = b_("gather", {node_.inputs[2], b_.scalar(static_cast<std::int64_t>(k))});
      if (step != 1) n = b_("mul", {n, b_.scalar(step)});
      return first == 0 ? n : b_("add", {n, b_.scalar(first)});
    };
    const ValueId at = b_("range", {b_.scalar(first), end(), b_.scalar(step)});
    return b_("gather", {y, at}, {{"axis", static_cast<std::int64_t>(a.axis)}});
  }

  Graph& g_;
  const StrictSlice& s_;
  const ir::Node node_;
  ir::Builder b_;
};

void replace(Graph& g, const StrictSlice& s) {
  const auto y = StrictSliceLowering(g, s).run();
  if (!y) return;
  const ir::Node node = g.node(s.node);
  const ValueId old = node.outputs[0];
  if (*y != node.inputs[0]) {
    g.value(*y).name = g.value(old).name;
    g.value(*y).type = g.value(old).type;
  }
  g.replace_uses(old, *y);
  g.erase_node(s.node);
}

}  // namespace

void lower_strict_slices(Graph& g) {
  const auto is_one = [&](NodeId n) { return g.node(n).op->name == "strict_slice"; };
  std::vector<NodeId> found;
  for (std::size_t r = 0; r < g.region_count(); ++r)
    std::ranges::copy_if(g.region(static_cast<ir::RegionId>(r)).nodes, std::back_inserter(found),
                         is_one);
  if (found.empty()) return;
  ir::TypeEnvironment k = ir::named_type_environment(g);
  ir::infer_region(g, ir::RegionId::root, k);
  std::vector<StrictSlice> slices;
  for (const NodeId n : found)
    if (auto s = analyze(g, k, n)) slices.push_back(std::move(*s));
  for (const StrictSlice& s : slices) replace(g, s);
}

}  // namespace rondel::exporters
