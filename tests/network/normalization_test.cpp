#include "network/single_layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rondel::network::test {
namespace {

using testing::HasSubstr;

/// Epsilon is 0, so that results are whole numbers.
auto normalization(std::uint32_t axes,
                   const std::function<void(INormalizationLayer&)>& change = {}) {
  return [=](INetworkDefinition& n, const Inputs& in) {
    INormalizationLayer* l = n.addNormalization(*in[0], *in[1], *in[2], axes);
    l->setName("norm");
    l->setEpsilon(0);
    if (change) change(*l);
    return l->getOutput(0);
  };
}

TEST(Normalization, of_instances) {
  // Channel 0: mean 2, deviation 1; channel 1: mean 4, deviation 2.
  const Tensor y = run_one(
      normalization(0b1100),
      {f32({1, 2, 1, 2}, {1, 3, 2, 6}), f32({1, 2, 1, 1}, {2, 3}), f32({1, 2, 1, 1}, {10, 20})});
  expect(y, {1, 2, 1, 2}, {8, 12, 17, 23});
}

TEST(Normalization, of_layers) {
  const Tensor y = run_one(normalization(0b10),
                           {f32({2, 2}, {1, 3, 2, 6}), f32({1, 2}, {2, 3}), f32({1, 2}, {10, 20})});
  expect(y, {2, 2}, {8, 23, 8, 23});
}

// Group 0 is {1, 1, 3, 3}: mean 2, deviation 1; group 1 is {0, 0, 4, 4}: mean 2, deviation 2.
const Tensor grouped = f32({1, 4, 2}, {1, 1, 3, 3, 0, 0, 4, 4});
void two_groups(INormalizationLayer& l) { l.setNbGroups(2); }

TEST(Normalization, of_groups_with_a_scale_a_group) {
  const Tensor y = run_one(normalization(0b100, two_groups),
                           {grouped, f32({1, 2, 1}, {10, 100}), f32({1, 2, 1}, {1, 2})},
                           Known::extents);
  expect(y, {1, 4, 2}, {-9, -9, 11, 11, -98, -98, 102, 102});
}

TEST(Normalization, of_groups_with_a_scale_a_channel) {
  const auto v2 = [](INetworkDefinition& n, const Inputs& in) {
    INormalizationLayer* l = n.addNormalizationV2(*in[0], *in[1], *in[2], 0b100);
    EXPECT_TRUE(l->isV2());
    l->setEpsilon(0);
    l->setNbGroups(2);
    return l->getOutput(0);
  };
  const Tensor y = run_one(v2,
                           {grouped, f32({1, 4, 1}, {1, 2, 3, 4}), f32({1, 4, 1}, {0, 0, 0, 5})});
  expect(y, {1, 4, 2}, {-1, -1, 2, 2, -3, -3, 9, 9});
}

TEST(Normalization, epsilon_is_added_to_the_variance) {
  // (1 - 2) / sqrt(1 + 3) = -0.5
  const auto build = normalization(0b10, [](INormalizationLayer& l) { l.setEpsilon(3); });
  const Tensor y = run_one(build, {f32({1, 2}, {1, 3}), f32({1, 1}, {1}), f32({1, 1}, {0})});
  expect(y, {1, 2}, {-0.5, 0.5});
}

TEST(Normalization, the_result_has_the_type_of_the_input) {
  const auto cast = [](INetworkDefinition& n, const Inputs& in, DataType to) {
    Inputs all;
    for (ITensor* t : in) all.push_back(n.addCast(*t, to)->getOutput(0));
    return normalization(0b10)(n, all);
  };
  for (const DataType to : {DataType::kHALF, DataType::kBF16, DataType::kDOUBLE}) {
    const Tensor y = run_one(
        [&](INetworkDefinition& n, const Inputs& in) { return cast(n, in, to); },
        {f32({1, 2}, {1, 3}), f32({1, 2}, {2, 3}), f32({1, 2}, {0, 1})});
    EXPECT_EQ(y.dtype(), dtype(to));
    expect(y, {1, 2}, {-2, 4});
  }
}

TEST(Normalization, errors_name_the_layer) {
  const auto error = [](const auto& build, const std::vector<Tensor>& inputs) {
    return error_of([&](INetworkDefinition& n,
                        const Inputs& in) { return std::vector<ITensor*>{build(n, in)}; },
                    inputs);
  };
  const std::vector<Tensor> good = {grouped, f32({1, 4, 1}, {1, 2, 3, 4}),
                                    f32({1, 4, 1}, {1, 2, 3, 4})};
  EXPECT_THAT(error(normalization(0), good),
              HasSubstr("layer 'norm' (Normalization): no axis is normalized over"));
  EXPECT_THAT(error(normalization(0b1000), good),
              HasSubstr("axes 0x8 has bit 3 set, for axis 3, and the tensor has 3 axes"));
  EXPECT_THAT(error(normalization(0b100), {grouped, f32({4}, {1, 2, 3, 4}), good[2]}),
              HasSubstr("the scale is f32[4]; expected 3 axes, each of extent 1 or that of "
                        "f32[1, 4, 2]"));
  EXPECT_THAT(error(normalization(0b100), {grouped, good[1], f32({1, 3, 1}, {1, 2, 3})}),
              HasSubstr("the bias is f32[1, 3, 1]"));
  EXPECT_THAT(error(normalization(0b110, two_groups), good),
              HasSubstr("2 groups need all axes behind the channels"));
  const auto whole = [](INormalizationLayer& l) { l.setComputePrecision(DataType::kINT32); };
  EXPECT_THAT(error(normalization(0b100, whole), good), HasSubstr("it computes in i32"));
  const auto three = [](INormalizationLayer& l) { l.setNbGroups(3); };
  EXPECT_THAT(error(normalization(0b100, three), good),
              HasSubstr("4 channels do not divide into 3 groups"));
}

const std::vector<float> two = {2}, shifts = {10, 20}, squares = {2}, four = {1, 2, 3, 4};

TEST(Scale, once_for_all_for_a_channel_and_for_each_element) {
  const Tensor x = f32({1, 2, 2}, {1, 2, 3, 4});
  const auto scale = [](ScaleMode mode, Weights shift, Weights by, Weights power) {
    return [=](INetworkDefinition& n, const Inputs& in) {
      return n.addScaleNd(*in[0], mode, shift, by, power, 1)->getOutput(0);
    };
  };
  // (2 x + 1) ^ 2
  const std::vector<float> one = {1};
  expect(run_one(scale(ScaleMode::kUNIFORM, weights(one), weights(two), weights(squares)), {x}),
         {1, 2, 2}, {9, 25, 49, 81});
  expect(run_one(scale(ScaleMode::kUNIFORM, {}, {}, {}), {x}), {1, 2, 2}, {1, 2, 3, 4});
  const float unread = 9;  // weights with a count of 0 are not set
  expect(run_one(scale(ScaleMode::kUNIFORM, {DataType::kFLOAT, &unread, 0}, {}, {}), {x}),
         {1, 2, 2}, {1, 2, 3, 4});
  expect(run_one(scale(ScaleMode::kCHANNEL, weights(shifts), {}, {}), {x}, Known::extents),
         {1, 2, 2}, {11, 12, 23, 24});
  expect(run_one(scale(ScaleMode::kELEMENTWISE, {}, weights(four), {}), {x}, Known::extents),
         {1, 2, 2}, {1, 4, 9, 16});
}

TEST(Scale, errors_name_the_layer) {
  const auto error = [](ScaleMode mode, Weights shift, std::int32_t axis, const Tensor& x) {
    return error_of(
        [&](INetworkDefinition& n, const Inputs& in) {
          IScaleLayer* l = n.addScaleNd(*in[0], mode, shift, {}, {}, axis);
          l->setName("s");
          return std::vector<ITensor*>{l->getOutput(0)};
        },
        {x});
  };
  const Tensor x = f32({1, 2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(error(ScaleMode::kCHANNEL, weights(four), 1, x),
              HasSubstr("layer 's' (Scale): the shift has 4 values; expected 2 for f32[1, 2, 2]"));
  EXPECT_THAT(error(ScaleMode::kCHANNEL, weights(two), 3, x),
              HasSubstr("axis 3 of a tensor of 3 axes"));
  EXPECT_THAT(error(ScaleMode::kUNIFORM, weights(two), 0, i64({2}, {1, 2})),
              HasSubstr("the shift is f32 and the input i64[2]; expected one type"));
}

}  // namespace
}  // namespace rondel::network::test
