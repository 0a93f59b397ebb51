#include "codegen/parts.h"

#include "codegen/agree.h"

#include <thread>

/// Loops and products that threads share: which ones, and that nothing else changes.
namespace rondel::codegen {
namespace {

using scalar::Access;
using scalar::Builder;
using scalar::Ex;
using Program = std::shared_ptr<const scalar::Program>;

std::int32_t array(Builder& b, const char* name, Shape extents, Access access) {
  return b.buffer({.name = name, .dtype = DType::f32, .access = access, .extents = extents});
}

/// How many loops and products are divided.
std::size_t parts_of(const Program& program, PartOptions options = {}) {
  return plan_parts(*program, options).size();
}
bool in_place(const Program& program) {
  return plan_parts(*program, {.in_place = true}).begin()->second.in_place;
}

/// y = 2x, `times` times after each other; in a sequential loop if `repeated`.
Program doubled(std::int64_t extent, int times = 1, bool repeated = false) {
  Builder b("doubled");
  const auto x = array(b, "x", {extent}, Access::in), y = array(b, "y", {extent}, Access::out);
  const auto nest = [&](Ex, std::span<const Ex>) {
    for (int n = 0; n < times; ++n)
      b.for_each(b.index(0), b.extent(x, 0),
                 [&](Ex i) { b.store(y, {i}, b.load(x, {i}) + b.load(x, {i})); });
    return std::vector<Ex>{};
  };
  if (repeated) b.for_(b.index(0), b.param(), {}, nest);
  else nest({}, {});
  return b.finish();
}

Program product(std::int64_t m, std::int64_t k, std::int64_t n) {
  Builder b("product");
  const auto a = array(b, "a", {m, k}, Access::in), c = array(b, "b", {k, n}, Access::in);
  const auto out = array(b, "c", {m, n}, Access::out);
  b.contract({.a = a, .b = c, .c = out}, {});
  return b.finish();
}

TEST(Parts, WhatIsSmallIsNotDivided) {
  EXPECT_EQ(parts_of(doubled(4096)), 0);
  EXPECT_EQ(parts_of(product(64, 64, 64)), 0);
  EXPECT_EQ(parts_of(doubled(4096), {.all = true}), 1);
}

TEST(Parts, WhatIsLargeOrMayBeIsDivided) {
  EXPECT_EQ(parts_of(doubled(1 << 20)), 1);
  EXPECT_EQ(parts_of(doubled(-1, 3)), 3);
  EXPECT_EQ(parts_of(product(512, 512, 512)), 1);
  EXPECT_EQ(parts_of(product(-1, 64, 64)), 1);
}

TEST(Parts, WhatMayBeSmallIsAlsoInPlaceWithinALoop) {
  EXPECT_FALSE(in_place(doubled(1 << 20, 1, true)));
  EXPECT_TRUE(in_place(doubled(-1, 1, true)));
}

TEST(Parts, SequentialLoopsAreNotDivided) {
  Builder b("running sum");
  const auto x = array(b, "x", {-1}, Access::in), y = array(b, "y", {-1}, Access::out);
  b.for_(b.index(0), b.extent(x, 0), {b.constant(DType::f32, 0.0)},
         [&](Ex i, std::span<const Ex> sum) {
           const Ex next = sum[0] + b.load(x, {i});
           b.store(y, {i}, next);
           return std::vector{next};
         });
  const Program program = b.finish();
  EXPECT_EQ(parts_of(program, {.all = true}), 0);
}

/// Rows share an array that is read behind the loop: which row wrote it last would show.
TEST(Parts, TripsThatShareAnArrayThatIsReadLaterAreNotDivided) {
  const auto rows = [](bool read_later) {
    Builder b("rows");
    const auto x = array(b, "x", {100, 8}, Access::in), y = array(b, "y", {100, 8}, Access::out);
    const auto last = array(b, "last", {8}, Access::out);
    const auto scratch = b.local("scratch", DType::f32, {8});
    b.for_each(b.index(0), b.index(100), [&](Ex row) {
      for (std::int64_t k = 0; k < 8; ++k)
        b.store(scratch, {b.index(k)}, b.load(x, {row, b.index(k)}));
      for (std::int64_t k = 0; k < 8; ++k)
        b.store(y, {row, b.index(k)}, b.load(scratch, {b.index(7 - k)}));
    });
    for (std::int64_t k = 0; k < 8; ++k)
      b.store(last, {b.index(k)},
              read_later ? b.load(scratch, {b.index(k)}) : b.constant(DType::f32, 1.0));
    return b.finish();
  };
  EXPECT_EQ(parts_of(rows(true), {.all = true}), 0);
  EXPECT_EQ(parts_of(rows(false), {.all = true}), 1);
  agree(rows(false), {plain_values(DType::f32, {100, 8}, 1), plain_values(DType::f32, {100, 8}, 2),
                      plain_values(DType::f32, {8}, 3)});
}

/// Two threads are inside of the loop at once: a call in one trip waits for the call in another.
TEST(Parts, ThreadsShareALoop) {
  static std::atomic<int> begun;
  begun = 0;
  Builder b("meeting");
  const auto x = array(b, "x", {2, 1}, Access::in);
  const KernelFn meet = [](Context&, std::span<const View>, const void*) -> Status {
    ++begun;
    while (begun < 2) std::this_thread::yield();
    return done;
  };
  b.for_each(b.index(0), b.index(2), [&](Ex i) {
    b.call({.name = "meet",
            .function = meet,
            .attributes = nullptr,
            .views = {{x, 1}},
            .first_written = 1},
           {i}, {});
  });
  const auto code = dividing_compiler().compile(b.finish(), Compiler::Tier::quick);
  scalar::Context context;
  const ThreadScope scope(2);
  EXPECT_EQ(scalar::run(*code, context, {plain_values(DType::f32, {2, 1}, 1)}, {}), scalar::done);
}

/// Of the trips that fail, the first one is reported, as by one thread.
TEST(Parts, TheErrorIsThatOfTheFirstTripThatFails) {
  Builder b("checked");
  const auto x = array(b, "x", {-1}, Access::in), y = array(b, "y", {-1}, Access::out);
  b.for_each(b.index(0), b.extent(x, 0), [&](Ex i) {
    b.check(b.load(x, {i}) < 0.5, "trip {}", {i});
    b.store(y, {i}, b.load(x, {i}));
  });
  const Program program = b.finish();
  Tensor values(DType::f32, {5000});
  for (std::int64_t i = 0; i < 5000; ++i)
    values.data_as<float>()[i] = i >= 1234 && i % 3 == 1 ? 1.0f : 0.0f;
  const Tensor out(DType::f32, {5000});
  for (const auto tier : {Compiler::Tier::quick, Compiler::Tier::optimised})
    for (const int threads : {1, 2, 3, 8})
      for (int round = 0; round < 20; ++round) {
        const auto code = dividing_compiler().compile(program, tier);
        scalar::Context context;
        const ThreadScope scope(threads);
        ASSERT_EQ(scalar::run(*code, context, {values, out}, {}), 1);
        ASSERT_EQ(context.shown[0], 1234);
      }
}

/// The rows are lanes of vectors; a part has other rows than whole vectors.
TEST(Parts, APartOfTheRowsMayEndWithinAVector) {
  Builder b("products of rows");
  const auto x = array(b, "x", {30, 64}, Access::in), y = array(b, "y", {64}, Access::out);
  b.for_each(b.index(0), b.index(64), [&](Ex row) {
    const auto all = b.for_(b.index(0), b.index(30), {b.constant(DType::f32, 1.0)},
                            [&](Ex k, std::span<const Ex> product) {
                              return std::vector{product[0] * b.load(x, {k, row})};
                            });
    b.store(y, {row}, all[0]);
  });
  const Program program = b.finish();
  const std::vector<Tensor> tensors{plain_values(DType::f32, {30, 64}, 1),
                                    plain_values(DType::f32, {64}, 2)};
  const Outcome want = outcome(*scalar::interpret(program), tensors, {}, nullptr);
  const auto code = dividing_compiler().compile(program);
  for (const int threads : {1, 2, 3, 8})
    expect_equal(want.tensors[1], outcome(*code, tensors, {}, nullptr, threads).tensors[1],
                 fmt::format("{} threads", threads));
}

TEST(Parts, TheStopFlagEndsAllParts) {
  const Program program = doubled(1 << 22);
  const auto code = compiler().compile(program);
  std::atomic<std::int32_t> stop = 1;
  scalar::Context context;
  const ThreadScope scope(3);
  context.stop = &stop;
  const Tensor x(DType::f32, {1 << 22}), y(DType::f32, {1 << 22});
  EXPECT_EQ(scalar::run(*code, context, {x, y}, {}), scalar::stopped);
}

/// Whether a product has one row decides the order of its sums, also in parts of few rows.
TEST(Parts, ProductsAreSummedAsIfTheyWereWhole) {
  const std::pair<std::int64_t, std::int64_t> sizes[] = {{1, 300}, {25, 3},  {300, 1}, {49, 200},
                                                         {200, 9}, {2, 130}, {8, 65},  {73, 73}};
  for (const auto& [m, n] : sizes)
    for (const bool known : {false, true})
      for (const bool transposed : {false, true}) {
        Builder b(fmt::format("{} x {}{}", m, n, transposed ? ", transposed" : ""));
        const std::int64_t k = 75;
        const Shape of_b = transposed ? Shape{n, k} : Shape{k, n};
        const auto declared = [&](const Shape& s) { return known ? s : Shape{-1, -1}; };
        const auto a = array(b, "a", declared({m, k}), Access::in);
        const auto c = array(b, "b", declared(of_b), Access::in);
        const auto out = array(b, "c", declared({m, n}), Access::out);
        b.contract({.a = a, .b = c, .c = out, .b_transposed = transposed}, {});
        agree(b.finish(), {plain_values(DType::f32, {m, k}, 1), plain_values(DType::f32, of_b, 2),
                           plain_values(DType::f32, {m, n}, 3)});
      }
}

}  // namespace
}  // namespace rondel::codegen
