#include "scalar/builder.h"
#include "scalar/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

/// Nests over short rows become one loop.
namespace rondel::scalar {
namespace {

/// y = x + bias of the axis `channel`, over these extents; -1: the run tells. Returns the program.
std::shared_ptr<const Program> biased(const Shape& extents, std::size_t channel,
                                      bool contiguous = true) {
  Builder b("biased");
  const auto x = b.buffer({.name = "x",
                           .dtype = DType::i64,
                           .access = Access::in,
                           .extents = extents,
                           .contiguous = contiguous});
  const auto bias = b.buffer(
      {.name = "bias", .dtype = DType::i64, .access = Access::in, .extents = {extents[channel]}});
  const auto y = b.buffer(
      {.name = "y", .dtype = DType::i64, .access = Access::out, .extents = extents});
  std::vector<Ex> counts;
  for (std::int64_t axis = 0; axis < std::ssize(extents); ++axis)
    counts.push_back(b.extent(y, axis));
  b.for_all(counts, [&](const Indices& at) {
    b.store(y, at, b.load(x, at) + b.load(bias, {at[channel]}));
  });
  return b.finish();
}

std::int64_t loops(const Program& p) { return std::ranges::count(p.code, Op::for_, &Inst::op); }

/// Runs the program for extents that the run tells; expects the sums.
void expect_sums(const std::shared_ptr<const Program>& program, const Shape& shape,
                 std::size_t channel) {
  const Tensor x(DType::i64, shape), y(DType::i64, shape), bias(DType::i64, {shape[channel]});
  for (std::int64_t k = 0; k < x.size(); ++k) x.data_as<std::int64_t>()[k] = k;
  for (std::int64_t k = 0; k < bias.size(); ++k) bias.data_as<std::int64_t>()[k] = 1000 * k;
  ASSERT_EQ(interpreted(program, {x, bias, y}), done);
  const std::int64_t within = std::accumulate(
      shape.begin() + static_cast<std::ptrdiff_t>(channel) + 1, shape.end(), std::int64_t{1},
      std::multiplies<>());
  for (std::int64_t k = 0; k < x.size(); ++k)
    ASSERT_EQ(y.data_as<std::int64_t>()[k], k + 1000 * (k / within % shape[channel]));
}

TEST(JoinedLoops, OfAxesThatAreReadTogether) {
  const struct {
    Shape extents;
    std::size_t channel;
    std::int64_t loops;
    Shape run;
  } cases[] = {
      {{-1, 7, 7}, 0, 2, {3, 7, 7}},            // the bias reads the first axis alone
      {{-1, 5, 3, 7}, 1, 3, {2, 5, 3, 7}},      // of [?, 5] and [3, 7] the inner ones
      {{4, 2, 3, 5}, 0, 2, {4, 2, 3, 5}},       // three axes
      {{-1, 4}, 1, 2, {6, 4}},                  // none
      {{-1, 3, 300}, 0, 3, {2, 3, 300}},        // long rows
      {{-1, 4, 30, 30}, 0, 3, {2, 4, 30, 30}},  // rows of 30 are short, of 900 are not
      {{-1, -1, 5}, 0, 2, {2, 3, 5}},           // an outer extent that the run tells
      {{-1, 5, -1}, 0, 3, {2, 5, 3}},           // an inner one
      {{0, 7, 7}, 0, 0, {0, 7, 7}},
  };
  for (const auto& [extents, channel, count, shape] : cases) {
    const auto program = biased(extents, channel);
    EXPECT_EQ(loops(*program), count) << to_text(*program);
    expect_sums(program, shape, channel);
  }
}

TEST(JoinedLoops, NotWhereElementsLieApart) { EXPECT_EQ(loops(*biased({-1, 7, 7}, 0, false)), 3); }

TEST(JoinedLoops, NotWhereAnIndexIsReadOtherwise) {
  Builder b("other");
  const auto y = b.buffer(
      {.name = "y", .dtype = DType::i64, .access = Access::out, .extents = {7, 7}});
  b.for_all({b.index(7), b.index(7)}, [&](const Indices& at) { b.store(y, at, at[0] - at[1]); });
  EXPECT_EQ(loops(*b.finish()), 2);
}

TEST(JoinedLoops, NotAcrossAxesOfAnotherOrder) {
  Builder b("transposed");
  const auto buffer = [&](const char* name, Access access) {
    return b.buffer({.name = name, .access = access, .extents = {7, 7}});
  };
  const auto x = buffer("x", Access::in), y = buffer("y", Access::out);
  b.for_all({b.index(7), b.index(7)}, [&](const Indices& at) {
    b.store(y, at, b.load(x, {at[1], at[0]}));
  });
  EXPECT_EQ(loops(*b.finish()), 2);
}

TEST(JoinedLoops, MarksMoveWithTheCode) {
  Builder b("marks");
  const auto y = b.buffer({.name = "y", .access = Access::out, .extents = {-1, 3, 7}});
  const auto clear = [&] {
    b.for_all({b.extent(y, 0), b.index(3), b.index(7)},
              [&](const Indices& at) { b.store(y, at, b.constant(DType::f32, 0.0)); });
  };
  clear();
  const std::size_t second = b.mark();
  clear();
  const std::size_t end = b.mark();
  const auto program = b.finish();
  EXPECT_EQ(loops(*program), 2);
  EXPECT_EQ(program->code[b.marks()[second] - 1].op, Op::end_for) << to_text(*program);
  EXPECT_EQ(b.marks()[end], program->code.size());
}

}  // namespace
}  // namespace rondel::scalar
