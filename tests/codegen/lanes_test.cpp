#include "codegen/lanes.h"
#include "codegen/agree.h"
#include "scalar/math.h"

#include <numeric>
#include <random>

/// Parallel loops whose trips become lanes of vectors.
namespace rondel::codegen {
namespace {

using scalar::Access;
using scalar::Builder;
using scalar::Ex;
using scalar::Indices;
using Values = std::vector<Ex>;
using Carried = std::span<const Ex>;

constexpr Host host{.vector_bytes = 32, .vector_registers = 16};

std::int32_t buffer(Builder& b, std::string name, DType t, Access access, Shape extents,
                    bool contiguous = true, bool dense_rows = false) {
  scalar::Buffer made{std::move(name), t, access, std::move(extents), contiguous};
  made.dense_rows = dense_rows;
  return b.buffer(std::move(made));
}

/// y[w] = the sum over k of x[k, w], in the order of k.
std::shared_ptr<const scalar::Program> sum_of_rows(std::int64_t k, std::int64_t w,
                                                   bool dense = true) {
  Builder b("sum of rows");
  const auto x = buffer(b, "x", DType::f32, Access::in, {k, w}, dense);
  const auto y = buffer(b, "y", DType::f32, Access::out, {w});
  b.for_each(b.index(0), b.extent(y, 0), [&](Ex i) {
    const Ex zero = b.constant(DType::f32, 0.0);
    b.store(y, {i}, b.for_(b.index(0), b.extent(x, 0), {zero}, [&](Ex j, Carried sum) {
      return Values{sum[0] + b.load(x, {j, i})};
    })[0]);
  });
  return b.finish();
}

/// How many loops run their trips as lanes, and are no straight code; `only_tail`: how many only
/// the last ones.
std::size_t lane_loops(const scalar::Program& p, bool only_tail = false) {
  const LanePlan plan = plan_lanes(p, host);
  return static_cast<std::size_t>(std::ranges::count_if(plan.loops, [&](const auto& loop) {
    return loop.second.only_tail == only_tail && loop.second.unrolled == 0;
  }));
}

TEST(Lanes, ALoopAroundASequentialLoop) {
  const auto program = sum_of_rows(-1, -1);
  EXPECT_EQ(lane_loops(*program), 1U);
  for (const std::int64_t k : {0, 1, 7})
    for (const std::int64_t w : {0, 1, 3, 8, 31, 32, 33, 64, 100})
      agree(program, {plain_values(DType::f32, {k, w}, 3), Tensor::zeros(DType::f32, {w})});
}

TEST(Lanes, HaveArraysOfTheirOwn) {
  Builder b("reduce");
  const auto x = buffer(b, "x", DType::f32, Access::in, {-1, -1});
  const auto y = buffer(b, "y", DType::f32, Access::out, {-1});
  b.for_each(b.index(0), b.extent(y, 0), [&](Ex i) {
    b.store(y, {i},
            b.reduce(
                b.extent(x, 0), {b.constant(DType::f32, 0.0)},
                [&](Ex j) {
                  return Values{b.load(x, {j, i})};
                },
                [](Carried p, Carried q) { return Values{p[0] + q[0]}; })[0]);
  });
  const auto program = b.finish();
  const LanePlan plan = plan_lanes(*program, host);
  ASSERT_EQ(plan.loops.size(), 1U);
  EXPECT_EQ(plan.loops.begin()->second.private_locals.size(), 1U);
  for (const std::int64_t k : {0, 3, 64, 200})
    for (const std::int64_t w : {1, 16, 40})
      agree(program, {plain_values(DType::f32, {k, w}, 3), Tensor::zeros(DType::f32, {w})});
}

TEST(Lanes, ABoundThatALoopCarries) {
  Builder b("carried bound");
  const auto x = buffer(b, "x", DType::f32, Access::in, {-1, -1});
  const auto y = buffer(b, "y", DType::f32, Access::inout, {-1});
  const Ex n = b.param(), zero = b.constant(DType::f32, 0.0);
  b.for_(b.index(0), n, {b.index(3), zero}, [&](Ex, Carried bound) {
    b.for_each(b.index(0), bound[0], [&](Ex i) {
      b.store(y, {i}, b.for_(b.index(0), b.extent(x, 0), {zero}, [&](Ex j, Carried sum) {
        return Values{sum[0] + b.load(x, {j, i})};
      })[0]);
    });
    return Values{bound[0] + 7, bound[1]};
  });
  const auto program = b.finish();
  EXPECT_EQ(lane_loops(*program), 1U);
  agree(program, {plain_values(DType::f32, {5, 40}, 2), Tensor::zeros(DType::f32, {40})}, {4});
}

TEST(Lanes, ALocalThatIsUsedOutsideIsOneBuffer) {
  Builder b("state");
  const auto y = buffer(b, "y", DType::f32, Access::out, {40});
  const Ex n = b.param();
  const auto state = b.local("state", DType::f32, {40});
  b.for_each(b.index(0), b.index(40), [&](Ex i) { b.store(state, {i}, cast(DType::f32, i)); });
  b.for_each(b.index(0), b.index(40), [&](Ex i) {
    b.store(state, {i}, b.for_(b.index(0), n, {b.load(state, {i})}, [&](Ex, Carried s) {
      return Values{s[0] * 0.5 + 1.0};
    })[0]);
  });
  b.for_each(b.index(0), b.index(40), [&](Ex i) { b.store(y, {i}, b.load(state, {i})); });
  const auto program = b.finish();
  EXPECT_EQ(lane_loops(*program), 1U);
  agree(program, {Tensor::zeros(DType::f32, {40})}, {9});
}

TEST(Lanes, AsManyAsThereAreTrips) {
  EXPECT_EQ(lane_loops(*sum_of_rows(-1, 3)), 0U);
  const LanePlan few = plan_lanes(*sum_of_rows(-1, 12), host);
  EXPECT_EQ(few.loops.begin()->second.width, 8);
  EXPECT_TRUE(few.loops.begin()->second.tail);
  const LanePlan whole = plan_lanes(*sum_of_rows(-1, 64), host);
  EXPECT_EQ(whole.loops.begin()->second.width, 32);
  EXPECT_FALSE(whole.loops.begin()->second.tail);
}

/// y[i] = f(x[i]).
std::shared_ptr<const scalar::Program> mapped(DType t, Ex (*f)(Ex)) {
  Builder b("mapped");
  const auto x = buffer(b, "x", t, Access::in, {-1});
  const auto y = buffer(b, "y", t, Access::out, {-1});
  b.for_each(b.index(0), b.extent(x, 0), [&](Ex i) { b.store(y, {i}, f(b.load(x, {i}))); });
  return b.finish();
}

Ex remainder_of_product(Ex x) { return scalar::fmod(x * 1e6, x + 3.0); }

TEST(Lanes, LongArithmeticWithoutLoops) {
  EXPECT_EQ(lane_loops(*mapped(DType::f32, scalar::exp)), 1U);
  EXPECT_EQ(lane_loops(*mapped(DType::f64, scalar::sigmoid)), 1U);
  EXPECT_EQ(lane_loops(*mapped(DType::f32, [](Ex x) { return x * x; })), 0U);
  EXPECT_EQ(lane_loops(*mapped(DType::f16, scalar::exp)), 0U);
  for (const DType t : {DType::f32, DType::f64})
    for (const auto f : {scalar::exp, scalar::sigmoid, scalar::tanh, scalar::erf, scalar::log,
                         scalar::sin, scalar::tan, remainder_of_product})
      for (const std::int64_t n : {0, 1, 7, 16, 33, 600})
        agree(mapped(t, f), {edge_values(t, n, 5), Tensor::zeros(t, {n})});
}

TEST(Lanes, OnlyTheLastTripsOfShortArithmetic) {
  const auto f = [](Ex x) { return x / 3.0 + x; };
  EXPECT_EQ(lane_loops(*mapped(DType::f16, f), true), 0U);
  for (const DType t : {DType::f32, DType::f64, DType::i64}) {
    EXPECT_EQ(lane_loops(*mapped(t, f), true), 1U);
    for (const std::int64_t n : {0, 1, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 300})
      agree(mapped(t, f), {edge_values(t, n, 5), Tensor::zeros(t, {n})});
  }
}

using Combined = Values (*)(Carried, Carried);
Values added(Carried p, Carried q) { return {p[0] + q[0]}; }
/// The first of the largest.
Values first_largest(Carried p, Carried q) {
  const Ex other = (q[0] > p[0]) | ((q[0] == p[0]) & (q[1] < p[1]));
  return {select(other, q[0], p[0]), select(other, q[1], p[1])};
}

/// For each row of x its elements, or what `f` makes of them, combined: y, and the position z.
std::shared_ptr<const scalar::Program> reduced_rows(DType t, std::int64_t columns, Ex (*f)(Ex),
                                                    bool with_position) {
  Builder b("reduced rows");
  const auto x = buffer(b, "x", t, Access::in, {-1, columns});
  const auto y = buffer(b, "y", t, Access::out, {-1});
  const auto z = buffer(b, "z", DType::i64, Access::out, {-1});
  Values neutral{b.constant(t, with_position ? -1e9 : 0.0)};
  if (with_position) neutral.push_back(b.index(1 << 30));
  b.for_each(b.index(0), b.extent(x, 0), [&](Ex row) {
    const auto element = [&](Ex j) {
      Values of{f(b.load(x, {row, j}))};
      if (with_position) of.push_back(j);
      return of;
    };
    const Values all = b.reduce(b.extent(x, 1), neutral, element,
                                with_position ? first_largest : added);
    b.store(y, {row}, all[0]);
    b.store(z, {row}, with_position ? all[1] : b.index(0));
  });
  return b.finish();
}

std::vector<LaneLoop> unrolled_loops(const scalar::Program& p) {
  std::vector<LaneLoop> found;
  for (const auto& [_, loop] : plan_lanes(p, host).loops)
    if (loop.unrolled > 0) found.push_back(loop);
  return found;
}

/// y[i] = the sum over `places` of (n + 1) x[i, places[n]], where x has `columns`.
std::shared_ptr<const scalar::Program> sum_in_rows(DType t, std::int64_t columns,
                                                   const std::vector<std::int64_t>& places,
                                                   std::int64_t rows = -1) {
  Builder b("sum in rows");
  const auto x = buffer(b, "x", t, Access::in, {rows, columns}, false, true);
  const auto y = buffer(b, "y", t, Access::out, {rows});
  b.for_each(b.index(0), b.extent(y, 0), [&](Ex i) {
    Ex sum = b.constant(t, 0.0);
    for (int n = 0; const std::int64_t place : places)
      sum = sum + b.load(x, {i, b.index(place)}) * ++n;
    for (int n = 0; n < 8; ++n) sum = sum * 3 + 1;
    b.store(y, {i}, sum);
  });
  return b.finish();
}

/// Places in rows of 32: near and far, in order and not, one of them twice, and a whole vector.
std::vector<std::vector<std::int64_t>> some_places() {
  std::vector<std::int64_t> first(16);
  std::iota(first.begin(), first.end(), 0);
  return {first, {7}, {0, 1}, {2, 0, 1}, {0, 1, 2, 3}, {9, 8, 15, 2, 2}, {1, 30, 0, 16, 15, 31}};
}

std::vector<RowTile> tiles_in(const scalar::Program& p) {
  std::vector<RowTile> tiles;
  for (const auto& [_, loop] : plan_lanes(p, host).loops)
    for (const auto& [_, tile] : loop.loaded) tiles.push_back(tile);
  return tiles;
}

TEST(Lanes, ReadRowsAsTiles) {
  const std::vector<RowTile> near = tiles_in(*sum_in_rows(DType::f32, 20, {3, 5, 4, 3, 10}));
  ASSERT_EQ(near.size(), 1U);
  EXPECT_EQ(near[0].first, 3);
  EXPECT_EQ(near[0].columns, 8);
  EXPECT_EQ(near[0].accesses.size(), 5U);
  EXPECT_EQ(tiles_in(*sum_in_rows(DType::f32, 20, {3, 5, 4, 11})).size(), 2U);
  EXPECT_EQ(tiles_in(*sum_in_rows(DType::f64, 20, {3, 5, 4, 7})).size(), 2U);
  EXPECT_EQ(tiles_in(*sum_in_rows(DType::i16, 20, {3, 5, 4, 7})).size(), 0U);
  for (const DType t : {DType::f32, DType::i64})
    for (const std::vector<std::int64_t>& places : some_places()) {
      const auto any = sum_in_rows(t, 32, places);
      for (const std::int64_t rows : {0, 1, 7, 16, 37})
        agree(any, {edge_values(t, rows * 32, 7).reshaped({rows, 32}), Tensor::zeros(t, {rows})});
      for (const std::int64_t rows : {4, 48, 50})
        agree(sum_in_rows(t, 32, places, rows),
              {edge_values(t, rows * 32, 7).reshaped({rows, 32}), Tensor::zeros(t, {rows})});
    }
}

/// y[i, place] = x[i] times a number of its own, for each place; rows of y have `columns`.
std::shared_ptr<const scalar::Program> written_rows(DType t, std::int64_t columns,
                                                    const std::vector<std::int64_t>& places,
                                                    std::int64_t rows = -1) {
  Builder b("written rows");
  const auto x = buffer(b, "x", t, Access::in, {rows});
  const auto y = buffer(b, "y", t, Access::inout, {rows, columns}, false, true);
  b.for_each(b.index(0), b.extent(x, 0), [&](Ex i) {
    Values values;
    for (std::size_t n = 0; n < places.size(); ++n)
      values.push_back(b.load(x, {i}) * (static_cast<double>(n) + 2) + 1);
    for (int n = 0; n < 8; ++n) values[0] = values[0] * 3 + 1;
    for (std::size_t n = 0; n < places.size(); ++n) b.store(y, {i, b.index(places[n])}, values[n]);
  });
  return b.finish();
}

TEST(Lanes, WriteRowsAsTiles) {
  const LanePlan plan = plan_lanes(*written_rows(DType::f32, 20, {3, 5, 4, 3, 10, 11}), host);
  ASSERT_EQ(plan.loops.size(), 1U);
  const LaneLoop& loop = plan.loops.begin()->second;
  ASSERT_EQ(loop.stored.size(), 2U);
  EXPECT_EQ(loop.stored.begin()->second.columns, 8);
  EXPECT_EQ(loop.in_tiles.size(), 4U);
  for (const DType t : {DType::f32, DType::i64})
    for (const std::vector<std::int64_t>& places : some_places())
      for (const std::int64_t extent : {-1, 4, 48, 50})
        for (const std::int64_t rows : {0, 1, 7, 16, 37}) {
          const std::int64_t n = extent < 0 ? rows : extent;
          agree(written_rows(t, 32, places, extent),
                {edge_values(t, n, 7), edge_values(t, n * 32, 3).reshaped({n, 32})});
          if (extent >= 0) break;
        }
}

TEST(Lanes, RowsAreWrittenInTheOrderOfTheProgram) {
  Builder b("read between");
  const auto y = buffer(b, "y", DType::f32, Access::inout, {-1, 4});
  b.for_each(b.index(0), b.extent(y, 0), [&](Ex i) {
    const auto at = [&](int column) { return Indices{i, b.index(column)}; };
    b.store(y, at(0), b.load(y, at(1)) * 3);
    b.store(y, at(1), b.load(y, at(0)) + b.load(y, at(2)));
    b.store(y, at(2), b.load(y, at(1)) - 1);
    b.store(y, at(3), b.load(y, at(2)) * b.load(y, at(0)) + b.load(y, at(3)));
  });
  const auto program = b.finish();
  EXPECT_EQ(lane_loops(*program), 1U);
  agree(program, {plain_values(DType::f32, {37, 4}, 3)});
}

TEST(Lanes, ATileEndsWhereMemoryIsWritten) {
  Builder b("written between");
  const auto x = buffer(b, "x", DType::f32, Access::in, {-1, 4});
  const auto y = buffer(b, "y", DType::f32, Access::out, {-1});
  const auto z = buffer(b, "z", DType::f32, Access::out, {-1});
  b.for_each(b.index(0), b.extent(y, 0), [&](Ex i) {
    const auto of = [&](int column) { return b.load(x, {i, b.index(column)}); };
    Ex sum = of(0) + of(1);
    for (int n = 0; n < 8; ++n) sum = sum * 3 + 1;
    b.store(y, {i}, sum);
    b.store(z, {i}, sum + of(2) + of(3));
  });
  const auto program = b.finish();
  const std::vector<RowTile> tiles = tiles_in(*program);
  ASSERT_EQ(tiles.size(), 2U);
  EXPECT_EQ(tiles[0].columns, 2);
  agree(program, {plain_values(DType::f32, {37, 4}, 3), Tensor::zeros(DType::f32, {37}),
                  Tensor::zeros(DType::f32, {37})});
}

TEST(Lanes, AnElementARowIsAdjacentWhereRowsHaveOne) {
  EXPECT_EQ(tiles_in(*sum_in_rows(DType::f32, 2, {0})).size(), 1U);
  Builder b("column");
  const auto x = buffer(b, "x", DType::f32, Access::in, {-1, 1, 1});
  const auto y = buffer(b, "y", DType::f32, Access::out, {-1});
  b.for_each(b.index(0), b.extent(y, 0), [&](Ex i) {
    Ex sum = b.load(x, {i, b.index(0), b.index(0)});
    for (int n = 0; n < 8; ++n) sum = sum * 3 + 1;
    b.store(y, {i}, sum);
  });
  const auto program = b.finish();
  EXPECT_EQ(lane_loops(*program), 1U);
  EXPECT_TRUE(tiles_in(*program).empty());
  agree(program, {plain_values(DType::f32, {37, 1, 1}, 3), Tensor::zeros(DType::f32, {37})});
}

Ex same(Ex x) { return x; }

TEST(Lanes, OfAReductionAreStraightCode) {
  const std::vector<LaneLoop> loops = unrolled_loops(*reduced_rows(DType::f32, -1, same, false));
  ASSERT_EQ(loops.size(), 8U);  // they begin, take elements, take the last ones, and become one
  EXPECT_EQ(loops[1].width, 8);
  EXPECT_FALSE(loops[1].tail);
  EXPECT_TRUE(loops[2].tail);
  EXPECT_EQ(loops[2].unrolled, Builder::most_lanes);
  EXPECT_EQ(loops.back().width, 2);
  const auto rows_of = [](DType t, std::int64_t columns) {
    return std::vector<Tensor>{edge_values(t, 3 * columns, 7).reshaped({3, columns}),
                               Tensor::zeros(t, {3}), Tensor::zeros(DType::i64, {3})};
  };
  for (const DType t : {DType::f32, DType::f64, DType::i32})
    for (const bool with_position : {false, true}) {
      const auto any = reduced_rows(t, -1, same, with_position);
      for (const std::int64_t columns : {0, 1, 5, 8, 17, 33, 63, 64, 65, 71, 128, 200})
        agree(any, rows_of(t, columns));
      for (const std::int64_t columns : {20, 64, 71})
        agree(reduced_rows(t, columns, same, with_position), rows_of(t, columns));
    }
}

TEST(Lanes, OfALongReductionStayALoop) {
  EXPECT_EQ(unrolled_loops(*reduced_rows(DType::f32, -1, scalar::exp, false)).size(), 8U);
  EXPECT_EQ(unrolled_loops(*reduced_rows(DType::f64, -1, scalar::sin, false)).size(), 6U);
  for (const std::int64_t columns : {7, 65, 130})
    for (const auto f : {scalar::exp, scalar::sin})
      agree(reduced_rows(DType::f64, -1, f, false),
            {edge_values(DType::f64, 3 * columns, 7).reshaped({3, columns}),
             Tensor::zeros(DType::f64, {3}), Tensor::zeros(DType::i64, {3})});
}

TEST(Lanes, ALoopWithSequentialOnesComesBeforeLongArithmeticInIt) {
  Builder b("rows");
  const auto x = buffer(b, "x", DType::f32, Access::in, {-1, -1});
  const auto y = buffer(b, "y", DType::f32, Access::out, {-1, -1});
  b.for_each(b.index(0), b.extent(y, 1), [&](Ex i) {
    const Ex zero = b.constant(DType::f32, 0.0);
    const Ex sum = b.for_(b.index(0), b.extent(x, 0), {zero}, [&](Ex j, Carried s) {
      return Values{s[0] + b.load(x, {j, i})};
    })[0];
    b.for_each(b.index(0), b.extent(y, 0), [&](Ex j) { b.store(y, {j, i}, scalar::exp(sum)); });
  });
  const auto program = b.finish();
  EXPECT_EQ(lane_loops(*program), 1U);
  agree(program, {plain_values(DType::f32, {3, 37}, 2), Tensor::zeros(DType::f32, {4, 37})});
}

TEST(Lanes, NotWhereElementsLieApart) { EXPECT_EQ(lane_loops(*sum_of_rows(-1, -1, false)), 0U); }

TEST(Lanes, TakeBothBranchesOfAnIfThatOnlyComputes) {
  for (const bool stores : {false, true}) {
    Builder b("branches");
    const auto x = buffer(b, "x", DType::f32, Access::in, {-1});
    const auto y = buffer(b, "y", DType::f32, Access::inout, {-1});
    const Ex n = b.param();
    b.for_each(b.index(0), b.extent(y, 0), [&](Ex i) {
      const Ex all = b.for_(b.index(0), n, {b.load(x, {i})}, [&](Ex, Carried s) {
        return b.if_(
            s[0] < 0.0,
            [&] {
              if (stores) b.store(y, {i}, s[0]);
              return Values{s[0] + b.load(x, {i}) * b.load(x, {i})};
            },
            [&] { return Values{s[0] - 1.5}; });
      })[0];
      b.store(y, {i}, all);
    });
    const auto program = b.finish();
    EXPECT_EQ(lane_loops(*program), stores ? 0U : 1U);
    for (const std::int64_t columns : {1, 8, 33, 64, 70})
      agree(program, {edge_values(DType::f32, columns, 7), Tensor::zeros(DType::f32, {columns})},
            {5});
  }
}

TEST(Lanes, NotWhereLanesWouldBranchApart) {
  Builder b("branch");
  const auto y = buffer(b, "y", DType::i64, Access::out, {-1});
  b.for_each(b.index(0), b.extent(y, 0), [&](Ex i) {
    b.store(y, {i}, b.for_(b.index(0), i, {b.index(1)}, [&](Ex, Carried x) {
      return Values{x[0] * 3};
    })[0]);
  });
  const auto program = b.finish();
  EXPECT_EQ(lane_loops(*program), 0U);
  agree(program, {Tensor::zeros(DType::i64, {37})});
}

TEST(Lanes, NotWithChecksOrKernels) {
  Builder b("check");
  const auto y = buffer(b, "y", DType::i64, Access::out, {-1});
  const Ex n = b.param();
  b.for_each(b.index(0), b.extent(y, 0), [&](Ex i) {
    b.check(i < 20, "trip {}", {i});
    b.store(y, {i}, b.for_(b.index(0), n, {i}, [&](Ex, Carried x) { return Values{x[0] * 3}; })[0]);
  });
  const auto program = b.finish();
  EXPECT_EQ(lane_loops(*program), 0U);
  EXPECT_GT(agree(program, {Tensor::zeros(DType::i64, {37})}, {4}), 0);
}

TEST(Lanes, AreStoppedInTheirLoops) {
  Builder b("endless");
  const auto y = buffer(b, "y", DType::f32, Access::inout, {-1});
  const Ex n = b.param();
  b.for_each(b.index(0), b.extent(y, 0), [&](Ex i) {
    b.store(y, {i}, b.for_(b.index(0), n, {b.load(y, {i})}, [&](Ex, Carried x) {
      return Values{x[0] * 0.5};
    })[0]);
  });
  const auto program = b.finish();
  EXPECT_EQ(lane_loops(*program), 1U);
  std::atomic<std::int32_t> stop = 1;
  EXPECT_EQ(agree(program, {plain_values(DType::f32, {40}, 1)}, {std::int64_t{1} << 60}, &stop),
            scalar::stopped);
}

/// Random bodies: rows, columns and single elements of every dtype, carried values, ifs that all
/// lanes take alike or not, reductions with arrays of their own.
class RandomLanes {
 public:
  explicit RandomLanes(std::uint32_t seed) : rng_(seed), b_("lanes " + std::to_string(seed)) {}

