#include "kernels/pattern.h"

#include "base/error.h"
#include "kernels/stop_check.h"

#include <re2/re2.h>

#include <memory>

namespace rondel::kernels {

UnsizedKernel matches_of(const std::string& pattern) {
  const auto expression = std::make_shared<const re2::RE2>(pattern, re2::RE2::Quiet);
  require(expression->ok(), "pattern '{}' is no regular expression in RE2's syntax: {}", pattern,
          expression->error());
  return [expression](UnsizedCall& call) {
    const Tensor x = call.packed(0), y = call.make(0, DType::boolean, x.shape());
    StopCheck stop(call);
    const std::int64_t count = x.size();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string& text = x.data_as<std::string>()[i];
      y.data_as<bool>()[i] = re2::RE2::FullMatch(text, *expression);
      stop.add_work(64 + static_cast<std::int64_t>(text.size()));
    }
  };
}

}  // namespace rondel::kernels
