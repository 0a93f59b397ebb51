#include "kernels/pool.h"
#include "call.h"
#include "kernels/narrow_floats.h"
#include "kernels/threads.h"

#include <cstdlib>
#include <limits>

/// Fast pooling is compared with the reference, bit for bit, on random shapes.
namespace rondel::kernels {
namespace {

/// A tensor in a block of exactly its size, so that the address sanitizer detects accesses beyond
/// it.
Tensor exact(DType t, const Shape& shape) {
  const auto size = static_cast<std::size_t>(element_count(shape)) * byte_size(t);
  const std::shared_ptr<void> block(std::malloc(std::max<std::size_t>(size, 1)), std::free);
  return {t, shape, row_major_strides(shape), block.get(), block};
}

template <class T> Tensor values(DType t, const Shape& shape, std::mt19937& generator, bool nans) {
  const Tensor x = exact(t, shape);
  // Few different values, so that some are equal.
  std::uniform_int_distribution<int> value(-6, 6);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const int v = value(generator);
    if constexpr (std::is_integral_v<T>) {
      x.data_as<T>()[i] = static_cast<T>(v);
    } else {
      constexpr float infinity = std::numeric_limits<float>::infinity();
      const float wide = nans && (v == 5 || v == -5) ? static_cast<float>(v) * infinity
                                                     : static_cast<float>(v) * 0.37F;
      x.data_as<T>()[i] = static_cast<T>(nans && v == 6 ? std::numeric_limits<float>::quiet_NaN()
                                                        : wide);
    }
  }
  return x;
}

/// The shape of the result.
Shape pooled(const PoolSpec& spec, const Shape& x) {
  Shape y{x[0], x[1]};
  for (std::size_t a = 0; a + 2 < x.size(); ++a)
    y.push_back(window_count(axis_of(spec.window, a, x[a + 2], spec.window.kernel[a]), x[a + 2],
                             spec.window.ceil_mode));
  return y;
}

/// Compares the fast kernels with the references on one input. `nans`: the input has NaNs. `view`:
/// the same elements, perhaps with other strides.
template <class T>
void check(const PoolSpec& spec, DType t, const Tensor& in, const Tensor& view, bool nans) {
  const Shape y = pooled(spec, in.shape());
  const Tensor want(t, y), where(DType::i64, y), got = exact(t, y), found = exact(DType::i64, y);
  run(*max_pool(spec, t), {in}, {want, where});
  run(*fast_max_pool(spec, t), {view}, {got, found});
  EXPECT_EQ(bytes(got), bytes(want));
  EXPECT_EQ(bytes(found), bytes(where));
  std::fill_n(got.template data_as<char>(), bytes(got).size(), 1);
  // Without indices, elements are visited in another order, which may exchange 0 and -0.
  run(*max_pool(spec, t), {in}, {want, Tensor()});
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
  Shape x{pick(1, 3), pick(1, 6)};
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
  const bool nans = pick(0, 2) == 0;
  const Tensor in = values<T>(t, x, generator, nans);
  check<T>(spec, t, in, pick(0, 2) == 0 ? column_major_copy(in) : in, nans);
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

/// Planes in one lane each, planes in bands with a shorter last band, unused lanes, rows shorter
/// than a vector, and planes that are too large for lanes.
template <class T> void check_lanes(DType t) {
  struct Case {
    Shape x;
    std::vector<std::int64_t> kernel, strides = {}, pads = {};
    bool ceil_mode = false;
  };
  const std::vector<Case> cases{
      {{2, 33, 7, 7}, {7, 7}},
      {{1, 70, 7, 7}, {3, 3}, {}, {1, 1, 1, 1}},
      {{1, 130, 4, 4}, {2, 2}, {2, 2}},
      {{1, 17, 3, 3}, {2, 2}},
      {{1, 20, 61, 60}, {3, 3}, {2, 2}, {1, 1, 1, 1}},
      {{1, 3, 75, 64}, {3, 3}, {2, 2}, {1, 1, 1, 1}, true},
      {{1, 1, 50, 40}, {9, 9}, {}, {4, 4, 4, 4}},
      {{1, 37, 14, 14}, {2, 2}, {2, 2}},
      {{1, 9, 10, 11}, {3, 3}, {2, 2}, {1, 1, 1, 1}},
      {{1, 23, 13, 13}, {3, 3}, {2, 2}},
      {{3, 5, 6, 5}, {2, 2}},
      {{1, 40, 1, 7}, {1, 3}, {}, {0, 1, 0, 1}},
      {{1, 9, 6, 24}, {2, 5}, {2, 5}},
      {{1, 3, 2, 4}, {2, 1}},
      {{2, 2, 400, 65}, {3, 3}, {2, 1}, {1, 1, 1, 1}},
      {{1, 2, 300, 131}, {3, 2}, {1, 2}, {0, 1, 1, 0}},
      {{1, 1, 6, 0, 40}, {2, 2, 2}, {}, {1, 1, 1, 1, 1, 1}},
      {{1, 1, 0, 40}, {2, 2}, {}, {1, 1, 1, 1}},
      {{1, 1, 4100}, {5}, {3}, {2, 2}},
      {{1, 5, 9, 30, 30}, {3, 2, 2}, {2, 2, 2}, {1, 0, 0, 1, 0, 0}},
      {{1, 2, 520, 520}, {520, 520}},
  };
  std::mt19937 generator(1);
  for (const bool nans : {false, true})
    for (const Case& c : cases) {
      SCOPED_TRACE(testing::Message() << name(t) << ", rank " << c.x.size() << ", extent " << c.x[2]
                                      << (nans ? ", NaN" : ""));
      PoolSpec spec;
      spec.window.kernel = c.kernel;
      spec.window.strides = c.strides;
      spec.window.pads = c.pads;
      spec.window.ceil_mode = c.ceil_mode;
      const Tensor in = values<T>(t, c.x, generator, nans);
      check<T>(spec, t, in, in, nans);
    }
}

/// Enough work for several threads. The sizes of their parts of the workspace are not multiples of
/// a vector.
TEST(Pool, ThreadsHavePartsOfTheirOwn) {
  struct Case {
    Shape x;
    std::vector<std::int64_t> kernel, strides = {1, 1}, pads = {};
  };
  const std::vector<Case> cases{
      {{1, 64, 40, 40}, {35, 35}},
      {{1, 64, 100, 100}, {33, 33}, {33, 33}},
      {{1, 64, 33, 35}, {7, 7}, {2, 2}, {3, 3, 3, 3}},
      {{1, 128, 29, 31}, {5, 5}, {1, 1}, {2, 2, 2, 2}},
      {{1, 300, 13, 13}, {9, 9}, {1, 1}, {4, 4, 4, 4}},
      {{1, 3, 130, 131}, {9, 9}, {2, 3}},
  };
  const ThreadScope three(3);
  std::mt19937 generator(1);
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << "extent " << c.x[3]);
    PoolSpec spec;
    spec.window.kernel = c.kernel;
    spec.window.strides = c.strides;
    spec.window.pads = c.pads;
    const Tensor f32 = values<float>(DType::f32, c.x, generator, false);
    check<float>(spec, DType::f32, f32, f32, false);
    const Tensor f16 = values<Float16>(DType::f16, c.x, generator, false);
    check<Float16>(spec, DType::f16, f16, f16, false);
  }
}

