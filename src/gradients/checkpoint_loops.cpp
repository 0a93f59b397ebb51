#include "gradients/checkpoint_loops.h"

#include "base/axis.h"
#include "base/error.h"
#include "gradients/influence.h"
#include "ir/builder.h"
#include "ir/clone.h"
#include "ir/loop_editor.h"
#include "ops/compose.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rondel::gradients {
namespace {

using ir::LoopParts;
using ir::NodeId;
using ir::Type;
using ir::ValueId;

/// Splits one loop into segments.
class LoopCutter {
 public:
  LoopCutter(ir::Graph& g, NodeId n, std::optional<std::int64_t> length)
      : g_(g), n_(n), loop_(g, n), parts_(loop_.parts()), b_(g, g.node(n).region),
        segment_(length) {
    b_.insert_after(n);
    b_.source(g.node(n).source);
  }

  /// Returns false if one segment would hold all trips.
  bool run() {
    const std::optional<std::int64_t> trips = known_count();
    if (trips && !segment_) segment_ = equal_segments(*trips);
    if (trips && *segment_ >= *trips) return false;
    set_segments(trips);
    carries_go_ = g_.hands_on_condition(n_);
    const std::vector<ValueId> found = loop_over_segments();
    for (std::size_t s = 0; s < parts_.states; ++s) replace(s, found[s]);
    const std::size_t first = parts_.states + (carries_go_ ? 1 : 0);
    for (std::size_t k = 0; k < parts_.stacks; ++k)
      if (g_.is_read(loop_.stack(k))) replace(parts_.states + k, joined(k, found[first + k]));
    if (!parts_.has_go) replace(parts_.states + parts_.stacks, count_);
    return true;
  }

 private:
  const ir::Region& body() const { return g_.region(parts_.body); }
  const Type& type(ValueId v) const { return g_.value(v).type; }
  /// An i64[] as an i64[1].
  ValueId list(ValueId scalar) {
    if (const Tensor* known = g_.constant(scalar)) return b_.integers(ir::integers_of(*known));
    return b_("unsqueeze", {scalar, b_.integers({0})});
  }

  // ---- the numbers of trips and segments

  /// The trip count, if it is known without running the loop.
  std::optional<std::int64_t> known_count() const {
    if (parts_.has_go) return std::nullopt;
    if (parts_.has_trips) {
      const Tensor* trips = g_.constant(g_.node(n_).inputs[parts_.trips_at()]);
      if (trips == nullptr) return std::nullopt;
      return std::max<std::int64_t>(ir::integers_of(*trips).at(0), 0);
    }
    std::optional<std::int64_t> least;
    for (std::size_t k = 0; k < parts_.scans; ++k) {
      if (!extent(k).known()) return std::nullopt;
      least = std::min(least.value_or(extent(k).value), extent(k).value);
    }
    return least;
  }
  void set_segments(std::optional<std::int64_t> trips) {
    count_ = trips ? b_.scalar(*trips) : count();
    if (trips) {
      length_ = b_.scalar(*segment_);
      const std::int64_t segments = (*trips - 1) / *segment_ + 1;
      is_padded_ = *trips % *segment_ != 0;
      segments_ = b_.scalar(segments);
      padded_count_ = b_.scalar(segments * *segment_);
    } else {
      const ValueId asked = segment_ ? b_("min", {b_.scalar(*segment_), count_}) : root_of_count();
      length_ = b_("max", {asked, b_.scalar(std::int64_t{1})});
      const ValueId whole = b_("div", {count_, length_});
      const ValueId rest = b_("sub", {count_, b_("mul", {whole, length_})});
      segments_ = b_("add", {whole, b_("min", {rest, b_.scalar(std::int64_t{1})})});
      padded_count_ = b_("mul", {segments_, length_});
    }
  }
  /// The trip count, i64[]. For a loop with a condition, it is an output of the loop.
  ValueId count() {
    if (parts_.has_go)
      return ir::restored_output(g_, n_, parts_.states + parts_.stacks, Type::scalar(DType::i64));
    if (parts_.has_trips) return trips_asked_for();
    ValueId least = ValueId::none;
    for (std::size_t k = 0; k < parts_.scans; ++k) {
      const ValueId extent = extent_of_scan(k);
      if (least == ValueId::none) least = extent;
      else if (!has_same_extent(k, 0)) least = b_("min", {least, extent});
    }
    return least;
  }
  ValueId trips_asked_for() {
    const ValueId trips = g_.node(n_).inputs[parts_.trips_at()];
    const ValueId at_least_none = b_("max", {trips, b_.scalar(std::int64_t{0})});
    return b_("reshape", {at_least_none, b_.integers({})});
  }
  ir::Extent extent(std::size_t k) const {
    const Type& t = type(loop_.scanned(k));
    const std::int64_t axis = parts_.axis_in[k];
    if (!t.has_rank() || !has_axis(axis, t.rank())) return {};
    return t.extent(axis_from_front(axis, t.rank()));
  }
  bool has_same_extent(std::size_t k, std::size_t other) const {
    return (extent(k).known() || extent(k).symbolic()) && extent(k) == extent(other);
  }
  ValueId extent_of_scan(std::size_t k) {
    const ValueId shape = b_("shape", {loop_.scanned(k)});
    return b_("gather", {shape, b_.scalar(parts_.axis_in[k])}, {{"axis", 0}});
  }

