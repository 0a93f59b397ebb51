#include "base/error.h"
#include "frontends/network/rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace rondel::network {
namespace {

/// Start, size or stride: one value for each axis that is sliced.
struct Part {
  ValueId value = ValueId::none;  ///< i64[axes]
  std::optional<ir::Ints> known;
};

/// y[i] = x[start + i * stride] along each axis. A slice that certainly stays within x becomes our
/// `slice`, expanded along axes of stride 0. Whole repetitions of x become a `tile`. Other slices
/// become a `strict_slice` under kSTRICT_BOUNDS, and gathers at computed positions in other modes.
class SliceRule {
 public:
  explicit SliceRule(Lowering& l)
      : l_(l), b_(l.b), mode_(l.choice<SampleMode>("mode")), x_(l.in(0)), axes_(axes()),
        start_(part(1, "start", 0)), size_(part(2, "size", 0)), stride_(part(3, "stride", 1)) {}
  /// The same rule with another builder, for a branch.
  SliceRule(const SliceRule& rule, ir::Builder& b)
      : l_(rule.l_), b_(b), mode_(rule.mode_), x_(rule.x_), axes_(rule.axes_), start_(rule.start_),
        size_(rule.size_), stride_(rule.stride_) {}

  ValueId write() {
    if (stays_inside()) return sliced();
    if (repeats_whole()) return tiled();
    if (mode_ == SampleMode::kSTRICT_BOUNDS)
      return b_("strict_slice", {x_, start_.value, size_.value, stride_.value}, {{"axes", axes_}});
    return mode_ == SampleMode::kFILL ? filled() : gathered();
  }

 private:
  ir::Ints axes() const;
  Part part(std::size_t input, const char* name, std::int64_t otherwise) const;
  bool all_known() const { return start_.known && size_.known && stride_.known; }
  bool stays_inside() const;
  bool repeats_whole() const;
  ValueId sliced();
  ValueId tiled();
  ValueId gathered();
  ValueId filled();
  ValueId filled_around(ValueId y, ValueId fill);
  ValueId whole_size();
  ValueId size(std::size_t k);
  ValueId unbounded(std::size_t k);
  ValueId positions(std::size_t k);

  ValueId i64(std::int64_t v) { return b_.scalar<std::int64_t>(v); }
  ValueId element(ValueId list, std::size_t k) {
    return b_("gather", {list, i64(static_cast<std::int64_t>(k))}, {{"axis", std::int64_t{0}}});
  }
  ir::Extent known_extent(std::size_t k) const { return l_.type(x_).extent(axes_[k]); }
  ValueId extent(std::int64_t axis) {
    const ir::Extent& e = l_.type(x_).extent(axis);
    return e.known() ? i64(e.value) : element(b_("shape", {x_}), static_cast<std::size_t>(axis));
  }