  void run() {
    const std::int64_t rows = pick({0, 1, 2, 5, 9}), columns = pick({1, 4, 7, 16, 33, 64, 70});
    for (int k = 0; k < 4; ++k) declare(rows, columns, Access::in);
    const std::size_t inputs = arrays_.size();
    for (int k = 0; k < 2; ++k) declare(rows, columns, Access::out);
    n_ = b_.param();
    b_.for_each(b_.index(0), b_.extent(arrays_.back().column, 0), [&](Ex i) { body(i, inputs); });
    const auto program = b_.finish();
    chosen += lane_loops(*program);
    agree(program, tensors_, {pick({0, 1, 3, 6})});
  }
  static inline std::size_t chosen = 0;

 private:
  struct Arrays {
    DType dtype;
    std::int32_t matrix, column;  ///< [rows, columns], [columns]
  };

  std::int64_t pick(std::initializer_list<std::int64_t> from) {
    return from.begin()[rng_() % from.size()];
  }
  std::int32_t bind(DType t, Access access, const Shape& shape) {
    Shape declared = shape;
    for (auto& e : declared)
      if (rng_() % 2 == 0) e = -1;
    tensors_.push_back(access == Access::in ? edge_values(t, element_count(shape),
                                                          static_cast<std::uint32_t>(rng_()))
                                                  .reshaped(shape)
                                            : Tensor::zeros(t, shape));
    return buffer(b_, "p" + std::to_string(tensors_.size()), t, access, declared);
  }
  void declare(std::int64_t rows, std::int64_t columns, Access access) {
    static const DType types[] = {DType::f32, DType::f32, DType::f64, DType::f16,     DType::bf16,
                                  DType::i64, DType::i32, DType::u8,  DType::boolean, DType::i16};
    const DType t = types[rng_() % std::size(types)];
    const auto matrix = bind(t, access, {rows, columns});
    arrays_.push_back({t, matrix, bind(t, access, {columns})});
  }

