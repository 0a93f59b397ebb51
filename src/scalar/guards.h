#pragma once
#include "scalar/program.h"

/// Calls for check mode: they find writes past the end of what a kernel or a product may write.
namespace rondel::scalar {

/// A kernel that runs with memory of its own for all that it writes, between guards. The memory is
/// poisoned before the call, and copied to the outputs after it. A write outside of an output
/// throws Error(internal).
struct GuardedKernel {
  struct Output {
    std::size_t view;
    DType dtype;
    std::int64_t rank;
  };
  std::string name;  ///< for errors
  KernelFn function = nullptr;
  std::shared_ptr<const void> attributes;
  std::vector<Output> outputs;  ///< row-major; outputs without an address are left out

  Status run(Context&, std::span<const View>) const;
  /// `run` of the GuardedKernel that `attributes` points to.
  static Status call(Context&, std::span<const View>, const void* attributes);
};

/// The same call through a GuardedKernel. A call that does not say what it writes is returned as it
/// is.
Call guarded(const Program&, const Call&);

/// A call that poisons a buffer. It never fails, but may be stopped.
Call poisoning(const Program&, std::int32_t buffer);

/// The bytes behind an array that `saving_tail` saves.
inline constexpr std::int64_t tail_bytes = 64;
/// A call that saves the bytes behind the end of a part of a buffer to `saved`, u8[tail_bytes]. The
/// bytes must be readable.
Call saving_tail(const Program&, Call::Operand part, std::int32_t saved);
/// A call that fails at site 0 of its own if these bytes are not as they were saved.
Call comparing_tail(const Program&, Call::Operand part, std::int32_t saved);

}  // namespace rondel::scalar
