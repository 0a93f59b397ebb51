#pragma once
#include "base/kernel_fn.h"

namespace rondel {

/// Runs the trips [from, to) of a loop of generated code. `values`: what the trips read of the code
/// around the loop.
using PartFn = Status (*)(Context*, const void* values, std::int64_t from, std::int64_t to);

/// Work that is worth the time to wake a thread, about 20 microseconds. A unit is one primitive of
/// one element, most of which are vectorised.
inline constexpr double worth_dividing = 1 << 19;

/// Runs the trips [lo, hi) in parts, on as many threads as the `ThreadScope` of the caller allows.
/// `work`: that of all trips. `together`: so many trips take as long as one. Returns `done`, or the
/// status of the first trip that has another one, and its values in `context->shown`.
Status run_in_parts(Context* context, PartFn, const void* values, std::int64_t lo, std::int64_t hi,
                    double work, std::int64_t together);

}  // namespace rondel
