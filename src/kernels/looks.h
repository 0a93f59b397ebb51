#pragma once
#include "base/copy.h"
#include "base/kernel_fn.h"
#include "kernels/unsized_kernel.h"

/// How kernels look at the stop flag.
namespace rondel::kernels {

/// What a kernel throws when its run is to end before it is done.
struct Stopped {};

/// Counts what a kernel has done, and looks at the flag of its call about every 65,536 units, each
/// a nanosecond or a few.
class Looks {
 public:
  static constexpr std::int64_t units = 65536;
  explicit Looks(const UnsizedCall& call) : stop_(call.stop) {}
  explicit Looks(const Context& context) : stop_(context.stop) {}

  /// Throws Stopped when the run is to end.
  void look() const {
    if (stop_ != nullptr && stop_->load(std::memory_order_relaxed) != 0) [[unlikely]]
      throw Stopped{};
  }
  void did(std::int64_t more) {
    if ((left_ -= more) > 0) [[likely]]
      return;
    left_ = units;
    look();
  }
  /// to = from, of the same type.
  void assign(const Tensor& from, const Tensor& to) const {
    assign_in_parts(from, to, [this] { look(); });
  }

 private:
  const std::atomic<std::int32_t>* stop_;
  std::int64_t left_ = units;
};

/// Input k as a row-major block, itself where it is one; copied with looks.
inline Tensor packed_with_looks(const UnsizedCall& call, std::size_t k) {
  const Tensor& t = call.tensor(k);
  if (t.contiguous()) return t;
  const Tensor block = call.scratch(t.dtype(), t.shape());
  Looks(call).assign(t, block);
  return block;
}

}  // namespace rondel::kernels
