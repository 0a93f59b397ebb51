#include "base/error.h"
#include "frontends/network/rule.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace rondel::network {
namespace {

/// One of start, size and stride, a value for each axis that is sliced.
struct Part {
  ValueId value = ValueId::none;  ///< i64[axes]
  std::optional<ir::Ints> known;
};

/// y[i] = x[start + i * stride] along each axis. Where that stays inside of x it is our `slice`;
/// what other modes do beyond the bounds, and a stride of 0, is done by index.
class SliceRule {
 public:
  explicit SliceRule(Lowering& l)
      : l_(l), b_(l.b), x_(l.in(0)), axes_(axes()), start_(part(1, "start", 0)),
        size_(part(2, "size", 0)), stride_(part(3, "stride", 1)) {}

  ValueId write() {
    const bool strict = l_.choice<SampleMode>("mode") == SampleMode::kSTRICT_BOUNDS;
    if (stays_inside()) return sliced();
    if (strict && stride_.known && std::ranges::count(*stride_.known, 0) == 0)
      return l_.b("reshape", {sliced(), whole_size()}, {{"allowzero", std::int64_t{1}}});
    ValueId y = x_;
    for (std::size_t k = 0; k < axes_.size(); ++k)
      y = b_("gather", {y, positions(k)}, {{"axis", axes_[k]}});
    return l_.choice<SampleMode>("mode") == SampleMode::kFILL ? filled(y) : y;
  }

 private:
  ir::Ints axes() const;
  Part part(std::size_t input, const char* name, std::int64_t otherwise) const;
  bool stays_inside() const;
  ValueId sliced();
  ValueId whole_size();
  ValueId unbounded(std::size_t k);
  ValueId positions(std::size_t k);
  ValueId filled(ValueId y);

  ValueId i64(std::int64_t v) { return b_.scalar<std::int64_t>(v); }
  ValueId element(ValueId list, std::size_t k) {
    return b_("gather", {list, i64(static_cast<std::int64_t>(k))}, {{"axis", std::int64_t{0}}});
  }
  ValueId extent(std::int64_t axis) {
    const ir::Extent& e = l_.type(x_).extent(axis);
    return e.known() ? i64(e.value) : element(b_("shape", {x_}), static_cast<std::size_t>(axis));
  }