  Lowering& l_;
  ir::Builder& b_;
  SampleMode mode_;
  ValueId x_;
  ir::Ints axes_;
  Part start_, size_, stride_;
};

ir::Ints SliceRule::axes() const {
  const std::int64_t rank = l_.rank(x_);
  ir::Ints all(static_cast<std::size_t>(rank));
  std::iota(all.begin(), all.end(), 0);
  if (l_.has(5)) {
    const Tensor* given = l_.constant_value(l_.in(5));
    if (given == nullptr) unsupported("axes that are only known when running");
    all = ir::integers_of(*given);
  } else if (l_.parameters().has("axes")) {
    all = l_.parameters().ints("axes");
  }
  for (std::int64_t& a : all) a = l_.axis(a, rank);
  for (const std::int64_t a : all)
    require(std::ranges::count(all, a) == 1, "axis {} is sliced twice", a);
  return all;
}

Part SliceRule::part(std::size_t input, const char* name, std::int64_t otherwise) const {
  Part p;
  if (l_.has(input)) {
    p.value = l_.integers(input, name);
    if (const Tensor* t = l_.constant_value(l_.in(input))) p.known = ir::integers_of(*t);
    const ir::Type& t = l_.type(p.value);
    require(t.has_rank() && t.rank() == 1 &&
                (!t.extent(0).known() || t.extent(0).value == std::ssize(axes_)),
            "{} is {}; expected a value for each of {} axes", name, to_text(t), axes_.size());
    return p;
  }
  ir::Ints values = l_.parameters().ints(name);
  if (values.empty()) values.assign(axes_.size(), otherwise);
  require(values.size() == axes_.size(), "{} has {} values; expected one for each of {} axes", name,
          values.size(), axes_.size());
  p.value = b_.integers(values);
  p.known = std::move(values);
  return p;
}

/// Checks the parts that are constants. Returns whether all parts are constants and every element
/// is certainly an element of x.
bool SliceRule::stays_inside() const {
  const bool strict = mode_ == SampleMode::kSTRICT_BOUNDS;
  bool inside = all_known();
  for (std::size_t k = 0; k < axes_.size(); ++k) {
    if (size_.known)
      require((*size_.known)[k] >= 0, "a size of {} along axis {}", (*size_.known)[k], axes_[k]);
    if (!all_known() || (*size_.known)[k] == 0) continue;
    const std::int64_t first = (*start_.known)[k], stride = (*stride_.known)[k];
    const ir::Extent& e = l_.type(x_).extent(axes_[k]);
    const __int128 last = first + static_cast<__int128>((*size_.known)[k] - 1) * stride;
    const bool fits = first >= 0 && last >= 0 &&
                      (!e.known() || (first < e.value && last < e.value));
    require(fits || !strict,
            "along axis {} it takes {} elements from {} in steps of {}, of {}; expected all within "
            "the bounds, or another mode",
            axes_[k], (*size_.known)[k], first, stride, to_text(l_.type(x_)));
    inside = inside && fits && e.known();
  }
  return inside;
}

/// Whether the result is x repeated a whole number of times along each sliced axis.
bool SliceRule::repeats_whole() const {
  if (mode_ != SampleMode::kWRAP || !all_known()) return false;
  for (std::size_t k = 0; k < axes_.size(); ++k) {
    const ir::Extent& e = known_extent(k);
    const bool whole = e.known() && e.value > 0 && (*size_.known)[k] % e.value == 0;
    const bool in_order = (*start_.known)[k] == 0 && (*stride_.known)[k] == 1;
    if (!whole || !(in_order || e.value == 1)) return false;
  }
  return true;
}

ValueId SliceRule::tiled() {
  ir::Ints repeats(static_cast<std::size_t>(l_.rank(x_)), 1);
  for (std::size_t k = 0; k < axes_.size(); ++k)
    repeats[static_cast<std::size_t>(axes_[k])] = (*size_.known)[k] / known_extent(k).value;
  return b_("tile", {x_, b_.integers(repeats)});
}

/// A slice whose parts are constants and that stays within x. Along an axis of stride 0 one element
/// is sliced and then expanded.
ValueId SliceRule::sliced() {
  ir::Ints starts = *start_.known, ends, strides = *stride_.known;
  ir::Ints spread(static_cast<std::size_t>(l_.rank(x_)), 1);
  bool whole = true;
  for (std::size_t k = 0; k < axes_.size(); ++k) {
    std::int64_t size = (*size_.known)[k];
    if (size == 0) starts[k] = 0;  // start and stride of an empty slice do not matter
    if (size > 0 && strides[k] == 0)
      size = std::exchange(spread[static_cast<std::size_t>(axes_[k])], size);
    if (size <= 1) strides[k] = 1;
    whole = whole && strides[k] == 1 && size == known_extent(k).value;
    const std::int64_t last = starts[k] + (size - 1) * strides[k];
    const std::int64_t end = strides[k] < 0 ? last - 1 : last + 1;
    ends.push_back(end < 0 ? std::numeric_limits<std::int64_t>::min() : end);
  }
  std::vector<ValueId> inputs{x_, b_.integers(starts), b_.integers(ends), b_.integers(axes_)};
  if (std::ranges::count(strides, 1) < std::ssize(strides)) inputs.push_back(b_.integers(strides));
  const bool spreads = std::ranges::count(spread, 1) < std::ssize(spread);
  if (!spreads) return b_("slice", inputs);
  return b_("expand", {whole ? x_ : b_("slice", inputs), b_.integers(spread)});
}

/// The extents of the result.
ValueId SliceRule::whole_size() {
  std::vector<ValueId> extents;
  for (std::int64_t a = 0; a < l_.rank(x_); ++a) {
    const auto k = std::ranges::find(axes_, a);
    const ValueId e = k == axes_.end()
                          ? extent(a)
                          : element(size_.value, static_cast<std::size_t>(k - axes_.begin()));
    extents.push_back(b_("unsqueeze", {e, b_.integers({0})}));
  }
  if (std::ssize(axes_) == l_.rank(x_) && std::ranges::is_sorted(axes_)) return size_.value;
  return b_("concat", extents, {{"axis", std::int64_t{0}}});
}

/// The size along axis k. An empty axis has no elements to repeat, so only a size of 0 is accepted
/// there by the modes that repeat elements.
ValueId SliceRule::size(std::size_t k) {
  const ValueId size = element(size_.value, k);
  const ir::Extent n = known_extent(k);
  const bool repeats = mode_ != SampleMode::kFILL, some = n.known() && n.value > 0;
  const bool none = size_.known && (*size_.known)[k] == 0;
  if (size_.known && (!repeats || some || none)) return size;
  const auto text = [&](std::string_view taken, std::string_view most) {
    return fmt::format("along axis {}, of {}, it takes {} elements; expected 0 to {}{}", axes_[k],
                       n.known() ? std::to_string(n.value) : "an extent found when running", taken,
                       most,
                       repeats ? ", as there is nothing to repeat in an axis that is empty" : "");
  };
  constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
  ValueId most = i64(any);
  if (repeats && !some) {
    if (n.known() && size_.known) fail("{}", text(std::to_string((*size_.known)[k]), "0"));
    most = b_("where", {b_("greater", {extent(axes_[k]), i64(0)}), most, i64(0)});
  }
  return b_("bounded", {size, most}, {{"least", std::int64_t{0}}, {"message", text("{}", "{}")}});
}

/// The positions along axis k, which may be out of bounds: start + i * stride.
ValueId SliceRule::unbounded(std::size_t k) {
  const ValueId i = b_("range", {i64(0), size(k), i64(1)});
  return b_("add", {element(start_.value, k), b_("mul", {i, element(stride_.value, k)})});
}

ValueId SliceRule::positions(std::size_t k) {
  const ValueId at = unbounded(k), n = extent(axes_[k]);
  const ValueId last = b_("sub", {n, i64(1)});
  switch (mode_) {
    case SampleMode::kWRAP: return b_("mod", {at, n});
    case SampleMode::kFILL:
    case SampleMode::kCLAMP: return b_("max", {b_("min", {at, last}), i64(0)});
    case SampleMode::kREFLECT: {
      const ValueId period = b_("max", {b_("mul", {last, i64(2)}), i64(1)});
      const ValueId in_period = b_("mod", {at, period});
      return b_("min", {in_period, b_("sub", {period, in_period})});
    }
    default: fail("there is no slice mode {}", l_.parameters().i("mode"));
  }
}

ValueId SliceRule::gathered() {
  ValueId y = x_;
  for (std::size_t k = 0; k < axes_.size(); ++k)
    y = b_("gather", {y, positions(k)}, {{"axis", axes_[k]}});
  return y;
}

/// `y` where the position is within x, else the fill value. `y` is x gathered at the positions
/// clamped to the bounds.
ValueId SliceRule::filled_around(ValueId y, ValueId fill) {
  for (std::size_t k = 0; k < axes_.size(); ++k) {
    const ValueId at = unbounded(k);
    const ValueId inside = b_(
        "and", {b_("greater_or_equal", {at, i64(0)}), b_("less", {at, extent(axes_[k])})});
    ir::Ints broadcast(static_cast<std::size_t>(l_.rank(x_)), 1);
    broadcast[static_cast<std::size_t>(axes_[k])] = -1;
    y = b_("where", {b_("reshape", {inside, b_.integers(broadcast)}), y, fill});
  }
  return y;
}

/// An empty axis has no position to clamp to: then the result holds the fill value only.
ValueId SliceRule::filled() {
  const ValueId fill = l_.has(4) ? l_.in(4) : b_.scalar(l_.dtype(x_), 0);
  require(l_.dtype(fill) == l_.dtype(x_), "it fills {} with {}; expected one type",
          to_text(l_.type(x_)), to_text(l_.type(fill)));
  const auto nothing_but = [&](ir::Builder& b) {
    return std::vector<ValueId>{b("expand", {fill, SliceRule(*this, b).whole_size()})};
  };
  const auto around = [&](ir::Builder& b) {
    SliceRule rule(*this, b);
    return std::vector<ValueId>{rule.filled_around(rule.gathered(), fill)};
  };
  ValueId empty = ValueId::none;
  for (std::size_t k = 0; k < axes_.size(); ++k) {
    const ir::Extent n = known_extent(k);
    if (n.known() && n.value == 0) return nothing_but(b_)[0];
    if (n.known()) continue;
    const ValueId none = b_("equal", {extent(axes_[k]), i64(0)});
    empty = empty == ValueId::none ? none : b_("or", {empty, none});
  }
  if (empty == ValueId::none) return around(b_)[0];
  return b_.if_(empty, nothing_but, around)[0];
}

std::vector<ValueId> lower_slice(Lowering& l) { return {SliceRule(l).write()}; }

const KindEntry slice_layer{{LayerType::kSLICE, "Slice", 6, lower_slice}};

}  // namespace

