#include "scalar/builder.h"
#include "scalar/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rondel::scalar {
namespace {

using testing::HasSubstr;

Buffer vector_of(const char* name, DType dtype, Access access) {
  return {.name = name, .dtype = dtype, .access = access, .extents = {-1}};
}

TEST(Builder, adds_two_vectors) {
  Builder b("add");
  const auto x = b.buffer(vector_of("x", DType::f32, Access::in));
  const auto y = b.buffer(vector_of("y", DType::f32, Access::out));
  const Ex zero = b.index(0), n = b.extent(x, 0);
  b.for_each(zero, n, [&](Ex i) { b.store(y, {i}, b.load(x, {i}) * 2 + 1.5); });
  const auto program = b.finish();
  EXPECT_EQ(to_text(*program), R"(program add
in x: f32[?]
out y: f32[?]
  %0 = constant i64 0
  %1 = extent x axis 0
  %2 = constant f32 2
  %3 = constant f32 1.5
  %4 = for parallel %0, %1
    %5 = load x %4
    %6 = mul f32 %5, %2
    %7 = add f32 %6, %3
    store y %4, %7
  end_for
)");
  const Tensor in = Tensor::from<float>({3}, {1, 2, 3}), out(DType::f32, {3});
  EXPECT_EQ(interpreted(program, {in, out}), done);
  EXPECT_EQ(out.data_as<float>()[2], 7.5f);
}

// Bits copied from a tensor are not sign-extended above the width of the dtype.
TEST(Builder, ConstantsOfNarrowIntegersHaveTheirSign) {
  const std::pair<DType, std::int64_t> minus_three[] = {
      {DType::i32, 0xfffffffd}, {DType::i16, 0xfffd}, {DType::i8, 0xfd}, {DType::i4, 0xd}};
  for (const auto& [t, bits] : minus_three) {
    Builder b("widen");
    const auto y = b.buffer(vector_of("y", DType::i64, Access::out));
    b.store(y, {b.index(0)}, cast(DType::i64, b.constant_bits(t, bits)));
    const Tensor out(DType::i64, {1});
    EXPECT_EQ(interpreted(b.finish(), {out}), done);
    EXPECT_EQ(out.data_as<std::int64_t>()[0], -3) << name(t);
  }
}

}  // namespace
}  // namespace rondel::scalar
