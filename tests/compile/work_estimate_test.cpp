// How much work a program is estimated to do before its first run.
#include "compile/work_estimate.h"

#include "compile/tiered_compiler.h"
#include "scalar/builder.h"
#include "scalar/run.h"

#include <gtest/gtest.h>

namespace rondel::compile {
namespace {

using scalar::Ex;

/// x[0] counts the trips of a loop in a loop of 4 trips; `inner` gives the trips of the inner loop.
std::shared_ptr<const scalar::Program> counting(
    const std::function<Ex(scalar::Builder&, std::int32_t x)>& inner) {
  scalar::Builder b("counting");
  const auto x = b.buffer({"x", DType::i64, scalar::Access::inout, {1}});
  const Ex from = b.param(), to = b.param();
  const auto counted = [&](Ex, std::span<const Ex> n) { return std::vector<Ex>{n[0] + 1}; };
  const Ex most = inner(b, x);
  const auto total = b.for_(from, to, {b.index(0)}, [&](Ex, std::span<const Ex> n) {
    return b.for_(b.index(0), most, {n[0]}, counted);
  });
  b.store(x, {b.index(0)}, total[0]);
  return b.finish();
}

Tensor number(std::int64_t n) { return Tensor::from<std::int64_t>({1}, std::span(&n, 1)); }

Work work(const scalar::Program& p, const Tensor& x, std::int64_t trips = 4) {
  const scalar::View view{x.data(), x.shape().data(), x.strides().data()};
  const std::int64_t params[] = {0, trips};
  return estimated_work(p, &view, params);
}

TEST(WorkEstimate, InnerTripsCount) {
  const auto few = counting([](auto&b, auto) { return b.index(10); }),
             more = counting([](auto&b, auto) { return b.index(1'000'000); });
  EXPECT_LT(work(*few, number(0)).most, 1'000);
  EXPECT_GT(work(*more, number(0)).least, 4e6);
  EXPECT_GT(work(*few, number(0), 4'000'000).least, 4e7);
}

TEST(WorkEstimate, ACountThatTheProgramComputesIsTakenForFewOrMany) {
  const auto p = counting([](auto& b, auto x) { return b.load(x, {b.index(0)}); });
  EXPECT_GT(work(*p, number(0)).most, 1e7);
  EXPECT_LT(work(*p, number(0)).least, 1'000);
}

/// As many trips as `count[at]`, if `go[at]`.
Work work_of_inputs(const Tensor& count, const Tensor& go, std::int64_t at) {
  scalar::Builder b("if");
  const auto counts = b.buffer({"count", DType::i64, scalar::Access::in, {-1}, false}),
             conditions = b.buffer({"go", DType::boolean, scalar::Access::in, {-1}, false}),
             x = b.buffer({"x", DType::i64, scalar::Access::out, {1}});
  const Ex index = b.param();
  const auto counted = [&](Ex, std::span<const Ex> n) { return std::vector<Ex>{n[0] + 1}; };
  const auto total = b.if_(
      b.load(conditions, {index}),
      [&] { return b.for_(b.index(0), b.load(counts, {index}), {b.index(0)}, counted); },
      [&] { return std::vector<Ex>{b.index(0)}; });
  b.store(x, {b.index(0)}, total[0]);
  const auto p = b.finish();
  const Tensor out = number(0);
  std::vector<scalar::View> views;
  for (const Tensor* t : {&count, &go, &out})
    views.push_back({t->data(), t->shape().data(), t->strides().data()});
  return estimated_work(*p, views.data(), &at);
}

TEST(WorkEstimate, CountsAndConditionsThatAreInputsAreRead) {
  const Tensor all = Tensor::from<std::int64_t>({4}, {5, -1, 1'000'000, -1}),
               counts = all.strided(0, {2}, {2}), go = Tensor::from<bool>({2}, {true, true}),
               stop = Tensor::from<bool>({2}, {true, false});
  EXPECT_LT(work_of_inputs(counts, go, 0).most, 1'000);
  EXPECT_GT(work_of_inputs(counts, go, 1).least, 1e6);
  EXPECT_LT(work_of_inputs(counts, stop, 1).most, 1'000);
  EXPECT_GT(work_of_inputs(counts, go, 2).most, 1e7) << "there is no such element";
}

/// Each of `trips` trips has an inner loop of as many trips as `count` has there.
Work work_of_rows(const Tensor& count, std::int64_t trips) {
  scalar::Builder b("rows");
  const auto counts = b.buffer({"count", DType::i64, scalar::Access::in, {-1}}),
             x = b.buffer({"x", DType::i64, scalar::Access::out, {1}});
  const auto counted = [&](Ex, std::span<const Ex> n) { return std::vector<Ex>{n[0] + 1}; };
  const auto total = b.for_(b.index(0), b.param(), {b.index(0)}, [&](Ex i, std::span<const Ex> n) {
    return b.for_(b.index(0), b.load(counts, {i}), {n[0]}, counted);
  });
  b.store(x, {b.index(0)}, total[0]);
  const auto p = b.finish();
  const Tensor out = number(0);
  const scalar::View views[] = {{count.data(), count.shape().data(), count.strides().data()},
                                {out.data(), out.shape().data(), out.strides().data()}};
  return estimated_work(*p, views, &trips);
}

TEST(WorkEstimate, WhatTheFirstTripReadsIsNotWhatAllTripsRead) {
  const Tensor late = Tensor::from<std::int64_t>({2}, {0, 100'000'000}),
               early = Tensor::from<std::int64_t>({2}, {10'000'000'000, 0});
  EXPECT_GT(work_of_rows(late, 2).most, 1e7);
  EXPECT_LT(work_of_rows(early, 2).least, 1'000);
  EXPECT_LT(work_of_rows(late, 1).most, 1'000) << "there is one trip";
}

TEST(WorkEstimate, ACountThatFollowsFromExtentsIsKnown) {
  const auto p = counting([](auto& b, auto x) {
    return scalar::max(scalar::min(b.extent(x, 0) * 8 / 2, b.index(100)), b.index(0));
  });
  EXPECT_LT(work(*p, number(0)).most, 1'000);
}

TEST(WorkEstimate, AnInnerLoopThatMayBeLongWaitsForCompiledCode) {
  TieredCompiler compiler(Execution::tiered);
  const auto run = [&](std::int64_t inner, bool by_data) {
    const auto code = compiler.make(counting([&](scalar::Builder& b, std::int32_t x) {
      return by_data ? b.load(x, {b.index(0)}) : b.index(inner);
    }));
    const Tensor x = number(inner);
    const scalar::View view{x.data(), x.shape().data(), x.strides().data()};
    const std::int64_t params[] = {0, 4};
    scalar::Context context;
    EXPECT_EQ(code->run(context, &view, params), scalar::done);
    EXPECT_EQ(*x.data_as<std::int64_t>(), 4 * inner);
    return code->native();
  };
  EXPECT_FALSE(run(10, false));
  EXPECT_TRUE(run(20'000'000, false));
  EXPECT_TRUE(run(3, true));
}

}  // namespace
}  // namespace rondel::compile