  /// The segment length: the smallest divisor of the trip count from the rounded-up square root to
  /// below twice that; if there is none, the rounded-up square root.
  static std::int64_t equal_segments(std::int64_t trips) {
    const double exact = std::ceil(std::sqrt(static_cast<double>(trips)));
    const auto root = std::max<std::int64_t>(static_cast<std::int64_t>(exact), 1);
    for (std::int64_t length = root; length < 2 * root; ++length)
      if (trips % length == 0) return length;
    return root;
  }
  /// The square root of the trip count, rounded up.
  ValueId root_of_count() {
    const ValueId root = b_("sqrt", {ops::as(b_, count_, DType::f64)});
    return ops::as(b_, b_("ceil", {root}), DType::i64);
  }

  // ---- the two loops

  std::vector<ValueId> loop_over_segments() {
    LoopParts outer = parts_of_both();
    std::vector<ValueId> inputs{segments_};
    for (std::size_t s = 0; s < parts_.states; ++s)
      inputs.push_back(g_.node(n_).inputs[parts_.states_at() + s]);
    if (carries_go_) inputs.push_back(b_.constant(Tensor::scalar<bool>(true)));
    for (std::size_t k = 0; k < parts_.scans; ++k) {
      inputs.push_back(in_segments(k));
      outer.axis_in[k] = outside_of(parts_.axis_in[k]);
    }
    for (std::size_t k = 0; k < parts_.stacks; ++k) {
      outer.axis_out[k] = outside_of(axis_of_stack(k));
      outer.declared[k] = with_axis(parts_.declared[k], axis_of_stack(k));
    }
    return b_.loop(outer, std::move(inputs), [this](ir::Builder& b, std::span<const ValueId> p) {
      std::vector<ValueId> results = loop_over_trips(b, p);
      results.pop_back();
      results.insert(results.begin(), p[1]);
      return results;
    });
  }
  /// The parts that both loops share. All stacks are forward: the last segment is padded after its
  /// last item.
  LoopParts parts_of_both() const {
    LoopParts p = parts_;
    p.has_trips = true;
    p.has_go = false;
    p.reverse_out.assign(p.stacks, 0);
    p.extents.assign(p.stacks, 0);
    if (carries_go_) {
      ++p.states;
      p.fixed.push_back(0);
      p.keeps.push_back(0);
    }
    return p;
  }
  /// The axis of the segments, if `axis` is the axis of the trips of a segment.
  static std::int64_t outside_of(std::int64_t axis) { return axis < 0 ? axis - 1 : axis; }
  static Type with_axis(const Type& item, std::int64_t axis) {
    if (!item.is_tensor() || !item.has_rank() || axis > item.rank()) return item;
    ir::Extents extents = item.extents();
    extents.insert(extents.begin() + axis, ir::Extent());
    return Type::tensor(item.dtype(), std::move(extents));
  }
  /// The axis of a stack, 0 or more.
  std::int64_t axis_of_stack(std::size_t k) const {
    const std::int64_t axis = parts_.axis_out[k];
    const Type& item = type(loop_.item(k));
    if (axis >= 0) return axis;
    if (!item.has_rank())
      unsupported("{}: checkpoints of a loop that stacks tensors of unknown rank along axis {}",
                  ir::where(g_, n_), axis);
    return axis_from_front(axis, item.rank() + 1);
  }

