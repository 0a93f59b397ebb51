#include "kernels/conv_onednn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

/// The borrowed convolution against the plain one, on random shapes.
namespace rondel::kernels {
namespace {

Tensor random(Shape shape, std::mt19937& generator) {
  Tensor t(DType::f32, std::move(shape));
  std::uniform_real_distribution<float> value(-1.0F, 1.0F);
  for (std::int64_t i = 0; i < t.size(); ++i) t.data_as<float>()[i] = value(generator);
  return t;
}

Tensor magnitudes(const Tensor& t) {
  Tensor out = t.copy();
  for (std::int64_t i = 0; i < out.size(); ++i)
    out.data_as<float>()[i] = std::abs(out.data_as<float>()[i]);
  return out;
}

template <class Kernel> Tensor call(const Kernel& kernel, std::vector<Value> inputs) {
  std::vector<Value> outputs(1);
  const UnsizedCall::Allocate allocate = [](DType t, Shape s) { return Tensor(t, std::move(s)); };
  UnsizedCall c(inputs, outputs, allocate);
  kernel(c);
  return outputs[0].tensor();
}

void check_random(unsigned seed) {
  std::mt19937 generator(seed);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(generator);
  };
  const auto spatial = static_cast<std::size_t>(pick(1, 3));
  ConvSpec spec;
  spec.groups = pick(1, 3);
  const std::int64_t channels = spec.groups * pick(1, 5), maps = spec.groups * pick(1, 5);
  Shape x{pick(1, 3), channels}, w{maps, channels / spec.groups};
  for (std::size_t a = 0; a < spatial; ++a) {
    w.push_back(pick(1, 4));
    spec.window.strides.push_back(pick(1, 3));
    spec.window.dilations.push_back(pick(1, 2));
    x.push_back((w.back() - 1) * spec.window.dilations.back() + 1 + pick(0, 9));
  }
  const AutoPad pads[] = {AutoPad::notset, AutoPad::valid, AutoPad::same_upper,
                          AutoPad::same_lower};
  spec.window.auto_pad = pads[pick(0, 3)];
  if (spec.window.auto_pad == AutoPad::notset)
    for (std::size_t a = 0; a < 2 * spatial; ++a) spec.window.pads.push_back(pick(0, 2));
  std::vector<Value> inputs{random(x, generator), random(w, generator)};
  if (pick(0, 1) == 1) inputs.emplace_back(random({maps}, generator));
  const auto plain = [&](UnsizedCall& c) { conv(c, spec); };
  const FastConv fast(spec);
  std::vector<Value> absolute;
  for (const Value& v : inputs) absolute.emplace_back(magnitudes(v.tensor()));
  const Tensor want = call(plain, inputs), bound = call(plain, absolute);
  for (int again = 0; again < 2; ++again) {
    const Tensor got = call(fast, inputs);
    ASSERT_EQ(got.shape(), want.shape());
    for (std::int64_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got.data_as<float>()[i], want.data_as<float>()[i],
                  1e-5 * bound.data_as<float>()[i])
          << "seed " << seed << ", element " << i;
  }
}

TEST(Conv, BorrowedAgreesWithPlain) {
  for (unsigned seed = 0; seed < 200; ++seed) check_random(seed);
}

TEST(Window, Places) {
  EXPECT_EQ(places({3, 1, 1, 0, 0}, 5, false), 3);
  EXPECT_EQ(places({3, 2, 1, 1, 1}, 5, false), 3);
  EXPECT_EQ(places({2, 2, 1, 0, 0}, 5, false), 2);
  EXPECT_EQ(places({2, 2, 1, 0, 0}, 5, true), 3);
  // A last window that would begin in the padding after the input is not there.
  EXPECT_EQ(places({1, 2, 1, 0, 1}, 2, true), 1);
  EXPECT_THROW(places({3, 1, 1, 0, 0}, 2, false), std::exception);
}

TEST(Window, Inside) {
  for (std::int64_t offset = -5; offset <= 5; ++offset)
    for (std::int64_t stride = 1; stride <= 3; ++stride)
      for (std::int64_t extent = 0; extent <= 4; ++extent) {
        const Inside in = inside(offset, stride, extent, 6);
        for (std::int64_t o = 0; o < 6; ++o) {
          const std::int64_t at = o * stride + offset;
          EXPECT_EQ(at >= 0 && at < extent, o >= in.from && o < in.to)
              << offset << ' ' << stride << ' ' << extent << ' ' << o;
        }
      }
}

}  // namespace
}  // namespace rondel::kernels
