#include "kernels/top_k.h"
#include "call.h"
#include "kernels/narrow_floats.h"

#include <limits>

/// The fast TopK is compared with the reference.
namespace rondel::kernels {
namespace {

template <class T> void check_random(DType t, unsigned seed) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << name(t));
  std::mt19937 generator(seed);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(generator);
  };
  Shape x{pick(1, 3), pick(1, 3), pick(1, 3)}, y;
  TopK spec{pick(0, 2), pick(0, 1) == 1};
  auto& n = x[static_cast<std::size_t>(spec.axis)];
  n = pick(0, 3) == 0 ? pick(1, 1000) : pick(1, 100);
  y = x;
  const std::int64_t k = std::min(n, pick(0, 3) == 0 ? n : pick(0, 80));
  y[static_cast<std::size_t>(spec.axis)] = k;
  if (pick(0, 1) == 1) spec.axis -= 3;
  Tensor in(t, x);
  const std::int64_t spread = pick(0, 1) == 1 ? 5 : 100000;
  for (std::int64_t i = 0; i < in.size(); ++i) {
    const std::int64_t v = pick(-spread, spread);
    if constexpr (std::is_integral_v<T>) {
      in.data_as<T>()[i] = static_cast<T>(v);
    } else {
      const float nan = std::numeric_limits<float>::quiet_NaN();
      const float wide = v == spread       ? nan
                         : v == -spread    ? -nan
                         : v == spread - 1 ? -0.0F
                                           : static_cast<float>(v) * 0.01F;
      in.data_as<T>()[i] = static_cast<T>(wide);
    }
  }
  const Tensor wanted = Tensor::scalar(k), view = pick(0, 2) == 0 ? column_major_copy(in) : in;
  const Tensor want(t, y), got(t, y), where(DType::i64, y), found(DType::i64, y);
  run(*top_k(spec, t, 3), {in, wanted}, {want, where});
  run(*fast_top_k(spec, t, 3), {view, wanted}, {got, found});
  EXPECT_EQ(bytes(got), bytes(want));
  EXPECT_EQ(bytes(found), bytes(where));
}

TEST(TopK, FastAgreesWithPlain) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    check_random<float>(DType::f32, seed);
    check_random<double>(DType::f64, seed);
    check_random<Float16>(DType::f16, seed);
    check_random<BFloat16>(DType::bf16, seed);
    check_random<std::int64_t>(DType::i64, seed);
    check_random<std::uint64_t>(DType::u64, seed);
    check_random<std::int32_t>(DType::i32, seed);
    check_random<std::uint32_t>(DType::u32, seed);
    check_random<std::int8_t>(DType::i8, seed);
    check_random<std::uint16_t>(DType::u16, seed);
  }
}

TEST(TopK, SaysWhatIsWrongWithK) {
  const Tensor x = Tensor::from<float>({3}, {1, 2, 3});
  for (const auto& kernel : {top_k({}, DType::f32, 1), fast_top_k({}, DType::f32, 1)}) {
    const auto said = [&](std::int64_t k, std::int64_t room) {
      Context context;
      const Tensor values(DType::f32, {room}), indices(DType::i64, {room});
      const Status status = call(*kernel, context, {x, Tensor::scalar(k)}, {values, indices});
      return status <= 0 ? ""
                         : site_text(kernel->failures().at(static_cast<std::size_t>(status) - 1),
                                     context.shown);
    };
    EXPECT_EQ(said(2, 2), "");
    EXPECT_EQ(said(3, 2), "k is 3; expected 2, as many as the results hold");
    EXPECT_EQ(said(5, 5), "k is 5, but the axis has only 3 elements");
  }
}

}  // namespace
}  // namespace rondel::kernels
