#include "kernels/class_probabilities.h"

#include "kernels/views.h"
#include "kernels/workspace.h"

#include <cmath>

namespace rondel::kernels {
namespace {

class ClassProbabilities final : public SizedKernel {
 public:
  explicit ClassProbabilities(std::int64_t classes) : SizedKernel(1, 1), k_(classes) {}

  std::int64_t workspace(std::span<const Operand> o) const override {
    Workspace counted;
    lay_out(counted, o[0]);
    return counted.bytes();
  }

  Status run(Context& context, std::span<const View> v) const override {
    StopCheck stop(context);
    Workspace workspace(v.back());
    const Operand x = operand_of(v[0], 2);
    const Buffers buffers = lay_out(workspace, x);
    const float* pairs = row_major(stop, v[0], 2, buffers.packing);
    auto* p = static_cast<float*>(v[1].data);
    for (std::int64_t i = 0; i < x.extents[0]; ++i, pairs += x.extents[1], p += k_) {
      set_matrix(pairs, buffers);
      couple(stop, buffers, p);
    }
    return done;
  }

 private:
  struct Buffers {
    float *packing, *r, *q, *qp;
  };
  Buffers lay_out(Workspace& w, const Operand& x) const {
    const std::int64_t square = checked_mul(k_, k_);
    return {w.take<float>(packing_size(x)), w.take<float>(square), w.take<float>(square),
            w.take<float>(k_)};
  }

  void set_matrix(const float* pairs, const Buffers& b) const {
    for (std::int64_t i = 0; i < k_; ++i) {
      for (std::int64_t j = i + 1; j < k_; ++j, ++pairs) {
        b.r[i * k_ + j] = *pairs;
        b.r[j * k_ + i] = 1 - *pairs;
      }
    }
    for (std::int64_t i = 0; i < k_; ++i) {
      b.q[i * k_ + i] = 0;
      for (std::int64_t j = 0; j < k_; ++j) {
        if (j == i) continue;
        b.q[i * k_ + i] += b.r[j * k_ + i] * b.r[j * k_ + i];
        b.q[i * k_ + j] = -b.r[j * k_ + i] * b.r[i * k_ + j];
      }
    }
  }

  /// Minimizes p^T Q p over probabilities p, one coordinate after the other.
  void couple(StopCheck& stop, const Buffers& b, float* p) const {
    const float tolerance = 0.005F / static_cast<float>(k_);
    std::fill_n(p, k_, 1 / static_cast<float>(k_));
    for (int round = 0; round < 100; ++round) {
      stop.add_work(k_ * k_);
      float total = 0;
      for (std::int64_t i = 0; i < k_; ++i) {
        b.qp[i] = 0;
        for (std::int64_t j = 0; j < k_; ++j) b.qp[i] += b.q[i * k_ + j] * p[j];
        total += p[i] * b.qp[i];
      }
      float worst = 0;
      for (std::int64_t i = 0; i < k_; ++i) worst = std::max(worst, std::fabs(b.qp[i] - total));
      if (worst < tolerance) return;
      for (std::int64_t i = 0; i < k_; ++i) improve(b, p, i, total);
    }
  }

  void improve(const Buffers& b, float* p, std::int64_t i, float& total) const {
    const float* row = b.q + i * k_;
    const float step = (total - b.qp[i]) / row[i];
    p[i] += step;
    total = (total + step * (step * row[i] + 2 * b.qp[i])) / (1 + step) / (1 + step);
    for (std::int64_t j = 0; j < k_; ++j) {
      b.qp[j] = (b.qp[j] + step * row[j]) / (1 + step);
      p[j] /= 1 + step;
    }
  }

  std::int64_t k_;
};

}  // namespace

std::shared_ptr<const SizedKernel> class_probabilities(std::int64_t classes) {
  return std::make_shared<ClassProbabilities>(classes);
}

}  // namespace rondel::kernels
