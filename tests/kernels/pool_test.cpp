#include "kernels/pool.h"
#include "call.h"
#include "kernels/narrow_floats.h"

#include <limits>

/// Fast pooling against plain pooling, bit for bit, on random shapes.
namespace rondel::kernels {
namespace {

template <class T> Tensor values(DType t, Shape shape, std::mt19937& generator, bool nans) {
  Tensor x(t, std::move(shape));
  // Few different ones, so that there are equals.
  std::uniform_int_distribution<int> value(-6, 6);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const int v = value(generator);
    if constexpr (std::is_integral_v<T>) {
      x.data_as<T>()[i] = static_cast<T>(v);
    } else {
      const float wide = static_cast<float>(v) * 0.37F;
      x.data_as<T>()[i] = static_cast<T>(nans && v == 6 ? std::numeric_limits<float>::quiet_NaN()
                                                        : wide);
    }
  }
  return x;
}

template <class T> void check_random(DType t, unsigned seed) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << name(t));
  std::mt19937 generator(seed);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(generator);
  };
  const auto spatial = static_cast<std::size_t>(pick(0, 3));
  PoolSpec spec;
  spec.column_major = pick(0, 1) == 1;
  spec.count_include_pad = pick(0, 1) == 1;
  spec.window.ceil_mode = pick(0, 1) == 1;
  Shape x{pick(1, 3), pick(1, 6)}, y = x;
  const bool wide = pick(0, 3) == 0;  // rows in several parts
  for (std::size_t a = 0; a < spatial; ++a) {
    spec.window.kernel.push_back(pick(1, 4));
    spec.window.strides.push_back(pick(1, 4));
    spec.window.dilations.push_back(pick(1, 3));
    const std::int64_t reach = (spec.window.kernel[a] - 1) * spec.window.dilations[a] + 1;
    x.push_back(reach + (a + 1 == spatial ? (wide ? pick(1500, 3000) : pick(0, 40)) : pick(0, 6)));
  }
  if (pick(0, 1) == 1)
    for (std::size_t a = 0; a < 2 * spatial; ++a) spec.window.pads.push_back(pick(0, 5));
  else spec.window.auto_pad = pick(0, 1) == 1 ? AutoPad::same_upper : AutoPad::same_lower;
  for (std::size_t a = 0; a < spatial; ++a)
    y.push_back(window_count(axis_of(spec.window, a, x[a + 2], spec.window.kernel[a]), x[a + 2],
                             spec.window.ceil_mode));
  const bool nans = pick(0, 2) == 0;
  Tensor in = values<T>(t, x, generator, nans);
  const Tensor view = pick(0, 2) == 0 ? turned(in) : in;

  const Tensor want(t, y), got(t, y), where(DType::i64, y), found(DType::i64, y);
  run(*max_pool(spec, t), {in}, {want, where});
  run(*fast_max_pool(spec, t), {view}, {got, found});
  EXPECT_EQ(bytes(got), bytes(want));
  EXPECT_EQ(bytes(found), bytes(where));
  std::fill_n(got.template data_as<char>(), bytes(got).size(), 1);
  run(*fast_max_pool(spec, t), {view}, {got, Tensor()});
  EXPECT_EQ(bytes(got), bytes(want));
  std::fill_n(found.template data_as<char>(), bytes(found).size(), 1);
  run(*fast_max_pool(spec, t), {view}, {Tensor(), found});
  EXPECT_EQ(bytes(found), bytes(where));
  if constexpr (!std::is_integral_v<T>) {
    run(*average_pool(spec, t), {in}, {want});
    run(*fast_average_pool(spec, t), {view}, {got});
    if (!nans) { EXPECT_EQ(bytes(got), bytes(want)); }
  }
}

TEST(Pool, FastAgreesWithPlain) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    check_random<float>(DType::f32, seed);
    check_random<double>(DType::f64, seed);
    check_random<Float16>(DType::f16, seed);
    check_random<BFloat16>(DType::bf16, seed);
    check_random<std::int64_t>(DType::i64, seed);
    check_random<std::int8_t>(DType::i8, seed);
    check_random<std::uint8_t>(DType::u8, seed);
  }
}

TEST(Pool, AWindowInPaddingAloneIsZeroAndNowhere) {
  PoolSpec spec;
  spec.window.kernel = {2, 2};
  spec.window.pads = {2, 0, 0, 0};
  const Tensor x = Tensor::from<float>({1, 1, 1, 9}, {-1, -2, -3, -4, -5, -6, -7, -8, -9});
  for (const auto& kernel : {max_pool(spec, DType::f32), fast_max_pool(spec, DType::f32)}) {
    const Tensor y(DType::f32, {1, 1, 2, 8}), where(DType::i64, {1, 1, 2, 8});
    run(*kernel, {x}, {y, where});
    for (std::int64_t j = 0; j < 8; ++j) {
      EXPECT_EQ(y.data_as<float>()[j], 0);
      EXPECT_EQ(where.data_as<std::int64_t>()[j], -1);
      EXPECT_EQ(y.data_as<float>()[8 + j], static_cast<float>(-1 - j));
      EXPECT_EQ(where.data_as<std::int64_t>()[8 + j], j);
    }
  }
}

TEST(Pool, EndsWhenTheFlagIsSet) {
  PoolSpec spec;
  spec.window.kernel = {64, 64};
  const Tensor x = Tensor::zeros(DType::f32, {1, 1, 512, 512}), y(DType::f32, {1, 1, 449, 449});
  std::atomic<std::int32_t> stop{1};
  for (const auto& kernel : {max_pool(spec, DType::f32), fast_max_pool(spec, DType::f32)}) {
    Context context;
    context.stop = &stop;
    EXPECT_EQ(call(*kernel, context, {x}, {y, Tensor()}), stopped);
  }
}

}  // namespace
}  // namespace rondel::kernels
