#include "network/single_layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rondel::network::test {
namespace {

using testing::HasSubstr;

auto quantize(DataType to, std::optional<std::int32_t> axis = {}) {
  return [=](INetworkDefinition& n, const Inputs& in) {
    IQuantizeLayer* l = n.addQuantize(*in[0], *in[1], to);
    l->setName("q");
    if (in.size() > 2) l->setInput(2, *in[2]);
    if (axis) l->setAxis(*axis);
    return l->getOutput(0);
  };
}

auto dequantize(DataType to, std::optional<std::int32_t> axis = {}) {
  return [=](INetworkDefinition& n, const Inputs& in) {
    IDequantizeLayer* l = n.addDequantize(*in[0], *in[1], to);
    if (axis) l->setAxis(*axis);
    return l->getOutput(0);
  };
}

const Tensor x = f32({2, 2}, {1, 5, -3, 1000});

// y = saturate(round_even(x / scale) + zero point)
TEST(Quantize, with_one_scale) {
  const Tensor y = run_one(quantize(DataType::kINT8), {x, Tensor::scalar(2.0F)});
  EXPECT_EQ(y.dtype(), DType::i8);
  expect(y, {2, 2}, {0, 2, -2, 127});
  expect(run_one(quantize(DataType::kUINT8), {x, Tensor::scalar(2.0F), Tensor::scalar(3.0F)}),
         {2, 2}, {3, 5, 1, 255});
  expect(run_one(quantize(DataType::kFP8), {x, Tensor::scalar(1.0F)}), {2, 2}, {1, 5, -3, 448});
  expect(run_one(quantize(DataType::kFP4), {x, Tensor::scalar(1.0F)}), {2, 2}, {1, 4, -3, 6});
  expect(run_one(quantize(DataType::kINT4), {x, Tensor::scalar(1.0F)}), {2, 2}, {1, 5, -3, 7});
}

TEST(Quantize, with_a_scale_an_index_of_the_axis_or_a_block) {
  const Tensor scale = f32({2}, {1, 10});
  expect(run_one(quantize(DataType::kINT8, 0), {x, scale}), {2, 2}, {1, 5, 0, 100});
  expect(run_one(quantize(DataType::kINT8, -1), {x, scale}), {2, 2}, {1, 0, -3, 100});
  expect(run_one(quantize(DataType::kINT8), {x, f32({2, 1}, {1, 10})}, Known::extents), {2, 2},
         {1, 5, 0, 100});
}

// y = (x - zero point) * scale
TEST(Dequantize, is_the_way_back) {
  const Tensor q = Tensor::from<std::int8_t>({2, 2}, {1, 5, -3, 100});
  const Tensor y = run_one(dequantize(DataType::kFLOAT), {q, Tensor::scalar(0.5F)});
  EXPECT_EQ(y.dtype(), DType::f32);
  expect(y, {2, 2}, {0.5, 2.5, -1.5, 50});
  expect(run_one(dequantize(DataType::kFLOAT, 1), {q, f32({2}, {1, 10})}), {2, 2},
         {1, 50, -3, 1000});
  expect(run_one(dequantize(DataType::kHALF), {q, Tensor::scalar(0.5F)}), {2, 2},
         {0.5, 2.5, -1.5, 50});
}

TEST(Quantize, errors_name_the_layer) {
  const auto error = [](const auto& build, const std::vector<Tensor>& inputs) {
    return error_of([&](INetworkDefinition& n,
                        const Inputs& in) { return std::vector<ITensor*>{build(n, in)}; },
                    inputs);
  };
  EXPECT_THAT(error(quantize(DataType::kINT8), {x, f32({2}, {1, 2})}),
              HasSubstr("layer 'q' (Quantize): the scale is f32[2]; set the axis that it goes "
                        "along"));
  EXPECT_THAT(error(quantize(DataType::kINT8, 2), {x, f32({2}, {1, 2})}),
              HasSubstr("layer 'q' (Quantize): axis 2 of a tensor of 2 axes"));
  EXPECT_THAT(error(quantize(DataType::kINT8, 0), {x, f32({3}, {1, 2, 3})}),
              HasSubstr("the scale has extent 3 on axis 0; expected 2"));
  EXPECT_THAT(error(quantize(DataType::kINT32), {x, Tensor::scalar(1.0F)}),
              HasSubstr("there is no quantization to i32"));
}

}  // namespace
}  // namespace rondel::network::test