  /// A value of dtype t made of those in scope.
  Ex value(DType t) {
    const auto one = [&] { return b_.cast(t, pool_[rng_() % pool_.size()]); };
    const Ex x = one(), y = one();
    if (t == DType::boolean) return rng_() % 2 == 0 ? x & y : x | ~y;
    switch (rng_() % 7) {
      case 0: return x + y;
      case 1: return x * y;
      case 2: return x - y;
      case 3: return max(x, y);
      case 4: return x / y;
      case 5: return select(x < y, one(), x);
      default: return abs(min(x, y));
    }
  }

  void body(Ex i, std::size_t inputs) {
    pool_ = {i, n_, b_.constant(DType::f32, 0.5)};
    for (std::size_t k = 0; k < inputs; ++k) pool_.push_back(b_.load(arrays_[k].column, {i}));
    Values inits;
    for (std::size_t k = rng_() % 3 + 1; k > 0; --k) inits.push_back(value(arrays_[k].dtype));
    const Arrays& from = arrays_[rng_() % inputs];
    const Values finals = b_.for_(
        b_.index(0), b_.extent(from.matrix, 0), inits, [&](Ex row, Carried now) {
          const std::vector<Ex> outside = pool_;
          pool_.insert(pool_.end(), now.begin(), now.end());
          pool_.insert(pool_.end(), {row, b_.load(from.matrix, {row, i})});
          Values next;
          for (const Ex& x : now) next.push_back(value(x.type()));
          const Arrays& to = arrays_[inputs];
          if (rng_() % 2 == 0) b_.store(to.matrix, {row, i}, value(to.dtype));
          if (rng_() % 2 == 0) { next[0] = either(now[0], from, {row, i}, 2); }
          pool_ = outside;
          return next;
        });
    pool_.insert(pool_.end(), finals.begin(), finals.end());
    if (rng_() % 3 == 0) pool_ = {reduced(i, from), i};
    for (std::size_t k = inputs; k < arrays_.size(); ++k)
      b_.store(arrays_[k].column, {i}, value(arrays_[k].dtype));
  }

