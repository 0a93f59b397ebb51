#include "ops/random/random.h"

#include "ops/op_test.h"
#include "scalar/run.h"

#include <gtest/gtest.h>

namespace rondel::test {
namespace {

std::vector<std::uint32_t> block(std::uint64_t key, std::uint64_t low, std::uint64_t high) {
  scalar::Builder b("philox");
  const auto in = b.buffer({"in", DType::u64, scalar::Access::in, {3}});
  const auto out = b.buffer({"out", DType::u32, scalar::Access::out, {4}});
  const auto words = ops::philox(b.load(in, {b.index(0)}), b.load(in, {b.index(1)}),
                                 b.load(in, {b.index(2)}));
  for (std::size_t w = 0; w < 4; ++w)
    b.store(out, {b.index(static_cast<std::int64_t>(w))}, words[w]);
  const Tensor y(DType::u32, {4});
  EXPECT_EQ(
      scalar::interpreted(b.finish(), {Tensor::from<std::uint64_t>({3}, {key, low, high}), y}),
      scalar::done);
  return {y.data_as<std::uint32_t>(), y.data_as<std::uint32_t>() + 4};
}

// The known answers that are published with the reference implementation of Philox.
TEST(Random, PhiloxGivesItsKnownAnswers) {
  using Words = std::vector<std::uint32_t>;
  EXPECT_EQ(block(0, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(block(~0ULL, ~0ULL, ~0ULL), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(block(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// The expected numbers were computed in Python from the definitions in random.h, uniform.cpp and
// normal.cpp.
TEST(Random, DrawsFollowFromTheKey) {
  check_ops(R"(
    uniform key=u64 5 low=0 high=1 shape=i64[3] -> [0.7659821510314941, 0.3472210764884949, 0.9636944532394409]
    uniform key=u64 5 low=0 high=1 shape=i64[2, 1] -> [[0.7659821510314941], [0.3472210764884949]]
    uniform key=u64 5 low=-2 high=2 shape=none like=i8[7, 7] -> [1.0639286041259766, -0.6111156940460205]
    uniform key=u64 5 low=f16 0 high=f16 1 shape=i64[3] -> f16[0.765625, 0.34716796875, 0.96337890625]
    uniform key=u64 5 low=bf16 0 high=bf16 1 shape=i64[3] -> bf16[0.765625, 0.34375, 0.9609375]
    uniform key=u64 5 low=f64 0 high=f64 1 shape=i64[3] -> f64[0.06970701105100618, 0.15616417172067354, 0.6888153802053291]
    uniform key=u64 5 low=0 high=1 shape=i64[0] -> (0)
    random_key seed=u64 1 -> u64 6679402142117448868
    random_key seed=u64 1 node=i64 2 -> u64 14345215664545203101
    random_key seed=u64 1 node=i64 2 trip=i64 3 -> u64 13758240136171912959
  )",
            0);
  check_ops(R"(
    normal key=u64 5 mean=0 scale=1 shape=i64[3] -> [0.6612764795434926, 0.8087321771388871, -0.10199424513458494]
    normal key=u64 5 mean=10 scale=2 shape=i64[2] -> [11.322552959086985, 11.617464354277774]
    normal key=u64 5 mean=f64 0 scale=f64 1 shape=i64[3] -> f64[2.2547016600717686, 1.4093290107149057, 0.269213601760882]
  )");
  check_ops(R"(
    normal key=u64 5 mean=f16 0 scale=f16 1 shape=i64[2] -> f16[0.66127, 0.8087]
  )",
            1e-3);
}

TEST(Random, IndicesFollowFromTheSums) {
  // The draws are 0.766 and 0.347 of the totals. An index with weight 0 is never drawn.
  check_ops(R"(
    sampled_index sums=[[1, 1, 2, 4]] key=u64 5; count=2 dtype=i32 -> i32[[3, 2]]
    sampled_index sums=[[0, 0, 0.5, 0.5]] key=u64 5; count=2 dtype=i64 -> i64[[2, 2]]
  )");
}

TEST(Random, Errors) {
  check_ops(R"(
    uniform key=u64 5 low=0 high=1 shape=i64[-1] -> error: extent -1 is negative
    uniform key=u64 5 low=0 high=f64 1 shape=i64[1] -> error: expected one dtype
    uniform key=u64 5 low=0 high=1 -> error: expected either a shape or a tensor of that shape
    random_uniform_like x=i32[1] -> error: there are no random numbers of type i32; x=i32
    sampled_index sums=(2,0) key=u64 5; count=1 dtype=i64 -> error: there is nothing to draw from
    sampled_index sums=[1] key=u64 5; count=1 dtype=i64 -> error: expected rank 2
  )");
}

}  // namespace
}  // namespace rondel::test
