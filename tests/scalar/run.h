#pragma once
#include <rondel/tensor.h>

#include "scalar/program.h"

#include <vector>

/// Running programs in tests: tensors bound in the order of the parameters.
namespace rondel::scalar {

inline Status run(const Executable& executable, Context& context,
                  const std::vector<Tensor>& tensors,
                  const std::vector<std::int64_t>& params = {}) {
  std::vector<View> views;
  for (const Tensor& t : tensors) views.push_back({t.data(), t.shape().data(), t.strides().data()});
  return executable.run(context, views.data(), params.data());
}

inline Status interpreted(const std::shared_ptr<const Program>& program,
                          const std::vector<Tensor>& tensors,
                          const std::vector<std::int64_t>& params = {}) {
  Context context;
  return run(*interpret(program), context, tensors, params);
}

}  // namespace rondel::scalar