/// No memory is sized by a stride, and means over more elements than a float can count are exact.
TEST(Pool, WindowsOfUnusualSizesAgree) {
  PoolSpec spec;
  spec.window.kernel = {3};
  spec.window.strides = {std::int64_t{1} << 31};
  std::mt19937 generator(1);
  const Tensor row = values<float>(DType::f32, {1, 4, 10}, generator, false);
  check<float>(spec, DType::f32, row, row, false);
  spec.window = {.kernel = {4, 3}, .strides = {1, 1}, .dilations = {5, 7}, .pads = {15, 14, 0, 0}};
  const Tensor narrow = values<float>(DType::f32, {1, 4, 30, 6}, generator, false);
  check<float>(spec, DType::f32, narrow, narrow, false);
  spec = {};
  spec.count_include_pad = true;
  spec.window = {.kernel = {4099, 4099, 3},
                 .strides = {4000, 4000, 1},
                 .pads = {4098, 4098, 1, 4098, 4098, 1}};
  const Tensor plane = values<float>(DType::f32, {1, 1, 2, 2, 8}, generator, false);
  check<float>(spec, DType::f32, plane, plane, false);
}

TEST(Pool, FastAgreesWithPlainInLanesAndBands) {
  check_lanes<float>(DType::f32);
  check_lanes<double>(DType::f64);
  check_lanes<Float16>(DType::f16);
  check_lanes<std::uint8_t>(DType::u8);
  check_lanes<std::int8_t>(DType::i8);
  check_lanes<std::int16_t>(DType::i16);
}

/// Padding in a band has the least value. It is never the result, and -0 equals 0.
TEST(Pool, PaddingIsNotTheGreatest) {
  PoolSpec spec;
  spec.window.kernel = {3, 3};
  spec.window.pads = {1, 1, 1, 1};
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor x(DType::f32, {1, 2, 40, 30});
  for (std::int64_t i = 0; i < x.size(); ++i)
    x.data_as<float>()[i] = i % 7 == 0 ? -0.0F : i % 5 == 0 ? 0.0F : -infinity;
  check<float>(spec, DType::f32, x, x, false);
  for (std::int64_t i = 0; i < x.size(); ++i) x.data_as<float>()[i] = -infinity;
  check<float>(spec, DType::f32, x, x, false);
  const Tensor zeros = Tensor::zeros(DType::u8, {1, 2, 40, 30});
  check<std::uint8_t>(spec, DType::u8, zeros, zeros, false);
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
