#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// The calling convention of scalar programs and kernels: functions on arrays.
namespace rondel {

/// A bound array: address, extents, and strides in elements (may be 0 or negative).
struct View {
  void* data;
  const std::int64_t* extents;
  const std::int64_t* strides;
};

/// The largest number of values that the message of a failure site shows, trip numbers included.
inline constexpr std::size_t most_shown = 16;

/// Data shared between running code and its caller.
struct Context {
  /// The stop flag. Non-zero: return `stopped` within a fraction of a millisecond; the contents of
  /// the outputs are then unspecified. Code that finishes within that time may return its own
  /// status.
  std::atomic<std::int32_t>* stop = nullptr;
  std::array<std::int64_t, most_shown> shown{};  ///< the values that the failed check shows
  void* workspace = nullptr;  ///< for programs: `workspace_bytes` bytes, 64-byte aligned
  bool interpreted = false;   ///< whether native code was not ready for the last run
};

/// 0: done. -1: stopped by the stop flag. s > 0: failed at site s-1.
using Status = std::int32_t;
inline constexpr Status done = 0, stopped = -1;

/// A kernel that a program may call on views (the trailing axes of its buffers).
using KernelFn = Status (*)(Context&, std::span<const View> views, const void* attributes);

/// The number of "{}" in the message of a site.
std::size_t values_shown(std::string_view text);

/// The message of a site: each "{}" in `text` is replaced by the next value of `shown`.
std::string site_text(std::string_view text, std::span<const std::int64_t> shown);

}  // namespace rondel
