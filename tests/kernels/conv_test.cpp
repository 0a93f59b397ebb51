#include "kernels/conv.h"
#include "call.h"
#include "kernels/narrow_floats.h"
#include "kernels/threads.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

/// The fast convolution is compared with the reference, on random shapes.
namespace rondel::kernels {
namespace {

/// The dtypes of the sums, as C++ types.
template <class T> constexpr DType dtype = std::is_same_v<T, double> ? DType::f64 : DType::f32;

template <class T> Tensor random(Shape shape, std::mt19937& generator) {
  Tensor t(dtype<T>, std::move(shape));
  std::uniform_real_distribution<T> value(-1, 1);
  for (std::int64_t i = 0; i < t.size(); ++i) t.data_as<T>()[i] = value(generator);
  return t;
}

/// f(element) for each element of a tensor of T, as elements of To, of dtype `t`; undefined if the
/// tensor is.
template <class T, class To, class F> Tensor each(const Tensor& x, DType t, const F& f) {
  if (!x.defined()) return x;
  Tensor out(t, x.shape());
  std::transform(x.data_as<T>(), x.data_as<T>() + x.size(), out.data_as<To>(), f);
  return out;
}
template <class F> std::vector<Tensor> each_tensor(const std::vector<Tensor>& all, const F& f) {
  std::vector<Tensor> out;
  std::transform(all.begin(), all.end(), std::back_inserter(out), f);
  return out;
}
template <class T> Tensor magnitudes(const Tensor& x) {
  return each<T, T>(x, dtype<T>, [](T v) { return std::abs(v); });
}
Tensor column_major(const Tensor& x) { return x.defined() ? column_major_copy(x) : x; }

/// A random convolution and its inputs.
struct Case {
  ConvSpec spec;
  std::vector<Tensor> inputs;  ///< x, w, bias (undefined: omitted)
  Shape y;
};

template <class T> Case random_case(unsigned seed, std::int64_t longest_row) {
  std::mt19937 generator(seed);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(generator);
  };
  const auto spatial = static_cast<std::size_t>(pick(0, 3));
  Case c;
  ConvSpec& spec = c.spec;
  spec.groups = pick(1, 3);
  const std::int64_t channels = spec.groups * pick(1, 5), maps = spec.groups * pick(1, 9);
  Shape x{pick(1, 3), channels}, w{maps, channels / spec.groups};
  for (std::size_t a = 0; a < spatial; ++a) {
    const bool row = a + 1 == spatial;
    w.push_back(row && pick(0, 3) == 0 ? pick(1, longest_row) : pick(1, 4));
    spec.window.strides.push_back(pick(1, 3));
    spec.window.dilations.push_back(pick(1, 2));
    x.push_back((w.back() - 1) * spec.window.dilations.back() + 1 +
                (row ? pick(0, longest_row) : pick(0, 9)));
  }
  const AutoPad pads[] = {AutoPad::notset, AutoPad::valid, AutoPad::same_upper,
                          AutoPad::same_lower};
  spec.window.auto_pad = pads[pick(0, 3)];
  if (spec.window.auto_pad == AutoPad::notset)
    for (std::size_t a = 0; a < 2 * spatial; ++a) spec.window.pads.push_back(pick(0, 2));
  c.y = {x[0], maps};
  for (std::size_t a = 0; a < spatial; ++a)
    c.y.push_back(window_count(axis_of(spec.window, a, x[a + 2], w[a + 2]), x[a + 2], false));
  c.inputs = {random<T>(x, generator), random<T>(w, generator),
              pick(0, 1) == 1 ? random<T>({maps}, generator) : Tensor()};
  return c;
}

void fill_with_other_bytes(const Tensor& t) { std::fill_n(t.data_as<char>(), bytes(t).size(), 77); }

/// Checks that the fast results differ by at most 80 epsilons times the sum of the absolute
/// products, for row-major inputs and for views.
template <class T> void check_fast(const Case& c) {
  const std::size_t rank = c.inputs[0].shape().size();
  const auto plain = conv(c.spec, dtype<T>, rank), fast = fast_conv(c.spec, dtype<T>, rank);
  const auto views = each_tensor(c.inputs, column_major);
  const Tensor want(dtype<T>, c.y), bound(dtype<T>, c.y), got(dtype<T>, c.y);
  run(*plain, c.inputs, {want});
  run(*plain, each_tensor(c.inputs, magnitudes<T>), {bound});
  for (const auto& inputs : {c.inputs, views}) {
    fill_with_other_bytes(got);
    run(*fast, inputs, {got});
    for (std::int64_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got.data_as<T>()[i], want.data_as<T>()[i],
                  80 * std::numeric_limits<T>::epsilon() * bound.data_as<T>()[i])
          << "element " << i;
  }
  fill_with_other_bytes(got);
  run(*plain, views, {got});
  EXPECT_EQ(bytes(got), bytes(want));
}

/// Checks that results of T, a narrow float of dtype `t`, are those of f32 on the same values,
/// rounded: all sums are in f32.
template <class T> void check_narrow(const Case& c, DType t) {
  const auto narrow = [&](const Tensor& x) {
    return each<float, T>(x, t, [](float v) { return T(v); });
  };
  const auto inputs = each_tensor(c.inputs, narrow);
  const auto wide = each_tensor(inputs, [](const Tensor& x) {
    return each<T, float>(x, DType::f32, [](T v) { return static_cast<float>(v); });
  });
  const std::size_t rank = c.inputs[0].shape().size();
  const Tensor sums(DType::f32, c.y), got(t, c.y);
  run(*fast_conv(c.spec, DType::f32, rank), wide, {sums});
  for (const auto& given : {inputs, each_tensor(inputs, column_major)}) {
    fill_with_other_bytes(got);
    run(*fast_conv(c.spec, t, rank), given, {got});
    ASSERT_EQ(bytes(got), bytes(narrow(sums)));
  }
}

template <class T> class WideConv : public testing::Test {};
using Wide = testing::Types<float, double>;
TYPED_TEST_SUITE(WideConv, Wide);

TYPED_TEST(WideConv, FastAgreesWithPlain) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    check_fast<TypeParam>(random_case<TypeParam>(seed, seed % 4 == 0 ? 90 : 9));
  }
}

