#include "base/error.h"
#include "scalar/op_facts.h"
#include "scalar/with_checks.h"

#include <algorithm>

namespace rondel::scalar {
namespace {

/// The bytes that a buffer's elements lie in.
struct Range {
  const char *begin = nullptr, *end = nullptr;
  bool overlaps(const Range& o) const { return begin < o.end && o.begin < end; }
};

void check_extents(const Program& p, const Buffer& b, const View& v) {
  std::int64_t step = 1;
  for (std::size_t axis = b.extents.size(); axis-- > 0;) {
    const std::int64_t extent = v.extents[axis];
    invariant(extent >= 0 && (b.extents[axis] < 0 || b.extents[axis] == extent),
              "scalar program {}: axis {} of {} is bound to extent {}, declared {}", p.name, axis,
              b.name, extent, b.extents[axis]);
    step *= extent;
  }
  if (step == 0) return;
  if (b.dense_rows)
    invariant(v.extents[b.extents.size() - 1] == 1 || v.strides[b.extents.size() - 1] == 1,
              "scalar program {}: {} is declared to have dense rows; their stride is {}", p.name,
              b.name, v.strides[b.extents.size() - 1]);
  if (!b.contiguous) return;
  step = 1;
  for (std::size_t axis = b.extents.size(); axis-- > 0;) {
    invariant(v.extents[axis] == 1 || v.strides[axis] == step,
              "scalar program {}: {} is declared row-major; its stride on axis {} is {}, not {}",
              p.name, b.name, axis, v.strides[axis], step);
    step *= v.extents[axis];
  }
}

Range range_of(const Buffer& b, const View& v) {
  std::int64_t first = 0, last = 0;
  for (std::size_t axis = 0; axis < b.extents.size(); ++axis) {
    if (v.extents[axis] == 0) return {};
    const std::int64_t reach = (v.extents[axis] - 1) * v.strides[axis];
    (reach < 0 ? first : last) += reach;
  }
  const auto bytes = static_cast<std::int64_t>(byte_size(b.dtype));
  const auto* at = static_cast<const char*>(v.data);
  return {at + first * bytes, at + (last + 1) * bytes};
}

bool may_overlap(const Program& p, std::size_t i, std::size_t j) {
  const Buffer &a = p.buffers[i], &b = p.buffers[j];
  if (a.access == Access::in && b.access == Access::in) return true;
  if (a.lifetime && b.lifetime && !a.lifetime->meets(*b.lifetime)) return true;
  return a.may_alias == static_cast<std::int32_t>(j) || b.may_alias == static_cast<std::int32_t>(i);
}

}  // namespace

void check_views(const Program& p, const View* views) {
  std::vector<std::pair<Range, std::size_t>> ranges;
  for (std::size_t i = 0; i < p.binding_count(); ++i) {
    check_extents(p, p.buffers[i], views[i]);
    if (const Range r = range_of(p.buffers[i], views[i]); r.begin != r.end)
      ranges.push_back({r, i});
  }
  std::ranges::sort(ranges, {}, [](const auto& at) { return at.first.begin; });
  for (std::size_t x = 0; x < ranges.size(); ++x)
    for (std::size_t y = x + 1; y < ranges.size() && ranges[y].first.overlaps(ranges[x].first); ++y)
      invariant(may_overlap(p, ranges[x].second, ranges[y].second),
                "scalar program {}: {} and {} overlap in memory", p.name,
                p.buffers[ranges[x].second].name, p.buffers[ranges[y].second].name);
}

}  // namespace rondel::scalar
