#include "kernels/non_max_suppression.h"

#include "base/error.h"
#include "kernels/stop_check.h"
#include "kernels/vectors.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace rondel::kernels {
namespace {

/// CornerLists as lists of their corners and areas.
struct CornerLists {
  float *left, *right, *top, *bottom, *area;
};

struct CornerBox {
  float left, right, top, bottom;
  float area() const { return (right - left) * (bottom - top); }
};

CornerBox box_at(const float* b, bool centered) {
  if (!centered)
    return {std::min(b[1], b[3]), std::max(b[1], b[3]), std::min(b[0], b[2]), std::max(b[0], b[2])};
  const float half_width = b[2] / 2, half_height = b[3] / 2;
  return {b[0] - half_width, b[0] + half_width, b[1] - half_height, b[1] + half_height};
}

/// Whether the intersection over union with one of the first `count` boxes is above the threshold.
bool overlaps(const CornerBox& box, const CornerLists& all, std::int64_t count, float threshold) {
  constexpr std::int64_t at_once = 64;
  const float area = box.area();
  for (std::int64_t from = 0; from < count; from += at_once) {
    const std::int64_t to = std::min(count, from + at_once);
    int found = 0;
    for (std::int64_t i = from; i < to; ++i) {
      const float width = std::min(box.right, all.right[i]) - std::max(box.left, all.left[i]);
      const float height = std::min(box.bottom, all.bottom[i]) - std::max(box.top, all.top[i]);
      const float shared = width * height, either = area + all.area[i] - shared;
      const int positive = (width > 0) & (height > 0) & (shared > 0) & (area > 0) &
                           (all.area[i] > 0) & (either > 0);
      found |= positive & (shared / either > threshold);
    }
    if (found != 0) return true;
  }
  return false;
}

class BoxSelection {
 public:
  BoxSelection(UnsizedCall& call, bool centered)
      : call_(call), stop_(call), centered_(centered), boxes_(packed_with_stop_checks(call, 0)),
        scores_(packed_with_stop_checks(call, 1)), batch_(boxes_.shape()[0]),
        classes_(scores_.shape()[1]), n_(boxes_.shape()[1]),
        most_(call.has(2) ? call.packed(2).data_as<std::int64_t>()[0] : 0),
        threshold_(number(3).value_or(0)), least_(number(4)) {
    require(most_ >= 0, "max_output_boxes_per_class is {}; expected 0 or more", most_);
    require(threshold_ >= 0 && threshold_ <= 1, "iou_threshold is {}; expected 0 to 1", threshold_);
    require(!least_ || !std::isnan(*least_), "score_threshold is NaN; expected a number");
    most_ = std::min(most_, n_);
  }

  void run() {
    candidates_ = call_.scratch(DType::i64, {n_});
    selected_ = call_.scratch(DType::f32, {5, most_});
    // A class selects at most `most_` boxes; the results grow with the boxes that are selected.
    if (most_ > 0)
      for (std::int64_t b = 0; b < batch_; ++b)
        for (std::int64_t c = 0; c < classes_; ++c) one_class(b, c);
    const auto count = static_cast<std::int64_t>(found_.size()) / 3;
    std::ranges::copy(found_, call_.make(0, DType::i64, {count, 3}).data_as<std::int64_t>());
  }

 private:
  std::optional<float> number(std::size_t k) const {
    if (!call_.has(k)) return std::nullopt;
    return call_.packed(k).data_as<float>()[0];
  }

  void one_class(std::int64_t batch, std::int64_t c) {
    const float* scores = scores_.data_as<float>() + (batch * classes_ + c) * n_;
    const float* boxes = boxes_.data_as<float>() + batch * n_ * 4;
    std::int64_t* heap = candidates_.data_as<std::int64_t>();
    std::int64_t left = 0;
    for (std::int64_t i = 0; i < n_; ++i)
      if (!least_ || scores[i] > *least_) heap[left++] = i;
    stop_.add_work(n_);
    const auto after = [&](std::int64_t i, std::int64_t j) {
      const float a = scores[i], b = scores[j];
      if (a != b && !(std::isnan(a) && std::isnan(b))) return a < b || std::isnan(a);
      return i > j;
    };
    std::make_heap(heap, heap + left, after);
    stop_.add_work(2 * left);
    const CornerLists kept = lists();
    for (std::int64_t count = 0; left > 0 && count < most_; --left) {
      std::pop_heap(heap, heap + left, after);
      const std::int64_t i = heap[left - 1];
      const CornerBox box = box_at(boxes + i * 4, centered_);
      stop_.add_work(count / 8 + 32);
      bool out = false;
      with_vectors([&] { out = overlaps(box, kept, count, threshold_); });
      if (out) continue;
      kept.left[count] = box.left;
      kept.right[count] = box.right;
      kept.top[count] = box.top;
      kept.bottom[count] = box.bottom;
      kept.area[count++] = box.area();
      found_.insert(found_.end(), {batch, c, i});
    }
  }

  CornerLists lists() const {
    float* at = selected_.data_as<float>();
    return {at, at + most_, at + 2 * most_, at + 3 * most_, at + 4 * most_};
  }

  UnsizedCall& call_;
  StopCheck stop_;
  bool centered_;
  Tensor boxes_, scores_;
  std::int64_t batch_, classes_, n_, most_;
  float threshold_;
  std::optional<float> least_;
  Tensor candidates_, selected_;
  std::vector<std::int64_t> found_;
};

}  // namespace

void non_max_suppression(UnsizedCall& call, bool centered) { BoxSelection(call, centered).run(); }

}  // namespace rondel::kernels