ISliceLayer* INetworkDefinition::addSlice(ITensor& input, const Dims& start, const Dims& size,
                                          const Dims& stride) {
  ISliceLayer* layer = add_layer<ISliceLayer>(
      *data_, LayerType::kSLICE, {&input.data()},
      {{"mode", static_cast<std::int64_t>(SampleMode::kSTRICT_BOUNDS)}});
  layer->setStart(start);
  layer->setSize(size);
  layer->setStride(stride);
  return layer;
}

void ISliceLayer::setStart(const Dims& v) { set_dims(*this, {"start", 1}, v); }
Dims ISliceLayer::getStart() const { return dims(*this, {"start", 1}); }
void ISliceLayer::setSize(const Dims& v) { set_dims(*this, {"size", 2}, v); }
Dims ISliceLayer::getSize() const { return dims(*this, {"size", 2}); }
void ISliceLayer::setStride(const Dims& v) { set_dims(*this, {"stride", 3}, v); }
Dims ISliceLayer::getStride() const { return dims(*this, {"stride", 3}); }
void ISliceLayer::setAxes(const Dims& v) { set_dims(*this, {"axes", 5}, v); }
Dims ISliceLayer::getAxes() const { return dims(*this, {"axes", 5}); }
void ISliceLayer::setMode(SampleMode v) { set_choice(*this, "mode", v); }
SampleMode ISliceLayer::getMode() const { return choice<SampleMode>(*this, "mode"); }

}  // namespace rondel::network
