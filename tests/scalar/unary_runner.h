#pragma once
#include <rondel/tensor.h>

#include "scalar/builder.h"
#include "scalar/run.h"

#include <gtest/gtest.h>

#include <functional>

/// Element-wise programs over tensors, for tests.
namespace rondel::scalar {

/// y[i] = f(x0[i], x1[i], ...), interpreted.
inline Tensor map(DType to, const std::vector<Tensor>& inputs,
                  const std::function<Ex(Builder&, const std::vector<Ex>&)>& f) {
  Builder b("map");
  std::vector<std::int32_t> ids;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    ids.push_back(b.buffer({"x" + std::to_string(k), inputs[k].dtype(), Access::in, {-1}}));
  const auto y = b.buffer({"y", to, Access::out, {-1}});
  b.for_each(b.index(0), b.extent(y, 0), [&](Ex i) {
    std::vector<Ex> values;
    for (const auto id : ids) values.push_back(b.load(id, {i}));
    b.store(y, {i}, f(b, values));
  });
  std::vector<Tensor> tensors = inputs;
  tensors.emplace_back(to, inputs[0].shape());
  EXPECT_EQ(interpreted(b.finish(), tensors), done);
  return tensors.back();
}

}  // namespace rondel::scalar
