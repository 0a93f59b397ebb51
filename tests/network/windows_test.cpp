#include "network/single_layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rondel::network::test {
namespace {

using testing::HasSubstr;

const std::vector<float> kernel = {1, 2, 3, 4}, bias = {10};
const Tensor x33 = f32({1, 1, 3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8});

/// A convolution with one map of x33's size, changed by `change`.
auto convolution(const std::function<void(IConvolutionLayer&)>& change) {
  return [change](INetworkDefinition& n, const Inputs& in) {
    IConvolutionLayer* l = n.addConvolutionNd(*in[0], 1, Dims2{2, 2}, weights(kernel),
                                              weights(bias));
    l->setName("conv");
    change(*l);
    return l->getOutput(0);
  };
}

TEST(Convolution, slides_the_kernel_and_adds_the_bias) {
  // y[r, c] = 10 + 1 x[r, c] + 2 x[r, c + 1] + 3 x[r + 1, c] + 4 x[r + 1, c + 1]
  expect(run_one(convolution([](IConvolutionLayer&) {}), {x33}), {1, 1, 2, 2}, {37, 47, 67, 77});
}

TEST(Convolution, padding_modes) {
  // x33 with zeros around it; the formula of the test above.
  const auto with = [](PaddingMode mode, std::int64_t stride) {
    return convolution([=](IConvolutionLayer& l) {
      l.setPaddingMode(mode);
      l.setStrideNd(Dims2{stride, stride});
    });
  };
  expect(run_one(with(PaddingMode::kEXPLICIT_ROUND_DOWN, 2), {x33}), {1, 1, 1, 1}, {37});
  expect(run_one(with(PaddingMode::kEXPLICIT_ROUND_UP, 2), {x33}), {1, 1, 2, 2}, {37, 27, 30, 18});
  expect(run_one(with(PaddingMode::kSAME_UPPER, 1), {x33}), {1, 1, 3, 3},
         {37, 47, 27, 67, 77, 39, 30, 33, 18});
  expect(run_one(with(PaddingMode::kSAME_LOWER, 1), {x33}), {1, 1, 3, 3},
         {10, 14, 21, 22, 37, 47, 40, 67, 77});
}

TEST(Convolution, padding_before_and_after_differ) {
  const Tensor y = run_one(convolution([](IConvolutionLayer& l) {
                             l.setPrePadding(Dims2{1, 0});
                             l.setPostPadding(Dims2{0, 1});
                           }),
                           {x33});
  expect(y, {1, 1, 3, 3}, {14, 21, 16, 37, 47, 27, 67, 77, 39});
}

TEST(Convolution, groups_and_dilation) {
  const std::vector<float> two = {10, 100}, pair = {1, 10};
  const Tensor y = run_one(
      [&](INetworkDefinition& n, const Inputs& in) {
        IConvolutionLayer* l = n.addConvolutionNd(*in[0], 2, Dims{1, {1}}, weights(two), {});
        l->setNbGroups(2);
        return l->getOutput(0);
      },
      {f32({1, 2, 2}, {1, 2, 3, 4})}, Known::extents);
  expect(y, {1, 2, 2}, {10, 20, 300, 400});
  const Tensor z = run_one(
      [&](INetworkDefinition& n, const Inputs& in) {
        IConvolutionLayer* l = n.addConvolutionNd(*in[0], 1, Dims{1, {2}}, weights(pair), {});
        l->setDilationNd(Dims{1, {2}});
        return l->getOutput(0);
      },
      {f32({1, 1, 4}, {1, 2, 3, 4})});
  expect(z, {1, 1, 2}, {31, 42});
}

TEST(Convolution, takes_kernel_and_bias_as_tensors_and_computes_in_the_type_of_its_input) {
  const Tensor y = run_one(
      [](INetworkDefinition& n, const Inputs& in) {
        IConvolutionLayer* l = n.addConvolutionNd(*in[0], 1, Dims2{2, 2}, {}, {});
        l->setInput(1, *in[1]);
        l->setInput(2, *in[2]);
        return l->getOutput(0);
      },
      {x33, f32({1, 1, 2, 2}, {1, 2, 3, 4}), f32({1}, {10})});
  expect(y, {1, 1, 2, 2}, {37, 47, 67, 77});
  const Tensor d = Tensor::from<double>({1, 1, 2, 2}, {1, 0, 0, 1e-12});
  const Tensor z = run_one(convolution([](IConvolutionLayer&) {}), {d});
  EXPECT_EQ(z.dtype(), DType::f64);
  EXPECT_EQ(z.data_as<double>()[0], 11 + 4e-12);
}

TEST(Convolution, errors_name_the_layer_and_the_figures) {
  const auto error = [](const std::function<void(IConvolutionLayer&)>& change) {
    return error_of([&](INetworkDefinition& n,
                        const Inputs& in) { return std::vector{convolution(change)(n, in)}; },
                    {x33});
  };
  const std::vector<float> three = {1, 2, 3};
  EXPECT_THAT(error([&](IConvolutionLayer& l) { l.setKernelWeights(weights(three)); }),
              HasSubstr("layer 'conv' (Convolution): the kernel has 3 weights; expected 4 for 1 "
                        "output maps, 1 channels in 1 groups and a kernel of [2, 2]"));
  EXPECT_THAT(
      error([](IConvolutionLayer& l) { l.setKernelWeights({}); }),
      HasSubstr("layer 'conv' (Convolution): it has no kernel; give weights or set input 1"));
  EXPECT_THAT(error([&](IConvolutionLayer& l) { l.setBiasWeights(weights(three)); }),
              HasSubstr("the bias has 3 weights for 1 output maps"));
  EXPECT_THAT(error([](IConvolutionLayer& l) {
                l.setKernelSizeNd(Dims{1, {4}});
              }),
              HasSubstr("a window of 1 axes over f32[1, 1, 3, 3]; expected batch, channels and the "
                        "window's axes"));
  EXPECT_THAT(error([](IConvolutionLayer& l) {
                l.setStrideNd(Dims{1, {1}});
              }),
              HasSubstr("the stride has 1 axes and the window 2"));
  EXPECT_THAT(error([](IConvolutionLayer& l) {
                l.setStrideNd(Dims2{0, 1});
              }),
              HasSubstr("strides has 0; expected 1"));
  EXPECT_THAT(error([](IConvolutionLayer& l) { l.setNbGroups(0); }),
              HasSubstr("1 output maps in 0 groups"));
}

const Tensor row = f32({1, 1, 1, 4}, {1, 2, 3, 4});

auto pooling(PoolingType type, Dims window, const std::function<void(IPoolingLayer&)>& change) {
  return [=](INetworkDefinition& n, const Inputs& in) {
    IPoolingLayer* l = n.addPoolingNd(*in[0], type, window);
    l->setName("pool");
    change(*l);
    return l->getOutput(0);
  };
}

TEST(Pooling, maximum) {
  expect(run_one(pooling(PoolingType::kMAX, Dims2{1, 2}, [](IPoolingLayer&) {}), {row}),
         {1, 1, 1, 3}, {2, 3, 4});
}

TEST(Pooling, average_with_and_without_the_padding) {
  const auto average = [](bool exclusive) {
    return pooling(PoolingType::kAVERAGE, Dims2{1, 2}, [=](IPoolingLayer& l) {
      l.setPaddingNd(Dims2{0, 1});
      l.setAverageCountExcludesPadding(exclusive);
    });
  };
  expect(run_one(average(true), {row}), {1, 1, 1, 5}, {1, 1.5, 2.5, 3.5, 4});
  expect(run_one(average(false), {row}), {1, 1, 1, 5}, {0.5, 1.5, 2.5, 3.5, 2});
}

TEST(Pooling, blend_is_weighted_between_maximum_and_average) {
  // 0.75 * [1, 2, 3, 4, 4] + 0.25 * [1, 1.5, 2.5, 3.5, 4]
  const auto blend = pooling(PoolingType::kMAX_AVERAGE_BLEND, Dims2{1, 2}, [](IPoolingLayer& l) {
    l.setPaddingNd(Dims2{0, 1});
    l.setBlendFactor(0.25F);
  });
  expect(run_one(blend, {row}), {1, 1, 1, 5}, {1, 1.875, 2.875, 3.875, 4});
}

TEST(Pooling, padding_modes) {
  const auto with = [](PaddingMode mode) {
    return pooling(PoolingType::kMAX, Dims2{1, 3}, [=](IPoolingLayer& l) {
      l.setStrideNd(Dims2{1, 2});
      l.setPaddingMode(mode);
    });
  };
  expect(run_one(with(PaddingMode::kEXPLICIT_ROUND_DOWN), {row}), {1, 1, 1, 1}, {3});
  expect(run_one(with(PaddingMode::kEXPLICIT_ROUND_UP), {row}), {1, 1, 1, 2}, {3, 4});
  expect(run_one(with(PaddingMode::kSAME_UPPER), {row}), {1, 1, 1, 2}, {3, 4});
  expect(run_one(with(PaddingMode::kSAME_LOWER), {row}), {1, 1, 1, 2}, {2, 4});
}

TEST(Pooling, tells_what_is_not_set) {
  INetworkDefinition n;
  ITensor* x = n.addInput("x", DataType::kFLOAT, Dims4{1, 1, 4, 4});
  const auto expect_dims = [](const Dims& d, std::int64_t v) {
    ASSERT_EQ(d.nbDims, 2);
    EXPECT_EQ(d.d[0], v);
    EXPECT_EQ(d.d[1], v);
  };
  const auto expect_defaults = [&](const auto& layer) {
    expect_dims(layer.getStrideNd(), 1);
    for (const Dims& d : {layer.getPaddingNd(), layer.getPrePadding(), layer.getPostPadding()})
      expect_dims(d, 0);
  };
  expect_defaults(*n.addPoolingNd(*x, PoolingType::kMAX, Dims2{2, 3}));
  IConvolutionLayer* c = n.addConvolutionNd(*x, 1, Dims2{2, 3}, {}, {});
  expect_defaults(*c);
  expect_dims(c->getDilationNd(), 1);
  c->setStrideNd(Dims2{5, 5});
  expect_dims(c->getStrideNd(), 5);
}

TEST(Pooling, errors_name_the_layer) {
  const auto build = [](INetworkDefinition& n, const Inputs& in) {
    return std::vector{pooling(PoolingType::kMAX, Dims3{1, 1, 1}, [](IPoolingLayer&) {})(n, in)};
  };
  EXPECT_THAT(error_of(build, {row}),
              HasSubstr("layer 'pool' (Pooling): a window of 3 axes over f32[1, 1, 1, 4]"));
}

}  // namespace
}  // namespace rondel::network::test