TEST(Conv, NarrowFloatsAreF32Rounded) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Case c = random_case<float>(seed, seed % 4 == 0 ? 90 : 9);
    check_narrow<Float16>(c, DType::f16);
    check_narrow<BFloat16>(c, DType::bf16);
  }
}

/// Padding is zeros, and a weight that is not finite times zero is NaN.
TYPED_TEST(WideConv, WeightsThatAreNotFiniteMeetThePadding) {
  using T = TypeParam;
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Case c = random_case<T>(seed, seed % 4 == 0 ? 90 : 9);
    const Tensor& w = c.inputs[1];
    w.data_as<T>()[seed % w.size()] = seed % 2 == 0 ? std::numeric_limits<T>::infinity()
                                                    : std::numeric_limits<T>::quiet_NaN();
    const Tensor want(dtype<T>, c.y), got(dtype<T>, c.y);
    run(*conv(c.spec, dtype<T>, c.inputs[0].shape().size()), c.inputs, {want});
    run(*fast_conv(c.spec, dtype<T>, c.inputs[0].shape().size()), c.inputs, {got});
    for (std::int64_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(std::isnan(got.data_as<T>()[i]), std::isnan(want.data_as<T>()[i]))
          << "element " << i;
  }
}

template <class T> Case case_of(Shape x, Shape w, Shape y, std::vector<std::int64_t> pads) {
  std::mt19937 generator(1);
  Case c{{},
         {random<T>(std::move(x), generator), random<T>(std::move(w), generator), Tensor()},
         std::move(y)};
  c.spec.window.pads = std::move(pads);
  return c;
}

/// Sizes that need several blocks of output positions and of window elements.
TYPED_TEST(WideConv, BlocksMakeTheWhole) {
  using T = TypeParam;
  check_fast<T>(case_of<T>({1, 40, 30, 50}, {20, 40, 3, 3}, {1, 20, 30, 50}, {1, 1, 1, 1}));
  check_fast<T>(case_of<T>({1, 900, 6, 7}, {18, 900, 3, 3}, {1, 18, 6, 7}, {1, 1, 1, 1}));
  check_fast<T>(case_of<T>({1, 2, 300, 301}, {5, 2, 300, 300}, {1, 5, 1, 2}, {}));
  check_fast<T>(case_of<T>({1, 2, 5000}, {2, 2, 7}, {1, 2, 4998}, {2, 2}));
  check_fast<T>(case_of<T>({1, 300, 4, 4}, {101, 300, 2, 2}, {1, 101, 3, 3}, {}));
  check_fast<T>(case_of<T>({2, 12, 20, 64}, {12, 12, 3, 3}, {2, 12, 20, 64}, {1, 1, 1, 1}));
}

/// Padding that would make x much larger is not stored.
TYPED_TEST(WideConv, WidelySpacedWindowsInPaddingAgree) {
  using T = TypeParam;
  Case c = case_of<T>({2, 2, 5, 5}, {3, 2, 3, 3}, {2, 3, 10, 10}, {1000, 1000, 1000, 1000});
  c.spec.window.strides = {211, 211};
  check_fast<T>(c);
}

