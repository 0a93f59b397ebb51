#pragma once
#include "kernels/kernel.h"

#include <rondel/tensor.h>

#include <gtest/gtest.h>

#include <random>
#include <vector>

/// Calls kernels on views, like steps and programs.
namespace rondel::kernels {

/// Calls a kernel on inputs and outputs (undefined: omitted). The workspace has exactly the
/// requested size; the test fails if the kernel writes to the margin after it.
inline Status call(const SizedKernel& kernel, Context& context, const std::vector<Tensor>& inputs,
                   const std::vector<Tensor>& outputs) {
  std::vector<Operand> operands;
  std::vector<View> views;
  for (const auto* group : {&inputs, &outputs})
    for (const Tensor& t : *group) {
      views.push_back({t.data(), t.shape().data(), t.strides().data()});
      if (t.defined()) operands.push_back({true, t.shape(), t.contiguous()});
      else operands.push_back({.given = false});
    }
  const std::int64_t bytes = kernel.workspace(operands), margin = 64;
  const Tensor workspace(DType::u8, {bytes + margin});
  std::fill_n(workspace.data_as<char>(), bytes + margin, 'm');
  views.push_back({workspace.data(), workspace.shape().data(), workspace.strides().data()});
  const Status status = SizedKernel::call(context, views, &kernel);
  for (std::int64_t i = 0; i < margin; ++i)
    EXPECT_EQ(workspace.data_as<char>()[bytes + i], 'm') << "beyond the workspace";
  return status;
}

inline void run(const SizedKernel& kernel, const std::vector<Tensor>& inputs,
                const std::vector<Tensor>& outputs) {
  Context context;
  ASSERT_EQ(call(kernel, context, inputs, outputs), done);
}

/// The bytes of a row-major tensor.
inline std::string bytes(const Tensor& t) {
  return {t.data_as<char>(), static_cast<std::size_t>(t.size()) * byte_size(t.dtype())};
}

/// A copy in column-major order: the same shape and elements, with strides that are not row-major.
inline Tensor column_major_copy(const Tensor& t) {
  Shape shape(t.shape().rbegin(), t.shape().rend());
  const Tensor block(t.dtype(), shape);
  const Shape steps = row_major_strides(shape);
  const Tensor view = block.strided(0, t.shape(), {steps.rbegin(), steps.rend()});
  view.assign(t);
  return view;
}

}  // namespace rondel::kernels
