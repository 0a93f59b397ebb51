#include "kernels/convert.h"

#include <bit>
#include <gtest/gtest.h>
#include <random>
#include <vector>

/// Conversions of f16 by the processor's instructions are compared with the conversions in
/// base/float_formats.h, bit for bit.
namespace rondel::kernels {
namespace {

TEST(Convert, WidensEveryF16) {
  std::vector<Float16> codes(65536);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i].code = static_cast<std::uint16_t>(i);
  std::vector<float> got(codes.size());
  convert(codes.data(), 65536, got.data());
  for (std::size_t i = 0; i < codes.size(); ++i)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(got[i]),
              std::bit_cast<std::uint32_t>(f16_to_f32(codes[i].code)))
        << "code " << i;
}

TEST(Convert, NarrowsEveryF16ItsNeighboursAndOthers) {
  std::vector<float> values;
  for (std::uint32_t code = 0; code < 65536; ++code) {
    const auto bits = std::bit_cast<std::uint32_t>(f16_to_f32(static_cast<std::uint16_t>(code)));
    // Half the distance between two f16 values is 0x1000 in the bits of f32: ties and neighbours.
    for (const std::uint32_t more : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x1fffu})
      values.push_back(std::bit_cast<float>(bits + more));
  }
  const unsigned seed = 7;
  std::mt19937 generator(seed);
  for (int i = 0; i < 1'000'003; ++i)
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(generator())));
  std::vector<Float16> got(values.size());
  convert(values.data(), static_cast<std::int64_t>(values.size()), got.data());
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(got[i].code, f32_to_f16(values[i])) << "value " << values[i] << ", seed " << seed;
}

TEST(Convert, WritesNothingBehindTheLastElement) {
  for (std::int64_t n = 0; n < 20; ++n) {
    const std::vector<Float16> codes(20, Float16(1.5F));
    std::vector<float> wide(20, -1.0F);
    convert(codes.data(), n, wide.data());
    std::vector<Float16> narrow(20, Float16(-1.0F));
    convert(std::vector<float>(20, 1.5F).data(), n, narrow.data());
    for (std::int64_t i = 0; i < 20; ++i) {
      EXPECT_EQ(wide[i], i < n ? 1.5F : -1.0F);
      EXPECT_EQ(static_cast<float>(narrow[i]), i < n ? 1.5F : -1.0F);
    }
  }
}

}  // namespace
}  // namespace rondel::kernels
