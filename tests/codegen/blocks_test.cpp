#include "codegen/agree.h"
#include "scalar/math.h"

/// Loops, branches, checks, calls, the stop flag, and the binding of buffers.
namespace rondel::codegen {
namespace {

using scalar::Access;
using scalar::Builder;
using scalar::Context;
using scalar::Ex;
using scalar::View;
using Values = std::vector<Ex>;
using Carried = std::span<const Ex>;

std::int32_t buffer(Builder& b, std::string name, DType t, Access access, Shape extents,
                    bool contiguous = true, std::int32_t may_alias = -1) {
  return b.buffer({.name = std::move(name),
                   .dtype = t,
                   .access = access,
                   .extents = std::move(extents),
                   .contiguous = contiguous,
                   .may_alias = may_alias});
}

TEST(Blocks, CarriedValuesMoveAtOnce) {
  Builder b("fibonacci");
  const auto out = buffer(b, "out", DType::i64, Access::out, {2});
  const Ex n = b.param();
  const auto last = b.for_(b.index(0), n, {b.index(0), b.index(1)}, [](Ex, Carried x) {
    return Values{x[1], x[0] + x[1]};
  });
  b.store(out, {b.index(0)}, last[0]);
  b.store(out, {b.index(1)}, last[1]);
  const auto program = b.finish();
  for (const std::int64_t trips : {-5, 0, 1, 2, 90})
    agree(program, {Tensor::zeros(DType::i64, {2})}, {trips});
}

TEST(Blocks, AValueCarriedUnchangedIsItsFinal) {
  Builder b("identity");
  const auto out = buffer(b, "out", DType::i64, Access::out, {});
  const Ex n = b.param();
  b.store(out, {}, b.for_(b.index(0), n, {n}, [](Ex, Carried x) { return Values{x[0]}; })[0]);
  const auto program = b.finish();
  const Tensor result = Tensor::zeros(DType::i64, {});
  scalar::interpreted(program, {result}, {5});
  EXPECT_EQ(result.data_as<std::int64_t>()[0], 5);
  agree(program, {result}, {5});
}

TEST(Blocks, ConditionalLoopsSayWhereTheyStopped) {
  Builder b("collatz");
  const auto out = buffer(b, "out", DType::i64, Access::out, {2});
  const Ex x0 = b.param(), most = b.param();
  const auto last = b.for_while(b.index(3), most, {x0}, [&](Ex, Carried x) {
    const Ex next = select((x[0] & 1) == 0, x[0] >> 1, x[0] * 3 + 1);
    return Values{next != 1, next};
  });
  b.store(out, {b.index(0)}, last[0]);
  b.store(out, {b.index(1)}, last[1]);
  const auto program = b.finish();
  for (const std::int64_t most_trips : {0, 3, 4, 10, 1000})
    for (const std::int64_t x : {1, 2, 7, 27})
      agree(program, {Tensor::zeros(DType::i64, {2})}, {x, most_trips});
}

/// A trip of a parallel loop may read what it has written: only other trips are independent of it.
TEST(Blocks, ATripOfAParallelLoopReadsWhatItHasWritten) {
  for (const auto& [rows, columns] : {std::pair{4, 2}, {2, 4}, {8, 2}, {4, 3}, {3, 16}, {64, 2}}) {
    Builder b("rows");
    const auto x = buffer(b, "x", DType::f32, Access::in, {rows, columns});
    const auto y = buffer(b, "y", DType::f32, Access::out, {rows, columns});
    const Ex none = b.index(0), width = b.index(columns);
    b.for_each(none, b.index(rows), [&](Ex i) {
      const auto sum = [&] {
        const auto element = [&](Ex j) { return Values{b.load(y, {i, j})}; };
        const auto add = [](Carried p, Carried q) { return Values{p[0] + q[0]}; };
        return b.reduce(width, {b.constant(DType::f32, 0.0)}, element, add)[0];
      };
      b.for_each(none, width, [&](Ex j) { b.store(y, {i, j}, scalar::exp(b.load(x, {i, j}))); });
      const Ex first = sum();
      b.for_each(none, width, [&](Ex j) { b.store(y, {i, j}, b.load(y, {i, j}) - first); });
      const Ex second = sum();
      b.for_each(none, width, [&](Ex j) { b.store(y, {i, j}, b.load(y, {i, j}) * second); });
    });
    agree(b.finish(), {plain_values(DType::f32, {rows, columns}, 7),
                       Tensor::zeros(DType::f32, {rows, columns})});
  }
}

TEST(Blocks, ATripOfAParallelLoopAddsToWhatItHasWritten) {
  for (const auto& [rows, columns] : {std::pair{4, 2}, {8, 2}, {16, 3}, {64, 2}}) {
    Builder b("sums");
    const auto x = buffer(b, "x", DType::f32, Access::in, {3, rows, columns});
    const auto y = buffer(b, "y", DType::f32, Access::inout, {rows, columns});
    const Ex none = b.index(0);
    b.for_each(none, b.index(rows), [&](Ex i) {
      b.for_each(
          none, b.index(3),
          [&](Ex k) {
            b.for_each(none, b.index(columns), [&](Ex j) {
              b.store(y, {i, j}, b.load(y, {i, j}) * 3 + b.load(x, {k, i, j}));
            });
          },
          0);
    });
    agree(b.finish(), {plain_values(DType::f32, {3, rows, columns}, 7),
                       plain_values(DType::f32, {rows, columns}, 8)});
  }
}

/// An index that is split into quotient and remainder for two neighbouring axes may be joined
/// again, but only if both come from the same number and the axes are contiguous in memory.
TEST(Blocks, IndicesTakenApartReadTheSameElements) {
  for (const bool contiguous : {true, false})
    for (const bool known : {true, false})
      for (const std::int64_t divisor : {5, 4}) {
        Builder b("apart");
        const Shape extents = known ? Shape{3, 4, 5} : Shape{-1, -1, -1};
        const auto in = buffer(b, "in", DType::i32, Access::in, extents, contiguous);
        const auto out = buffer(b, "out", DType::i32, Access::out, {2, 48});
        const Ex inner = divisor == 5 ? b.extent(in, 2) : b.index(divisor);
        b.for_each(b.index(0), b.index(48), [&](Ex i) {
          const Ex rest = i / inner, middle = b.extent(in, 1);
          b.store(out, {b.index(0), i}, b.load(in, {rest / middle, rest % middle, i % inner}));
          // These are not the quotient and the remainder of the same number.
          b.store(out, {b.index(1), i}, b.load(in, {rest % 3, (i + 1) / inner % 4, i % inner}));
        });
        const Tensor block = edge_values(DType::i32, 60, 1);
        const Tensor x = block.strided(0, {3, 4, 5},
                                       contiguous ? Shape{20, 5, 1} : Shape{1, 3, 12});
        agree(b.finish(), {x, Tensor::zeros(DType::i32, {2, 48})});
      }
}

TEST(Blocks, SumsKeepTheirOrder) {
  for (const bool tree : {false, true}) {
    Builder b("sum");
    const auto in = buffer(b, "in", DType::f32, Access::in, {-1});
    const auto out = buffer(b, "out", DType::f32, Access::out, {});
    const Ex zero = b.constant(DType::f32, 0.0);
    const auto sum = tree ? b.reduce(
                                b.extent(in, 0), {zero},
                                [&](Ex i) { return Values{b.load(in, {i})}; },
                                [](Carried x, Carried y) { return Values{x[0] + y[0]}; })
                          : b.for_(b.index(0), b.extent(in, 0), {zero},
                                   [&](Ex i, Carried x) { return Values{x[0] + b.load(in, {i})}; });
    b.store(out, {}, sum[0]);
    const auto program = b.finish();
    for (const std::int64_t n : {0, 1, 63, 64, 65, 1000})
      agree(program, {plain_values(DType::f32, {n}, 5), Tensor::zeros(DType::f32, {})});
  }
}

TEST(Blocks, BranchesMergeValuesAndGuardAccesses) {
  Builder b("branches");
  const auto in = buffer(b, "in", DType::f32, Access::in, {-1});
  const auto out = buffer(b, "out", DType::f32, Access::out, {20});
  b.for_each(b.index(0), b.index(20), [&](Ex i) {
    const auto value = b.if_(
        i < b.extent(in, 0), [&] { return Values{b.load(in, {i})}; },
        [&] { return Values{b.constant(DType::f32, -1.0)}; });
    b.if_((i & 1) == 0, [&] { b.store(out, {i}, value[0]); });
  });
  const auto program = b.finish();
  for (const std::int64_t n : {0, 7, 19})
    agree(program, {plain_values(DType::f32, {n}, 9), plain_values(DType::f32, {20}, 10)});
}

TEST(Blocks, ChecksNameTheirSiteAndShowValues) {
  Builder b("gather");
  const auto table = buffer(b, "table", DType::f32, Access::in, {-1});
  const auto index = buffer(b, "index", DType::i64, Access::in, {-1});
  const auto out = buffer(b, "out", DType::f32, Access::out, {-1});
  const Ex n = b.extent(table, 0);
  b.for_each(b.index(0), b.extent(index, 0), [&](Ex i) {
    const Ex at = b.load(index, {i});
    b.check(b.index(-1) < at, "index {} is negative", {at});
    b.check(at < n, "index {} at {} of {}", {at, i, n});
    b.store(out, {i}, b.load(table, {at}));
  });
  const auto program = b.finish();
  const Tensor values = plain_values(DType::f32, {5}, 1), results = Tensor::zeros(DType::f32, {4});
  EXPECT_EQ(agree(program, {values, Tensor::from<std::int64_t>({4}, {4, 0, 2, 1}), results}), 0);
  EXPECT_EQ(agree(program, {values, Tensor::from<std::int64_t>({4}, {4, 0, -2, 1}), results}), 1);
  EXPECT_EQ(agree(program, {values, Tensor::from<std::int64_t>({4}, {4, 5, 2, 1}), results}), 2);
}

TEST(Blocks, TheStopFlagEndsLoops) {
  Builder b("endless");
  const auto state = buffer(b, "state", DType::i64, Access::inout, {});
  const Ex to = b.param();
  b.for_(b.index(0), to, {}, [&](Ex, Carried) {
    b.store(state, {}, b.load(state, {}) + 1);
    return Values{};
  });
  const auto program = b.finish();
  std::atomic<std::int32_t> stop{1};
  EXPECT_EQ(agree(program, {Tensor::scalar<std::int64_t>(3)}, {INT64_MAX}, &stop), scalar::stopped);
  EXPECT_EQ(agree(program, {Tensor::scalar<std::int64_t>(3)}, {1}, &stop), scalar::done);
  stop = 0;
  EXPECT_EQ(agree(program, {Tensor::scalar<std::int64_t>(3)}, {9}, &stop), scalar::done);
  EXPECT_EQ(agree(program, {Tensor::scalar<std::int64_t>(3)}, {9}), scalar::done);
}

TEST(Blocks, StridedBuffersReadTheirBinding) {
  Builder b("transpose and reverse");
  const auto in = buffer(b, "in", DType::f64, Access::in, {-1, -1}, false);
  const auto out = buffer(b, "out", DType::f64, Access::out, {-1, -1}, false);
  b.for_all({b.extent(in, 0), b.extent(in, 1)},
            [&](const scalar::Indices& i) { b.store(out, i, b.load(in, i) + 1); });
  const auto program = b.finish();
  const Tensor block = plain_values(DType::f64, {100}, 2), result = Tensor::zeros(DType::f64, {64});
  agree(program, {block.strided(0, {3, 7}, {1, 3}), result.strided(20, {3, 7}, {-7, 1})});
  agree(program, {block.strided(50, {3, 7}, {0, -2}), result.strided(0, {3, 7}, {2, 6})});
  agree(program, {block.strided(0, {0, 7}, {7, 1}), result.strided(0, {0, 7}, {7, 1})});
}

TEST(Blocks, OutputsMayLieOnTheInputTheyName) {
  Builder b("in place");
  const auto in = buffer(b, "in", DType::f32, Access::in, {-1});
  const auto other = buffer(b, "other", DType::f32, Access::in, {-1});
  const auto out = buffer(b, "out", DType::f32, Access::out, {-1}, true, in);
  b.for_each(b.index(0), b.extent(in, 0), [&](Ex i) {
    const Ex x = b.load(in, {i});
    b.store(out, {i}, x * x + b.load(other, {i}));
  });
  const auto program = b.finish();
  const Tensor x = plain_values(DType::f32, {77}, 1), y = plain_values(DType::f32, {77}, 2);
  const Tensor before = x.copy();
  const Tensor apart = Tensor::zeros(DType::f32, {77});
  EXPECT_EQ(scalar::interpreted(program, {x, y, apart}), scalar::done);
  for (const auto tier : {Compiler::Tier::quick, Compiler::Tier::optimised}) {
    x.assign(before);
    Context context;
    EXPECT_EQ(scalar::run(*compiler().compile(program, tier), context, {x, y, x}), scalar::done);
    expect_equal(apart, x, "in place");
  }
}

/// A local array that is small (in the stack frame) or large (in the workspace).
TEST(Blocks, LocalsLiveInTheFrameOrTheWorkspace) {
  for (const std::int64_t n : {10, 10000}) {
    Builder b("local");
    const auto out = buffer(b, "out", DType::f32, Access::inout, {n});
    const auto scratch = b.local("scratch", DType::f32, {n});
    const auto half = b.local("half", DType::f32, {1});
    b.for_each(b.index(0), b.index(n), [&](Ex i) {
      b.store(half, {b.index(0)}, b.load(out, {i}) * 0.5);  // shared by all trips
      b.store(scratch, {b.index(n - 1) - i}, b.load(half, {b.index(0)}));
    });
    b.for_each(b.index(0), b.index(n), [&](Ex i) { b.store(out, {i}, b.load(scratch, {i})); });
    const auto program = b.finish();
    agree(program, {plain_values(DType::f32, {n}, 4)});
    std::vector<char> workspace(program->workspace_bytes() + 64);
    const Tensor own = plain_values(DType::f32, {n}, 4), expected = own.copy();
    scalar::interpreted(program, {expected});
    Context context;
    context.workspace = reinterpret_cast<void*>(
        (reinterpret_cast<std::uintptr_t>(workspace.data()) + 63) & ~63ull);
    EXPECT_EQ(scalar::run(*compiler().compile(program), context, {own}), scalar::done);
    expect_equal(expected, own, "caller's workspace");
  }
}

/// All trips write and read the same four elements. Only at run time is it known that a trip reads
/// what it has written.
TEST(Blocks, TripsMayShareALocalAsScratch) {
  Builder b("scratch");
  const auto in = buffer(b, "in", DType::f32, Access::in, {-1});
  const auto out = buffer(b, "out", DType::f32, Access::out, {-1});
  const auto scratch = b.local("scratch", DType::f32, {4});
  const Ex written = b.param(), read = b.param();
  b.for_each(b.index(0), b.extent(in, 0), [&](Ex i) {
    b.store(scratch, {(i + written) & 3}, b.load(in, {i}) * 0.5);
    b.store(out, {i}, b.load(scratch, {(i + read) & 3}));
  });
  const Tensor values = plain_values(DType::f32, {200}, 4);
  agree(b.finish(), {values, Tensor::zeros(DType::f32, {200})}, {1, 1});
}

/// Computes views[0] = attribute * views[1]; returns 7 if the first element is negative.
scalar::Status scale(Context& context, std::span<const View> views, const void* attributes) {
  const double factor = *static_cast<const double*>(attributes);
  const View &out = views[0], &in = views[1];
  const auto* from = static_cast<const float*>(in.data);
  if (from[0] < 0) return 7;
  for (std::int64_t i = 0; i < in.extents[0]; ++i)
    static_cast<float*>(out.data)[i * out.strides[0]] = static_cast<float>(
        static_cast<double>(from[i * in.strides[0]]) * factor);
  context.shown[0] = in.extents[0];
  return scalar::done;
}

TEST(Blocks, CallsTakeViewsOfTrailingAxes) {
  for (const bool known : {false, true})
    for (const bool contiguous : {false, true}) {
      Builder b("call");
      const Shape extents = known ? Shape{3, 5} : Shape{-1, -1};
      const auto in = buffer(b, "in", DType::f32, Access::in, extents, contiguous);
      const auto out = buffer(b, "out", DType::f32, Access::out, extents, contiguous);
      const auto row = b.local("row", DType::f32, {5});
      const auto factor = std::make_shared<const double>(2.5);
      b.for_(b.index(0), b.extent(in, 0), {}, [&](Ex i, Carried) {
        b.call({"scale", scale, factor, {{row, 0}, {in, 1}}}, {i});
        b.call({"scale", scale, factor, {{out, 1}, {row, 0}}}, {i});
        return Values{};
      });
      const auto program = b.finish();
      const Tensor values = Tensor::from<float>(
          {3, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
      const Tensor result = Tensor::zeros(DType::f32, {3, 5});
      EXPECT_EQ(agree(program, {values, result}), scalar::done);
      values.data_as<float>()[5] = -1;
      EXPECT_EQ(agree(program, {values, result}), 7);
    }
}

/// Fails with its first or second site, depending on the value in its first view. Its second view
/// is omitted.
scalar::Status fails(Context& context, std::span<const View> views, const void*) {
  if (views[1].data != nullptr || views[1].extents != nullptr) return 3;
  const std::int64_t x = *static_cast<const std::int64_t*>(views[0].data);
  context.shown = {x, x + 1};
  return x < 0 ? 1 : x > 100 ? 2 : scalar::done;
}

TEST(Blocks, TheSitesOfCallsAreTheProgramsInTheirFrames) {
  Builder b("sites");
  const auto in = buffer(b, "in", DType::i64, Access::in, {-1});
  b.check(b.extent(in, 0) > 1, "nothing there");
  const std::vector<std::string> failures{"{} is below 0", "{} is above 100, as is {}"};
  b.for_(b.index(0), b.extent(in, 0), {}, [&](Ex i, Carried) {
    b.enter("node 'loop'", i);
    b.call({"fails", fails, nullptr, {{in, 1}, {-1}}}, {i}, failures);
    b.leave();
    return Values{};
  });
  const auto program = b.finish();
  const auto said = [&](std::int64_t first, std::int64_t second) {
    const Tensor values = Tensor::from<std::int64_t>({2}, {first, second});
    const scalar::Status status = agree(program, {values});
    if (status == scalar::done) return std::string("done");
    Context context;
    scalar::run(*scalar::interpret(program), context, {values}, {});
    return std::string(scalar::failure(*program, context, status).what());
  };
  EXPECT_EQ(said(3, 4), "done");
  EXPECT_EQ(said(-3, 4), "node 'loop', trip 0: -3 is below 0");
  EXPECT_EQ(said(3, 104), "node 'loop', trip 1: 104 is above 100, as is 105");
  // A stopped run stores nothing in `Context::shown`.
  const auto stops = [](Context&, std::span<const View>, const void*) { return scalar::stopped; };
  Builder other("stops");
  const auto state = buffer(other, "state", DType::i64, Access::inout, {});
  other.call({"stops", stops, nullptr, {{state}}}, {}, failures);
  EXPECT_EQ(agree(other.finish(), {Tensor::scalar<std::int64_t>(1)}), scalar::stopped);
}

/// An output may overlap an input. A load after the store reads the new element, so the compiler
/// must not assume that the two buffers are disjoint.
TEST(Blocks, ALoadAfterAStoreOverItsInputSeesTheNewElement) {
  Builder b("over");
  const auto x = buffer(b, "x", DType::f32, Access::in, {-1});
  const auto y = buffer(b, "y", DType::f32, Access::out, {-1}, true, x);
  const auto z = buffer(b, "z", DType::f32, Access::out, {-1});
  b.for_each(b.index(0), b.extent(x, 0), [&](Ex i) {
    b.store(y, {i}, b.load(x, {i}) + 1);
    b.store(z, {i}, b.load(x, {i}));
  });
  const auto program = b.finish();
  const Tensor both = plain_values(DType::f32, {100}, 3), after = Tensor::zeros(DType::f32, {100});
  EXPECT_EQ(agree(program, {both, both, after}), scalar::done);
}

[[noreturn]] scalar::Status throws(Context&, std::span<const View>, const void*) {
  throw std::runtime_error("from a kernel");
}

TEST(Blocks, WhatKernelsThrowPassesThroughNativeCode) {
  Builder b("throws");
  const auto state = buffer(b, "state", DType::f32, Access::inout, {4});
  b.call({"throws", throws, nullptr, {{state, 0}}}, {});
  const auto program = b.finish();
  for (const auto tier : {Compiler::Tier::quick, Compiler::Tier::optimised}) {
    Context context;
    EXPECT_THROW(
        scalar::run(*compiler().compile(program, tier), context, {Tensor::zeros(DType::f32, {4})}),
        std::runtime_error);
  }
}

TEST(Blocks, StringsAreRefused) {
  Builder b("strings");
  buffer(b, "names", DType::string, Access::in, {2});
  EXPECT_NE(Compiler::refusal(*b.finish()), "");
}

}  // namespace
}  // namespace rondel::codegen
