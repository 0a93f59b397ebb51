#pragma once
#include "base/copy.h"
#include "base/kernel_fn.h"
#include "kernels/unsized_kernel.h"

/// Checks of the stop flag in kernels.
namespace rondel::kernels {

/// The exception that a kernel throws when the stop flag is set.
struct Stopped {};

/// Checks the stop flag of a call about every 65,536 units of work. A unit is a few nanoseconds.
class StopCheck {
 public:
  static constexpr std::int64_t interval = 65536;
  explicit StopCheck(const UnsizedCall& call) : stop_(call.stop) {}
  explicit StopCheck(const Context& context) : stop_(context.stop) {}

  /// Throws Stopped if the stop flag is set.
  void check() const {
    if (stop_ != nullptr && stop_->load(std::memory_order_relaxed) != 0) [[unlikely]]
      throw Stopped{};
  }
  void add_work(std::int64_t units) {
    if ((left_ -= units) > 0) [[likely]]
      return;
    left_ = interval;
    check();
  }
  /// to = from, of the same type, in parts with checks between them.
  void assign(const Tensor& from, const Tensor& to) const {
    assign_in_parts(from, to, [this] { check(); });
  }

 private:
  const std::atomic<std::int32_t>* stop_;
  std::int64_t left_ = interval;
};

/// Input k as a row-major block: the input itself if it is row-major, else a copy, made with
/// checks.
inline Tensor packed_with_stop_checks(const UnsizedCall& call, std::size_t k) {
  const Tensor& t = call.tensor(k);
  if (t.contiguous()) return t;
  const Tensor block = call.scratch(t.dtype(), t.shape());
  StopCheck(call).assign(t, block);
  return block;
}

}  // namespace rondel::kernels
