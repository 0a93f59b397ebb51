#include <rondel/error.h>

#include "scalar/builder.h"
#include "scalar/run.h"

#include <gtest/gtest.h>

#include <cmath>

/// Loops, branches, checks, calls, reductions and folding.
namespace rondel::scalar {
namespace {

Buffer out(DType t, std::vector<std::int64_t> extents) {
  return {.name = "y", .dtype = t, .access = Access::out, .extents = std::move(extents)};
}

std::vector<std::int64_t> integers(const Tensor& t) {
  return {t.data_as<std::int64_t>(), t.data_as<std::int64_t>() + t.size()};
}

TEST(Blocks, carried_values_swap_at_once) {
  Builder b("fibonacci");
  const auto y = b.buffer(out(DType::i64, {2}));
  const Ex n = b.param();
  const auto finals = b.for_(b.index(0), n, {b.index(0), b.index(1)},
                             [](Ex, std::span<const Ex> c) {
                               return std::vector<Ex>{c[1], c[0] + c[1]};
                             });
  b.store(y, {b.index(0)}, finals[0]);
  b.store(y, {b.index(1)}, finals[1]);
  const auto program = b.finish();
  const Tensor t(DType::i64, {2});
  ASSERT_EQ(interpreted(program, {t}, {10}), done);
  EXPECT_EQ(integers(t), (std::vector<std::int64_t>{55, 89}));
  ASSERT_EQ(interpreted(program, {t}, {-3}), done);
  EXPECT_EQ(integers(t), (std::vector<std::int64_t>{0, 1}));
}

TEST(Blocks, a_carried_value_becomes_the_index_of_its_own_trip) {
  Builder b("previous");
  const auto y = b.buffer(out(DType::i64, {2}));
  const Ex hi = b.param();
  const auto finals = b.for_(b.index(0), hi, {b.index(-1), b.index(-1)},
                             [&](Ex i, std::span<const Ex> c) {
                               return std::vector<Ex>{i, c[0]};
                             });
  b.store(y, {b.index(0)}, finals[0]);
  b.store(y, {b.index(1)}, finals[1]);
  const auto program = b.finish();
  const Tensor t(DType::i64, {2});
  ASSERT_EQ(interpreted(program, {t}, {5}), done);
  EXPECT_EQ(integers(t), (std::vector<std::int64_t>{4, 3}));
}

std::shared_ptr<const Program> countdown() {
  Builder b("countdown");
  const auto y = b.buffer(out(DType::i64, {2}));
  const Ex lo = b.param(), hi = b.param(), limit = b.param();
  const auto finals = b.for_while(lo, hi, {b.index(0)}, [&](Ex i, std::span<const Ex> c) {
    return std::vector<Ex>{i < limit, c[0] + i};
  });
  b.store(y, {b.index(0)}, finals[0]);
  b.store(y, {b.index(1)}, finals[1]);
  return b.finish();
}

TEST(Blocks, conditional_loops_say_where_they_stopped) {
  const auto program = countdown();
  const Tensor t(DType::i64, {2});
  const auto run_with = [&](std::int64_t lo, std::int64_t hi, std::int64_t limit) {
    EXPECT_EQ(interpreted(program, {t}, {lo, hi, limit}), done);
    return integers(t);
  };
  using V = std::vector<std::int64_t>;
  EXPECT_EQ(run_with(0, 10, 3), (V{6, 4}));   // trips 0 1 2 3, the last says stop
  EXPECT_EQ(run_with(0, 3, 100), (V{3, 3}));  // the bound ends it
  EXPECT_EQ(run_with(5, 5, 100), (V{0, 5}));  // no trip
  EXPECT_EQ(run_with(7, 2, 100), (V{0, 7}));
  EXPECT_EQ(run_with(INT64_MAX - 2, INT64_MAX, 0), (V{INT64_MAX - 2, INT64_MAX - 1}));
}

TEST(Blocks, loops_of_known_trips_fold) {
  Builder b("fold");
  const auto y = b.buffer(out(DType::i64, {1}));
  const auto add = [](Ex i, std::span<const Ex> c) { return std::vector<Ex>{c[0] + i + 5}; };
  const Ex none = b.for_(b.index(3), b.index(3), {b.index(1)}, add)[0];
  const Ex once = b.for_(b.index(3), b.index(4), {none}, add)[0];
  EXPECT_EQ(b.known(once), 9);
  const Ex zero = b.index(0);
  b.store(y, {zero}, once);
  EXPECT_EQ(to_text(*b.finish()), R"(program fold
out y: i64[1]
  %0 = constant i64 9
  %1 = constant i64 0
  store y %1, %0
)");
}

TEST(Blocks, branches_merge) {
  Builder b("branch");
  const auto y = b.buffer(out(DType::i64, {2}));
  const Ex x = b.param(), zero = b.index(0);
  const auto merged = b.if_(
      x < 0,
      [&] {
        return std::vector<Ex>{-x, b.index(1)};
      },
      [&] {
        return std::vector<Ex>{x, b.index(2)};
      });
  b.store(y, {zero}, merged[0]);
  b.if_(merged[1] == 1, [&] { b.store(y, {b.index(1)}, merged[1] * 10); });
  const auto program = b.finish();
  const Tensor t = Tensor::zeros(DType::i64, {2});
  ASSERT_EQ(interpreted(program, {t}, {5}), done);
  EXPECT_EQ(integers(t), (std::vector<std::int64_t>{5, 0}));
  ASSERT_EQ(interpreted(program, {t}, {-7}), done);
  EXPECT_EQ(integers(t), (std::vector<std::int64_t>{7, 10}));
}

TEST(Blocks, checks_end_the_run_and_say_why) {
  Builder b("check");
  const auto y = b.buffer(out(DType::i64, {4}));
  const Ex n = b.param();
  b.check(b.constant(DType::boolean, std::int64_t{1}), "never said");
  b.for_each(
      b.index(0), b.index(4),
      [&](Ex i) {
        b.check(i != n, "index {} is the forbidden {}, out of {}", {i, n});
        b.store(y, {i}, i + 1);
      },
      0);
  const auto program = b.finish();
  EXPECT_EQ(program->sites.size(), 1u);
  const Tensor t = Tensor::zeros(DType::i64, {4});
  Context context;
  const auto executable = interpret(program);
  EXPECT_FALSE(executable->native());
  const Status status = run(*executable, context, {t}, {2});
  EXPECT_EQ(status, 1);
  EXPECT_STREQ(failure(*program, context, status).what(), "index 2 is the forbidden 2, out of 0");
  EXPECT_EQ(integers(t), (std::vector<std::int64_t>{1, 2, 0, 0}));
  EXPECT_EQ(run(*executable, context, {t}, {9}), done);
}

TEST(Blocks, loops_look_at_the_stop_flag) {
  Builder b("forever");
  const Ex n = b.param();
  b.for_(b.index(0), n, {b.index(0)},
         [](Ex, std::span<const Ex> c) { return std::vector<Ex>{c[0] + 1}; });
  const auto forever = b.finish();
  std::atomic<std::int32_t> flag = 1;
  Context context{.stop = &flag};
  EXPECT_EQ(run(*interpret(forever), context, {}, {INT64_MAX}), stopped);
  EXPECT_EQ(run(*interpret(forever), context, {}, {1}), done);
  flag = 0;
  EXPECT_EQ(run(*interpret(forever), context, {}, {1000}), done);
}

TEST(Blocks, locals_live_in_the_workspace) {
  Builder b("local");
  const auto y = b.buffer(out(DType::f32, {-1}));
  const auto first = b.local("first", DType::f32, {3}),
             second = b.local("second", DType::f64, {8000});
  b.store(first, {b.index(2)}, b.constant(DType::f32, 2.5));
  b.store(second, {b.index(7999)}, b.constant(DType::f64, 4.0));
  b.store(y, {b.index(0)},
          b.load(first, {b.index(2)}) + cast(DType::f32, b.load(second, {b.index(7999)})));
  const auto program = b.finish();
  EXPECT_EQ(program->workspace_bytes(), 64u + 64000u);
  const Tensor t(DType::f32, {1}),
      workspace = Tensor::zeros(DType::u8, {static_cast<std::int64_t>(program->workspace_bytes())});
  EXPECT_EQ(interpreted(program, {t}), done);
  EXPECT_EQ(t.data_as<float>()[0], 6.5f);
  Context context{.workspace = workspace.data()};
  EXPECT_EQ(run(*interpret(program), context, {t}), done);
  EXPECT_EQ(workspace.data_as<float>()[2], 2.5f);
  EXPECT_EQ(t.data_as<float>()[0], 6.5f);
}

TEST(Blocks, strides_come_from_the_binding) {
  Builder b("transpose");
  const auto x = b.buffer({"x", DType::i64, Access::in, {-1, -1}, false});
  const auto y = b.buffer({"y", DType::i64, Access::out, {-1, -1}});
  b.for_all({b.extent(y, 0), b.extent(y, 1)},
            [&](const Indices& i) { b.store(y, i, b.load(x, i)); });
  const auto program = b.finish();
  const Tensor t = Tensor::from<std::int64_t>({2, 3}, {1, 2, 3, 4, 5, 6}),
               flipped(DType::i64, {3, 2});
  ASSERT_EQ(interpreted(program, {t.strided(0, {3, 2}, {1, 3}), flipped}), done);
  EXPECT_EQ(integers(flipped), (std::vector<std::int64_t>{1, 4, 2, 5, 3, 6}));
  ASSERT_EQ(interpreted(program, {t.strided(5, {3, 2}, {0, -1}), flipped}), done);
  EXPECT_EQ(integers(flipped), (std::vector<std::int64_t>{6, 5, 6, 5, 6, 5}));
}

TEST(Blocks, the_interpreter_notices_indices_out_of_range) {
  Builder b("bad");
  const auto y = b.buffer(out(DType::i64, {-1, 4}));
  b.store(y, {b.index(0), b.param()}, b.index(1));
  const auto program = b.finish();
  const Tensor t(DType::i64, {1, 4});
  EXPECT_EQ(interpreted(program, {t}, {3}), done);
  for (const std::int64_t bad : {4, -1}) {
    try {
      interpreted(program, {t}, {bad});
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(e.blame(), Blame::internal);
      EXPECT_NE(std::string(e.what()).find("on axis 1 of y, extent 4"), std::string::npos)
          << e.what();
    }
  }
}

Status add_up(Context& context, std::span<const View> views, const void* attributes) {
  const auto factor = *static_cast<const std::int64_t*>(attributes);
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < views[0].extents[0]; ++i)
    sum += static_cast<const std::int64_t*>(views[0].data)[i * views[0].strides[0]];
  *static_cast<std::int64_t*>(views[1].data) = sum * factor;
  context.shown[0] = sum;
  return sum < 0 ? 1 : done;
}

TEST(Blocks, calls_get_the_trailing_axes) {
  Builder b("call");
  const auto x = b.buffer({"x", DType::i64, Access::in, {-1, -1}, false});
  const auto y = b.buffer(out(DType::i64, {-1}));
  b.check(b.param() == 1, "{} is negative");
  const auto factor = std::make_shared<std::int64_t>(10);
  b.for_each(
      b.index(0), b.extent(x, 0),
      [&](Ex i) {
        b.call({"add_up", add_up, factor, {{x, 1}, {y, 1}}}, {i, i});
      },
      0);
  const auto program = b.finish();
  const Tensor t = Tensor::from<std::int64_t>({2, 3}, {1, 2, 3, 4, 5, 6}), sums(DType::i64, {3});
  ASSERT_EQ(interpreted(program, {t.strided(0, {3, 2}, {1, 3}), sums}, {1}), done);
  EXPECT_EQ(integers(sums), (std::vector<std::int64_t>{50, 70, 90}));
  const Tensor negative = Tensor::from<std::int64_t>({1, 2}, {-5, 2});
  Context context;
  const Status status = run(*interpret(program), context, {negative, sums}, {1});
  EXPECT_STREQ(failure(*program, context, status).what(), "-3 is negative");
}

/// A second implementation of the tree of `reduce`.
float tree_sum(const std::vector<float>& x) {
  float lanes[64] = {};
  for (std::size_t i = 0; i < x.size(); ++i) lanes[i % 64] += x[i];
  for (std::size_t width = 32; width > 0; width /= 2)
    for (std::size_t l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  return lanes[0];
}

TEST(Blocks, reductions_follow_the_tree) {
  for (const bool known : {false, true}) {
    for (const std::int64_t n : {0, 1, 5, 63, 64, 65, 128, 1000}) {
      Builder b("sum");
      const auto x = b.buffer({"x", DType::f32, Access::in, {known ? n : -1}});
      const auto y = b.buffer(out(DType::f32, {}));
      const auto sum = b.reduce(
          b.extent(x, 0), {b.constant(DType::f32, 0.0)},
          [&](Ex i) { return std::vector<Ex>{b.load(x, {i})}; },
          [](auto p, auto q) { return std::vector<Ex>{p[0] + q[0]}; });
      b.store(y, {}, sum[0]);
      std::vector<float> values;
      for (std::int64_t i = 0; i < n; ++i)
        values.push_back(std::ldexp(1.0f, static_cast<int>(i * 7 % 40) - 20) *
                         (i % 3 ? 1.1f : -0.7f));
      const Tensor t = Tensor::from<float>({n}, values), total(DType::f32, {});
      ASSERT_EQ(interpreted(b.finish(), {t, total}), done);
      EXPECT_EQ(total.data_as<float>()[0], tree_sum(values)) << n;
    }
  }
}

TEST(Blocks, reductions_of_rows_follow_the_same_tree) {
  for (const bool known : {false, true})
    for (const Shape& shape : {Shape{3, 64}, Shape{9, 20}, Shape{2, 3, 130}, Shape{70, 1},
                               Shape{0, 5}, Shape{3, 0}, Shape{4, 128}, Shape{3, 17}}) {
      Builder b("sum");
      const auto x = b.buffer(
          {"x", DType::f32, Access::in, known ? shape : Shape(shape.size(), -1)});
      const auto y = b.buffer(out(DType::f32, {}));
      std::vector<Ex> extents;
      for (std::size_t a = 0; a < shape.size(); ++a)
        extents.push_back(b.extent(x, static_cast<std::int64_t>(a)));
      const auto sum = b.reduce_rows(
          extents, {b.constant(DType::f32, 0.0)},
          [&](const Indices& i) { return std::vector<Ex>{b.load(x, i)}; },
          [](auto p, auto q) { return std::vector<Ex>{p[0] + q[0]}; });
      b.store(y, {}, sum[0]);
      std::vector<float> values;
      for (std::int64_t i = 0; i < element_count(shape); ++i)
        values.push_back(std::ldexp(1.0f, static_cast<int>(i * 7 % 40) - 20) *
                         (i % 3 ? 1.1f : -0.7f));
      const Tensor t = Tensor::from<float>(shape, values), total(DType::f32, {});
      ASSERT_EQ(interpreted(b.finish(), {t, total}), done);
      EXPECT_EQ(total.data_as<float>()[0], tree_sum(values)) << to_text(DType::f32, shape);
    }
}

TEST(Blocks, reductions_carry_several_values) {
  Builder b("argmax");
  const auto x = b.buffer({"x", DType::f32, Access::in, {-1}});
  const auto y = b.buffer(out(DType::i64, {}));
  const auto best = b.reduce(
      b.extent(x, 0), {lowest(b, DType::f32), b.index(INT64_MAX)},
      [&](Ex i) {
        return std::vector<Ex>{b.load(x, {i}), i};
      },
      [](auto p, auto q) {
        const Ex right = (p[0] < q[0]) | ((p[0] == q[0]) & (q[1] < p[1]));
        return std::vector<Ex>{select(right, q[0], p[0]), select(right, q[1], p[1])};
      });
  b.store(y, {}, best[1]);
  const auto program = b.finish();
  std::vector<float> values(300, 1.0f);
  values[70] = values[200] = values[6 + 64 * 2] = 9.0f;
  const Tensor at(DType::i64, {});
  ASSERT_EQ(interpreted(program, {Tensor::from<float>({300}, values), at}), done);
  EXPECT_EQ(integers(at)[0], 70);
}

TEST(Blocks, loops_around_a_reduction_stay_parallel) {
  Builder b("rows");
  const auto x = b.buffer({"x", DType::f32, Access::in, {-1, -1}});
  const auto y = b.buffer(out(DType::f32, {-1}));
  b.for_each(b.index(0), b.extent(x, 0), [&](Ex i) {
    const auto sum = b.reduce(
        b.extent(x, 1), {b.constant(DType::f32, 0.0)},
        [&](Ex j) {
          return std::vector<Ex>{b.load(x, {i, j})};
        },
        [](auto p, auto q) { return std::vector<Ex>{p[0] + q[0]}; });
    b.store(y, {i}, sum[0]);
  });
  const auto program = b.finish();
  std::vector<std::uint8_t> flags;
  for (const Inst& i : program->code)
    if (i.op == Op::for_) flags.push_back(i.flags);
  EXPECT_EQ(flags.front(), parallel);
  EXPECT_EQ(flags.back(), parallel);
}

TEST(Blocks, integer_constants_fold) {
  Builder b("fold");
  const Ex p = b.param(), two = b.index(2), three = b.index(3);
  EXPECT_EQ(b.known(two * three + 4 - 1), 9);
  EXPECT_EQ(b.known(select(two < three, two, three)), 2);
  EXPECT_EQ(b.known(min(two, three)), 2);
  EXPECT_EQ(b.known(b.index(7) / 2), 3);
  EXPECT_EQ(b.known(b.index(7) % 4), 3);
  EXPECT_EQ((p * 1).reg(), p.reg());
  EXPECT_EQ((p + 0).reg(), p.reg());
  EXPECT_EQ((0 + p).reg(), p.reg());
  EXPECT_EQ((p - 0).reg(), p.reg());
  EXPECT_EQ(b.known(p * 0), 0);
  EXPECT_EQ(b.known(p), std::nullopt);
  EXPECT_EQ(b.known(cast(DType::u8, b.index(300))), 44);
  EXPECT_EQ(select(two == three, p, two).reg(), two.reg());
}

TEST(Blocks, mixed_types_are_our_fault) {
  Builder b("mixed");
  try {
    b.param() + b.constant(DType::f32, 1.0);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.blame(), Blame::internal);
    EXPECT_STREQ(e.what(), "program mixed: add of i64 and f32");
  }
}

}  // namespace
}  // namespace rondel::scalar
