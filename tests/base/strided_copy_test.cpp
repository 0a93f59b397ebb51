#include <gtest/gtest.h>
#include <rondel/tensor.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <random>

/// Copies between tensors whose elements lie in different orders.
namespace rondel {
namespace {

/// A tensor of this shape whose axes lie in memory in another order, some of them backwards or
/// apart. Its elements are all different as far as the type can tell.
Tensor in_some_order(DType t, const Shape& shape, std::mt19937& rng) {
  std::vector<std::size_t> order(shape.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::shuffle(order, rng);
  Shape strides(shape.size());
  std::int64_t size = 1, begin = 0;
  for (const std::size_t axis : order) {
    const std::int64_t stride = size * (rng() % 4 == 0 ? 2 : 1);
    const bool backwards = rng() % 5 == 0;
    strides[axis] = backwards ? -stride : stride;
    if (backwards) begin += stride * (shape[axis] - 1);
    size = stride * std::max<std::int64_t>(shape[axis], 1);
  }
  Tensor memory = Tensor::zeros(t, {size});
  for (std::int64_t k = 0; k < size; ++k) {
    const std::uint64_t bits[2] = {static_cast<std::uint64_t>(k) * 0x9E3779B97F4A7C15U, 7};
    std::memcpy(memory.at(0, k).data(), bits, byte_size(t));
  }
  return memory.strided(begin, shape, strides);
}

/// Calls f(index) for each index of the shape.
template <class F> void each_index(const Shape& shape, const F& f) {
  std::vector<std::int64_t> index(shape.size(), 0);
  for (std::int64_t n =
           std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
       n > 0; --n) {
    f(index);
    for (std::size_t a = shape.size(); a-- > 0;) {
      if (++index[a] < shape[a]) break;
      index[a] = 0;
    }
  }
}

const void* element(Tensor t, const std::vector<std::int64_t>& index) {
  for (const std::int64_t i : index) t = t.at(0, i);
  return t.data();
}

TEST(StridedCopy, EachElementComesFromItsPlace) {
  const std::uint32_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 rng(seed);
  constexpr std::array<std::int64_t, 9> extents{1, 2, 3, 4, 7, 16, 17, 33, 70};
  for (int round = 0; round < 300 && !testing::Test::HasFailure(); ++round) {
    const DType t = std::array{DType::u8, DType::f16, DType::f32, DType::f64,
                               DType::c128}[rng() % 5];
    Shape shape(1 + rng() % 4);
    for (std::int64_t& extent : shape) extent = extents[rng() % (shape.size() > 2 ? 7 : 9)];
    if (rng() % 20 == 0) shape[0] = 0;
    const Tensor from = in_some_order(t, shape, rng), to = in_some_order(t, shape, rng);
    to.assign(from);
    const Tensor copy = from.copy();
    each_index(shape, [&](const std::vector<std::int64_t>& index) {
      EXPECT_EQ(std::memcmp(element(to, index), element(from, index), byte_size(t)), 0);
      EXPECT_EQ(std::memcmp(element(copy, index), element(from, index), byte_size(t)), 0);
    });
  }
}

TEST(StridedCopy, WritesNothingBesideItsElements) {
  const Tensor memory = Tensor::zeros(DType::f32, {40, 40});
  const Tensor to = memory.strided(3, {33, 35}, {40, 1});
  const Tensor ones = Tensor::scalar(1.0F).strided(0, {35, 33}, {0, 0}).copy();
  to.assign(ones.strided(0, {33, 35}, {1, 33}));
  float sum = 0;
  for (std::int64_t k = 0; k < memory.size(); ++k) sum += memory.data_as<float>()[k];
  EXPECT_EQ(sum, 33 * 35);
}

}  // namespace
}  // namespace rondel