  std::vector<ValueId> loop_over_trips(ir::Builder& b, std::span<const ValueId> outer) {
    const ValueId first = b("mul", {outer[0], length_});
    std::vector<ValueId> inputs{length_};
    inputs.insert(inputs.end(), outer.begin() + 2, outer.end());
    LoopParts inner = parts_of_both();
    if (is_padded_) {
      inputs[0] = b("min", {length_, b("sub", {count_, first})});
      inputs.insert(inputs.end(), parts_.stacks, length_);
      inner.extents.assign(parts_.stacks, 1);
    }
    for (std::size_t k = 0; k < parts_.stacks; ++k) inner.axis_out[k] = axis_of_stack(k);
    return b.loop(inner, std::move(inputs), [&](ir::Builder& trip, std::span<const ValueId> p) {
      return copy_of_trip(trip, trip("add", {first, p[0]}), p);
    });
  }
  std::vector<ValueId> copy_of_trip(ir::Builder& b, ValueId i, std::span<const ValueId> params) {
    const ir::Region original = body();
    ir::Cloner copy(g_, g_);
    copy.map(original.params[0], i);
    copy.map(original.params[1], go(b, params));
    const std::size_t items_at = 1 + parts_.states, elements_at = 2 + parts_.states;
    for (std::size_t k = 2; k < original.params.size(); ++k)
      copy.map(original.params[k], params[k < elements_at || !carries_go_ ? k : k + 1]);
    for (const NodeId n : original.nodes) copy.node(n, b.region());
    std::vector<ValueId> results{params[1]};
    for (std::size_t j = 1; j < original.results.size(); ++j)
      results.push_back(copy(original.results[j]));
    if (carries_go_)
      results.insert(results.begin() + static_cast<std::ptrdiff_t>(items_at),
                     copy(original.results[0]));
    return results;
  }
  /// The value of the body's parameter `go`. It is true if the loop has a condition or never
  /// changes `go`; otherwise it is a result of the previous trip.
  ValueId go(ir::Builder& b, std::span<const ValueId> params) const {
    if (carries_go_) return params[2 + parts_.states];
    if (g_.is_read(body().params[1])) return b.constant(Tensor::scalar<bool>(true));
    return params[1];
  }

  // ---- scans and stacks in segments

  /// The part of a scan that the trips read, padded to whole segments, and reshaped to an axis of
  /// segments followed by an axis of trips. A reversed scan is padded at its front.
  ValueId in_segments(std::size_t k) {
    const ValueId x = loop_.scanned(k);
    const std::int64_t axis = parts_.axis_in[k];
    const bool reverse = parts_.reverse_in[k] != 0;
    ValueId part = reads_all(k) ? x : part_read(x, axis, reverse);
    if (is_padded_) {
      const ValueId none = b_.integers({0}), more = list(b_("sub", {padded_count_, count_}));
      const ValueId pads = b_("concat", {reverse ? more : none, reverse ? none : more},
                              {{"axis", 0}});
      part = b_("pad", {part, pads, ValueId::none, b_.integers({axis})});
    }
    return reshaped(part, axis, {list(segments_), list(length_)}, 1);
  }
  bool reads_all(std::size_t k) const {
    return !parts_.has_trips && !parts_.has_go && has_same_extent(k, 0);
  }
  ValueId part_read(ValueId x, std::int64_t axis, bool reverse) {
    const ValueId axes = b_.integers({axis});
    if (!reverse) return b_("slice", {x, b_.integers({0}), list(count_), axes});
    const ValueId extent = b_("gather", {b_("shape", {x}), axes}, {{"axis", 0}});
    return b_("slice", {x, b_("sub", {extent, list(count_)}), extent, axes});
  }

