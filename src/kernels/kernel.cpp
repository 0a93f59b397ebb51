#include "kernels/kernel.h"

#include "kernels/stop_check.h"

#include <algorithm>

namespace rondel::kernels {

Status SizedKernel::call(Context& context, std::span<const View> views, const void* attributes) {
  try {
    return static_cast<const SizedKernel*>(attributes)->run(context, views);
  } catch (const Stopped&) { return stopped; }
}

Status SizedKernel::failed(Context& context, std::int32_t site,
                           std::initializer_list<std::int64_t> shown) {
  std::copy(shown.begin(), shown.end(), context.shown.begin());
  return site + 1;
}

}  // namespace rondel::kernels
