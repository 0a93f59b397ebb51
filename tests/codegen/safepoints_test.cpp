#include "codegen/safepoints.h"

#include "codegen/agree.h"

/// Tests where native code checks the stop flag, and that it stops there.
namespace rondel::codegen {
namespace {

using scalar::Builder;
using scalar::Ex;
using Kind = Safepoint::Kind;

std::int32_t vector(Builder& b, const char* name, std::int64_t extent, scalar::Access access) {
  return b.buffer({name, DType::f32, access, {extent}});
}

/// The safepoints of the loops and products of a program, in order.
std::vector<Safepoint> safepoints_of(const scalar::Program& program) {
  const std::vector<Safepoint> all = insert_safepoints(program);
  std::vector<Safepoint> found;
  for (std::size_t at = 0; at < all.size(); ++at)
    if (program.code[at].op == scalar::Op::for_ || program.code[at].op == scalar::Op::contract)
      found.push_back(all[at]);
  return found;
}

std::shared_ptr<const scalar::Program> doubled(std::int64_t extent, int times) {
  Builder b("doubled");
  const auto x = vector(b, "x", extent, scalar::Access::in),
             y = vector(b, "y", extent, scalar::Access::out);
  for (int n = 0; n < times; ++n)
    b.for_each(b.index(0), b.extent(x, 0),
               [&](Ex i) { b.store(y, {i}, b.load(x, {i}) + b.load(x, {i})); });
  return b.finish();
}

TEST(Safepoints, SmallLoopsHaveNone) {
  EXPECT_EQ(safepoints_of(*doubled(256, 1))[0].kind, Kind::none);
}

TEST(Safepoints, LongLoopsRunInBlocks) {
  for (const std::int64_t extent : {std::int64_t{-1}, std::int64_t{10'000'000}}) {
    const Safepoint safepoint = safepoints_of(*doubled(extent, 1))[0];
    EXPECT_EQ(safepoint.kind, Kind::blocks);
    EXPECT_FALSE(safepoint.before);
    EXPECT_GE(safepoint.block, 1024);
  }
}

TEST(Safepoints, LoopsAfterMuchWorkCheckBefore) {
  int before = 0;
  for (const Safepoint& safepoint : safepoints_of(*doubled(4096, 20))) {
    EXPECT_EQ(safepoint.kind, Kind::none);
    before += safepoint.before ? 1 : 0;
  }
  EXPECT_GT(before, 2);
  EXPECT_LT(before, 10);
}

TEST(Safepoints, LoopsOverLargeTripsCheckOnTheBackEdge) {
  Builder b("rows");
  const auto x = b.buffer({"x", DType::f32, scalar::Access::inout, {-1, 1000}});
  b.for_all({b.extent(x, 0), b.extent(x, 1)},
            [&](const scalar::Indices& i) { b.store(x, i, b.load(x, i) + b.load(x, i)); });
  const auto safepoints = safepoints_of(*b.finish());
  EXPECT_EQ(safepoints[0].kind, Kind::back_edge);
  EXPECT_EQ(safepoints[1].kind, Kind::none);
}

std::shared_ptr<const scalar::Program> product(std::int64_t m, std::int64_t k, std::int64_t n) {
  Builder b("product");
  scalar::Contract c;
  c.a = b.buffer({"a", DType::f32, scalar::Access::in, {m, k}});
  c.b = b.buffer({"b", DType::f32, scalar::Access::in, {k, n}});
  c.c = b.buffer({"c", DType::f32, scalar::Access::out, {m, n}});
  b.contract(c, {});
  return b.finish();
}

TEST(Safepoints, LargeProductsCheckInTheirTiles) {
  EXPECT_EQ(safepoints_of(*product(1, 256, 1024))[0].kind, Kind::none);
  EXPECT_EQ(safepoints_of(*product(1000, 1000, 1000))[0].kind, Kind::tiles);
  EXPECT_EQ(safepoints_of(*product(-1, -1, -1))[0].kind, Kind::tiles);
}

TEST(Safepoints, BlocksChangeNoBits) {
  for (const std::int64_t n : {0, 1, 4095, 4096, 4097, 10'000}) {
    agree(doubled(-1, 2), {plain_values(DType::f32, {n}, 1), Tensor::zeros(DType::f32, {n})});
    agree(product(-1, -1, -1),
          {plain_values(DType::f32, {3, n}, 1), plain_values(DType::f32, {n, 20}, 2),
           Tensor::zeros(DType::f32, {3, 20})});
  }
}

TEST(Safepoints, TheFlagEndsEveryKind) {
  std::atomic<std::int32_t> stop{1};
  const Tensor x = plain_values(DType::f32, {100'000}, 1), y = Tensor::zeros(DType::f32, {100'000});
  EXPECT_EQ(agree(doubled(-1, 1), {x, y}, {}, &stop), scalar::stopped);
  const Tensor a = plain_values(DType::f32, {200, 200}, 1),
               c = Tensor::zeros(DType::f32, {200, 200});
  EXPECT_EQ(agree(product(-1, -1, -1), {a, a, c}, {}, &stop), scalar::stopped);
}

}  // namespace
}  // namespace rondel::codegen
