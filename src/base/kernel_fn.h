#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// The calling convention of functions on arrays: programs and kernels.
namespace rondel {

/// A bound array: address, extents, and strides in elements (may be 0 or negative).
struct View {
  void* data;
  const std::int64_t* extents;
  const std::int64_t* strides;
};

/// The most numbers that the text of a site takes, trips included.
inline constexpr std::size_t most_shown = 16;

/// Data shared between running code and its caller.
struct Context {
  /// Non-zero: end within a fraction of a millisecond with status `stopped`, whatever the code;
  /// what it writes is then unspecified. One that is done by then may end as it would have.
  std::atomic<std::int32_t>* stop = nullptr;
  std::array<std::int64_t, most_shown> shown{};  ///< the values of the check that failed
  void* workspace = nullptr;  ///< of a program: its `workspace_bytes`, 64-byte aligned
};

/// 0: done. -1: stopped by the flag. s > 0: site s-1 failed.
using Status = std::int32_t;
inline constexpr Status done = 0, stopped = -1;

/// A kernel that a program may call on views (the trailing axes of its buffers).
using KernelFn = Status (*)(Context&, std::span<const View> views, const void* attributes);

/// How many "{}" are in it.
std::size_t values_shown(std::string_view text);

/// The text of a site; "{}" in it takes the values shown in order.
std::string site_text(std::string_view text, std::span<const std::int64_t> shown);

}  // namespace rondel