  Lowering& l_;
  ir::Builder& b_;
  ValueId x_;
  ir::Ints axes_;
  Part start_, size_, stride_;
};

ir::Ints SliceRule::axes() const {
  const std::int64_t rank = l_.rank(x_);
  ir::Ints all(static_cast<std::size_t>(rank));
  std::iota(all.begin(), all.end(), 0);
  if (l_.has(5)) {
    const Tensor* given = l_.known(l_.in(5));
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
    p.value = l_.cast(l_.in(input), DType::i64);
    if (const Tensor* t = l_.known(l_.in(input))) p.known = ir::integers_of(*t);
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

/// Checks what is known when building. True where all of it is, and every element is one of x.
bool SliceRule::stays_inside() const {
  const bool strict = l_.choice<SampleMode>("mode") == SampleMode::kSTRICT_BOUNDS;
  bool inside = start_.known && size_.known && stride_.known;
  for (std::size_t k = 0; k < axes_.size(); ++k) {
    if (size_.known)
      require((*size_.known)[k] >= 0, "a size of {} along axis {}", (*size_.known)[k], axes_[k]);
    if (!start_.known || !size_.known || !stride_.known || (*size_.known)[k] == 0) continue;
    const std::int64_t first = (*start_.known)[k], stride = (*stride_.known)[k];
    const ir::Extent& e = l_.type(x_).extent(axes_[k]);
    const __int128 last = first + static_cast<__int128>((*size_.known)[k] - 1) * stride;
    const bool fits = first >= 0 && last >= 0 &&
                      (!e.known() || (first < e.value && last < e.value));
    require(fits || !strict,
            "along axis {} it takes {} elements from {} in steps of {}, of {}; expected all within "
            "the bounds, or another mode",
            axes_[k], (*size_.known)[k], first, stride, to_text(l_.type(x_)));
    inside = inside && fits && e.known() && stride != 0;
  }
  return inside;
}

ValueId SliceRule::sliced() {
  ValueId end;
  if (start_.known && size_.known) {
    ir::Ints ends;
    for (std::size_t k = 0; k < axes_.size(); ++k) {
      const std::int64_t e = (*start_.known)[k] + (*size_.known)[k] * (*stride_.known)[k];
      ends.push_back(e < 0 ? std::numeric_limits<std::int64_t>::min() : e);
    }
    end = b_.integers(ends);
  } else {
    const auto& strides = *stride_.known;
    const bool ones = std::ranges::count(strides, 1) == std::ssize(strides);
    end = b_("add", {start_.value, ones ? size_.value : b_("mul", {size_.value, stride_.value})});
    if (std::ranges::any_of(strides, [](std::int64_t s) { return s < 0; }))
      end = b_("where",
               {b_("less", {end, i64(0)}), i64(std::numeric_limits<std::int64_t>::min()), end});
  }
  const bool steps = std::ranges::any_of(*stride_.known, [](std::int64_t s) { return s != 1; });
  std::vector<ValueId> inputs{x_, start_.value, end, b_.integers(axes_)};
  if (steps) inputs.push_back(stride_.value);
  return b_("slice", inputs);
}

/// The extents that the result must have: our `slice` stops at the bounds, so it may have fewer.
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

/// start + i * stride for each element along axis k.
ValueId SliceRule::unbounded(std::size_t k) {
  const ValueId i = b_("range", {i64(0), element(size_.value, k), i64(1)});
  return b_("add", {element(start_.value, k), b_("mul", {i, element(stride_.value, k)})});
}

ValueId SliceRule::positions(std::size_t k) {
  const ValueId at = unbounded(k), n = extent(axes_[k]);
  const ValueId last = b_("sub", {n, i64(1)});
  switch (l_.choice<SampleMode>("mode")) {
    case SampleMode::kSTRICT_BOUNDS: return at;
    case SampleMode::kWRAP: return b_("mod", {at, n});
    case SampleMode::kFILL:
    case SampleMode::kCLAMP: return b_("max", {b_("min", {at, last}), i64(0)});
    case SampleMode::kREFLECT: {
      const ValueId period = b_("max", {b_("mul", {last, i64(2)}), i64(1)});
      const ValueId in_period = b_("mod", {at, period});
      return b_("min", {in_period, b_("sub", {period, in_period})});
    }
  }
  fail("there is no slice mode {}", l_.parameters().i("mode"));
}

/// `y` where the position is one of x, else the fill value.
ValueId SliceRule::filled(ValueId y) {
  const ValueId fill = l_.has(4) ? l_.in(4) : b_.scalar(l_.dtype(x_), 0);
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

std::vector<ValueId> lower(Lowering& l) { return {SliceRule(l).write()}; }

const KindEntry entry{{LayerType::kSLICE, "Slice", 6, lower}};

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

void ISliceLayer::setStart(const Dims& v) { set_dims(*this, "start", v); }
Dims ISliceLayer::getStart() const { return dims(*this, "start"); }
void ISliceLayer::setSize(const Dims& v) { set_dims(*this, "size", v); }
Dims ISliceLayer::getSize() const { return dims(*this, "size"); }
void ISliceLayer::setStride(const Dims& v) { set_dims(*this, "stride", v); }
Dims ISliceLayer::getStride() const { return dims(*this, "stride"); }
void ISliceLayer::setAxes(const Dims& v) { set_dims(*this, "axes", v); }
Dims ISliceLayer::getAxes() const { return dims(*this, "axes"); }
void ISliceLayer::setMode(SampleMode v) { set_choice(*this, "mode", v); }
SampleMode ISliceLayer::getMode() const { return choice<SampleMode>(*this, "mode"); }

}  // namespace rondel::network