/// The division of the work among threads changes no bits.
TYPED_TEST(WideConv, ThreadsMakeTheWhole) {
  using T = TypeParam;
  const Case cases[] = {case_of<T>({5, 20, 40, 40}, {20, 20, 3, 3}, {5, 20, 40, 40}, {1, 1, 1, 1}),
                        case_of<T>({5, 40, 30, 30}, {40, 40, 3, 3}, {5, 40, 30, 30}, {1, 1, 1, 1}),
                        case_of<T>({1, 40, 60, 30}, {40, 40, 3, 3}, {1, 40, 60, 30}, {1, 1, 1, 1}),
                        case_of<T>({1, 40, 200, 50}, {3, 40, 3, 3}, {1, 3, 200, 50}, {1, 1, 1, 1}),
                        case_of<T>({1, 8, 9000}, {2, 8, 9}, {1, 2, 9000}, {4, 4}),
                        case_of<T>({4, 8, 9000}, {2, 8, 9}, {4, 2, 9000}, {4, 4}),
                        case_of<T>({1, 900, 3, 3}, {70, 900, 3, 3}, {1, 70, 3, 3}, {1, 1, 1, 1})};
  for (const Case& c : cases) {
    const auto kernel = fast_conv(c.spec, dtype<T>, c.y.size());
    const Tensor alone(dtype<T>, c.y), together(dtype<T>, c.y);
    {
      const ThreadScope one(1);
      run(*kernel, c.inputs, {alone});
    }
    for (const int threads : {2, 3, 7}) {
      const ThreadScope several(threads);
      fill_with_other_bytes(together);
      run(*kernel, c.inputs, {together});
      EXPECT_EQ(bytes(alone), bytes(together)) << threads << " threads";
    }
  }
}

TEST(Conv, WithoutChannelsItIsTheBias) {
  for (const std::int64_t n : {7, 100}) {
    const Tensor x(DType::f32, {1, 0, n + 2}), w(DType::f32, {2, 0, 3}), y(DType::f32, {1, 2, n});
    for (const auto& kernel : {conv({}, DType::f32, 3), fast_conv({}, DType::f32, 3)}) {
      run(*kernel, {x, w, Tensor::from<float>({2}, {3, 4})}, {y});
      EXPECT_EQ(y.data_as<float>()[n - 1], 3);
      EXPECT_EQ(y.data_as<float>()[n], 4);
      run(*kernel, {x, w, Tensor()}, {y});
      EXPECT_EQ(y.data_as<float>()[n], 0);
    }
  }
}

/// Narrow floats are summed in f32 and rounded once.
TEST(Conv, NarrowFloatsAreSummedWide) {
  Tensor x(DType::bf16, {1, 512, 1}), w(DType::bf16, {1, 512, 1}), y(DType::bf16, {1, 1, 1});
  for (const Tensor* t : {&x, &w}) std::fill_n(t->data_as<BFloat16>(), 512, BFloat16(1.0F));
  for (const auto& kernel : {conv({}, DType::bf16, 3), fast_conv({}, DType::bf16, 3)}) {
    run(*kernel, {x, w, Tensor()}, {y});
    EXPECT_EQ(static_cast<float>(*y.data_as<BFloat16>()), 512.0F);
  }
}

TEST(Conv, EndsWhenTheFlagIsSet) {
  const Case c = case_of<float>({1, 8, 200, 200}, {8, 8, 9, 9}, {1, 8, 192, 192}, {});
  std::atomic<std::int32_t> stop{1};
  for (const DType t : {DType::f64, DType::f32, DType::f16, DType::bf16})
    for (const auto& kernel : {conv(c.spec, t, 4), fast_conv(c.spec, t, 4)}) {
      Context context;
      context.stop = &stop;
      const auto zeros = each_tensor(
          c.inputs, [&](const Tensor& x) { return x.defined() ? Tensor(t, x.shape()) : x; });
      EXPECT_EQ(call(*kernel, context, zeros, {Tensor(t, c.y)}), stopped);
    }
}

TEST(Window, Positions) {
  EXPECT_EQ(window_count({3, 1, 1, 0, 0}, 5, false), 3);
  EXPECT_EQ(window_count({3, 2, 1, 1, 1}, 5, false), 3);
  EXPECT_EQ(window_count({2, 2, 1, 0, 0}, 5, false), 2);
  EXPECT_EQ(window_count({2, 2, 1, 0, 0}, 5, true), 3);
  // A last window that would begin in the padding after the input is left out.
  EXPECT_EQ(window_count({1, 2, 1, 0, 1}, 2, true), 1);
  EXPECT_THROW(window_count({3, 1, 1, 0, 0}, 2, false), std::exception);
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