  /// An if, within which may be others, on what all lanes agree about or not; branches may load.
  Ex either(Ex now, const Arrays& from, const Indices& at, int levels) {
    const DType t = now.type();
    const Ex taken = rng_() % 2 == 0 ? at[0] < n_ : value(DType::f32) < value(DType::f32);
    const std::vector<Ex> outside = pool_;
    const auto branch = [&] {
      pool_ = outside;
      if (rng_() % 2 == 0) pool_.push_back(b_.load(from.matrix, at));
      const bool more = levels > 0 && rng_() % 2 == 0;
      return Values{more ? either(now, from, at, levels - 1) : rng_() % 3 > 0 ? value(t) : now};
    };
    const Ex result = b_.if_(taken, branch, branch)[0];
    pool_ = outside;
    return result;
  }

  Ex reduced(Ex i, const Arrays& from) {
    const DType t = rng_() % 2 == 0 ? DType::f32 : DType::i64;
    const Values neutral{b_.constant(t, std::int64_t{0})};
    const auto combine = [](Carried x, Carried y) { return Values{x[0] + y[0]}; };
    const auto element = [&](Ex row) { return Values{b_.cast(t, b_.load(from.matrix, {row, i}))}; };
    const Ex rows = b_.extent(from.matrix, 0);
    if (rng_() % 2 == 0) return b_.reduce(rows, neutral, element, combine)[0];
    return b_.reduce_chains(
        {rows}, neutral, [&](const Indices& at) { return element(at[0]); }, combine)[0];
  }

  std::mt19937 rng_;
  Builder b_;
  Ex n_;
  std::vector<Arrays> arrays_;
  std::vector<Tensor> tensors_;
  std::vector<Ex> pool_;
};

TEST(Lanes, RandomBodiesGiveTheInterpretersBits) {
  constexpr std::uint32_t count = 60;
  const std::uint32_t first = std::random_device()();
  for (std::uint32_t seed = first; seed != first + count && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    RandomLanes(seed).run();
  }
  EXPECT_GE(RandomLanes::chosen * 2, count);
}

}  // namespace
}  // namespace rondel::codegen