  /// Reshapes `x`: `extents` replace those of `replaced` axes from `axis` on.
  ValueId reshaped(ValueId x, std::int64_t axis, std::vector<ValueId> extents, int replaced) {
    std::vector<ValueId> shape;
    if (axis != 0) shape.push_back(b_("shape", {x}, {{"end", axis}}));
    shape.insert(shape.end(), extents.begin(), extents.end());
    if (axis + replaced != 0) shape.push_back(b_("shape", {x}, {{"start", axis + replaced}}));
    return b_("reshape", {x, b_("concat", std::move(shape), {{"axis", 0}})}, {{"allowzero", 1}});
  }

  /// The stack made of the segments' stacks: with one axis for all trips, without the padding of
  /// the last segment.
  ValueId joined(std::size_t k, ValueId segments) {
    const std::int64_t axis = axis_of_stack(k);
    const ValueId axes = b_.integers({axis}), none = b_.integers({0});
    const ValueId filled = reshaped(segments, axis, {list(padded_count_)}, 2);
    ValueId stack = is_padded_ ? b_("slice", {filled, none, list(count_), axes}) : filled;
    if (parts_.reverse_out[k] != 0) {
      const ValueId last = b_.integers({-1});
      const ValueId before_first = b_.integers({std::numeric_limits<std::int64_t>::min()});
      stack = b_("slice", {stack, last, before_first, axes, last});
    }
    if (!parts_.has_extent(k)) return stack;
    const ValueId extent = g_.node(n_).inputs[parts_.extent_at(k)];
    const ValueId more = b_("sub", {b_("reshape", {extent, b_.integers({})}), count_});
    b_.add("assertion", {b_("greater_or_equal", {more, b_.scalar(std::int64_t{0})})},
           {{"message", "the extent of a stack is less than the trips of its loop"}}, 0);
    const ValueId pads = b_("concat", {none, list(more)}, {{"axis", 0}});
    return b_("pad", {stack, pads, ValueId::none, axes});
  }
  /// Lets the readers of an output read v, which gets the output's name and refines its own type
  /// with the output's type.
  void replace(std::size_t j, ValueId v) {
    const ValueId output = g_.node(n_).outputs[j];
    if (output == ValueId::none) return;
    g_.value(v).type = ir::completed(g_.value(v).type, type(output));
    if (g_.value(v).name.empty()) std::swap(g_.value(v).name, g_.value(output).name);
    g_.replace_uses(output, v);
  }

  ir::Graph& g_;
  const NodeId n_;
  const ir::LoopEditor loop_;
  const LoopParts parts_;
  ir::Builder b_;
  std::optional<std::int64_t> segment_;
  ValueId count_ = ValueId::none;         ///< trips, i64[]
  ValueId length_ = ValueId::none;        ///< trips per segment, i64[]
  ValueId segments_ = ValueId::none;      ///< number of segments, i64[]
  ValueId padded_count_ = ValueId::none;  ///< trips of all segments including padding, i64[]
  bool is_padded_ = true;                 ///< whether the last segment may need padding
  bool carries_go_ = false;               ///< whether `go` is the last state of both loops
};

}  // namespace

bool checkpoint_loops(ir::Graph& g, std::optional<std::int64_t> trips,
                      std::span<const ValueId> variables) {
  Influence influence(g);
  for (const ValueId v : variables) influence.add(v);
  influence.spread({});
  const auto is_influenced = [&](ValueId v) { return influence.contains(v); };
  bool changed = false;
  for (const NodeId n : ir::loops_inside_out(g))
    if (std::ranges::any_of(g.node(n).outputs, is_influenced))
      changed = LoopCutter(g, n, trips).run() || changed;
  return changed;
}

}  // namespace rondel::gradients
