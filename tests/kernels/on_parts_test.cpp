#include "kernels/on_parts.h"

#include "call.h"
#include "kernels/top_k.h"

namespace rondel::kernels {
namespace {

Tensor list(std::initializer_list<std::int64_t> values) {
  return Tensor::from<std::int64_t>({std::ssize(values)}, values);
}

TEST(OnParts, ReadsAndWritesTheBeginningsOfAxes) {
  const auto kernel = on_parts(
      top_k({.axis = 1}, DType::f32, 2),
      {{true, DType::f32, 2}, {true, DType::i64, 0}, {true, DType::f32, 2}, {true, DType::i64, 2}});
  // [2, 3] in a block of [3, 4], where -1 is not part of it; the best 2 in blocks of [3, 3].
  const Tensor x = Tensor::from<float>({3, 4}, {5, 7, 6, -1, 1, 2, 3, -1, -1, -1, -1, -1});
  const Tensor k = Tensor::scalar<std::int64_t>(2), values(DType::f32, {3, 3}),
               at(DType::i64, {3, 3});
  run(*kernel, {x, k, list({2, 3, 2, 2, 2, 2})}, {values, at});
  const auto rows = [](const auto* p) { return std::vector{p[0], p[1], p[3], p[4]}; };
  EXPECT_EQ(rows(values.data_as<float>()), (std::vector<float>{7, 6, 3, 2}));
  EXPECT_EQ(rows(at.data_as<std::int64_t>()), (std::vector<std::int64_t>{1, 2, 2, 1}));
}

TEST(OnParts, TakesTheMemoryThatSmallerExtentsNeed) {
  /// A kernel that needs more for less.
  class Odd : public SizedKernel {
   public:
    Odd() : SizedKernel(1, 1) {}
    std::int64_t workspace(std::span<const Operand> o) const override {
      return 100'000 / (1 + o[0].extents[0]);
    }
    Status run(Context&, std::span<const View> v) const override {
      std::fill_n(static_cast<char*>(v[2].data), 100'000 / (1 + v[0].extents[0]), 'x');
      std::fill_n(static_cast<std::uint8_t*>(v[1].data), v[1].extents[0],
                  *static_cast<const std::uint8_t*>(v[2].data));
      return done;
    }
  };
  const auto kernel = on_parts(std::make_shared<Odd>(),
                               {{true, DType::u8, 1}, {true, DType::u8, 1}});
  const Tensor x(DType::u8, {1000}), y(DType::u8, {1000});
  run(*kernel, {x, list({1, 3})}, {y});
  EXPECT_EQ(std::string(y.data_as<char>(), 3), "xxx");
}

/// Gives the even numbers of a list, twice: as rows of a table, and as a list.
void evens(UnsizedCall& call) {
  const Tensor x = call.packed(0);
  std::vector<std::int64_t> found;
  for (std::int64_t i = 0; i < x.size(); ++i)
    if (const auto n = x.data_as<std::int64_t>()[i]; n % 2 == 0) found.push_back(n);
  std::vector<std::int64_t> twice = found;
  twice.insert(twice.end(), found.begin(), found.end());
  call.set(
      0, Tensor::from<std::int64_t>({2, std::ssize(found)}, std::span<const std::int64_t>(twice)));
  call.set(1,
           Tensor::from<std::int64_t>({std::ssize(found)}, std::span<const std::int64_t>(found)));
}

TEST(FindingExtents, TellsThemAndStoresWhatFits) {
  const auto kernel = finding_extents(
      evens, 1, {{true, DType::i64, 1}, {true, DType::i64, 2}, {true, DType::i64, 1}});
  const Tensor x = list({4, 5, 6, 7, 8, 10}), found(DType::i64, {3}), table(DType::i64, {2, 4}),
               small = list({-1, -1});
  run(*kernel, {x, list({5})}, {table, small, found});
  const auto* t = table.data_as<std::int64_t>();
  EXPECT_EQ((std::vector{t[0], t[1], t[2], t[4], t[5], t[6]}),
            (std::vector<std::int64_t>{4, 6, 8, 4, 6, 8}));
  const auto* f = found.data_as<std::int64_t>();
  EXPECT_EQ((std::vector{f[0], f[1], f[2]}), (std::vector<std::int64_t>{2, 3, 3}));
  EXPECT_EQ(small.data_as<std::int64_t>()[0], -1) << "three numbers do not fit";
}

TEST(FindingExtents, OfOutputsThatAreLeftOutNothingIsTold) {
  const auto kernel = finding_extents(
      evens, 1, {{true, DType::i64, 1}, {.given = false}, {true, DType::i64, 1}});
  const Tensor x = list({4, 6}), found(DType::i64, {1}), all(DType::i64, {5});
  run(*kernel, {x, list({2})}, {Tensor(), all, found});
  EXPECT_EQ(found.data_as<std::int64_t>()[0], 2);
  EXPECT_EQ(all.data_as<std::int64_t>()[1], 6);
}

}  // namespace
}  // namespace rondel::kernels
