#include "codegen/agree.h"
#include "codegen/lanes.h"

#include <algorithm>
#include <numeric>
#include <random>

/// Loops that read along one axis and write along another one: tiles are transposed in registers.
namespace rondel::codegen {
namespace {

using scalar::Access;
using scalar::Builder;
using scalar::Ex;
using scalar::Indices;

std::size_t column_loops(const scalar::Program& p, const Host& host) {
  std::size_t count = 0;
  for (const auto& [at, loop] : plan_lanes(p, host).loops) count += loop.column_loops.size();
  return count;
}

/// A program that writes the axes of its inputs in another order, with arithmetic on the way.
struct Transposition {
  DType dtype = DType::f32;
  Shape extents;                  ///< of the result
  std::vector<std::size_t> axes;  ///< the result's axis of each axis of the input
  bool known = false;             ///< whether extents are known when the program is compiled
  std::int64_t begin = 0;         ///< along the last axis of input and result, which have more
  bool adds = false;              ///< elements of a second input in the result's order
  bool in_place = false;          ///< the second input is the result's memory
  bool scales = false;            ///< by a vector along the result's last axis
  bool twice = false;             ///< a second result is written

  Shape with_begin(Shape shape) const {
    if (!shape.empty()) shape.back() += begin;
    return shape;
  }
  Shape input_extents() const {
    Shape shape;
    for (const std::size_t axis : axes) shape.push_back(extents[axis]);
    return with_begin(shape);
  }

  std::shared_ptr<const scalar::Program> program() const {
    Builder b("transposition");
    const auto buffer = [&](const char* name, Access access, const Shape& shape) {
      return b.buffer({.name = name,
                       .dtype = dtype,
                       .access = access,
                       .extents = known ? shape : Shape(shape.size(), -1)});
    };
    const auto x = buffer("x", Access::in, input_extents());
    const auto added = buffer("added", Access::in, with_begin(extents));
    const auto factors = buffer("factors", Access::in, {extents.back()});
    const auto y = b.buffer({.name = "y",
                             .dtype = dtype,
                             .access = Access::out,
                             .extents = known ? with_begin(extents) : Shape(extents.size(), -1),
                             .may_alias = in_place ? added : -1});
    const auto z = buffer("z", Access::out, with_begin(extents));
    std::vector<Ex> counts;
    for (std::size_t axis = 0; axis < extents.size(); ++axis)
      counts.push_back(b.extent(y, static_cast<std::int64_t>(axis)));
    counts.back() = b.extent(factors, 0);
    b.for_all(counts, [&](const Indices& at) {
      Indices from, to(at.begin(), at.end());
      for (const std::size_t axis : axes) from.push_back(at[axis]);
      from.back() = from.back() + b.index(begin);
      to.back() = to.back() + b.index(begin);
      Ex value = b.load(x, from);
      if (adds) value = value + b.load(added, to);
      if (scales) value = value * b.load(factors, {at.back()});
      b.store(y, to, value);
      if (twice) b.store(z, to, value + value);
    });
    return b.finish();
  }

  std::vector<Tensor> tensors() const {
    const Tensor added = plain_values(dtype, with_begin(extents), 2);
    const Tensor z = Tensor::zeros(dtype, with_begin(extents));
    return {plain_values(dtype, input_extents(), 1), added,
            plain_values(dtype, {extents.back()}, 3), in_place ? added : z.copy(), z};
  }
};

constexpr Host host{.vector_bytes = 32, .vector_registers = 16};

TEST(ColumnLoops, OfATransposedMatrix) {
  for (const DType t : {DType::f64, DType::f32, DType::i16, DType::u8})
    for (const bool known : {true, false})
      for (const std::int64_t rows : {1, 7, 33})
        for (const std::int64_t columns : {1, 5, 40}) {
          const Transposition matrix{
              .dtype = t, .extents = {rows, columns}, .axes = {1, 0}, .known = known};
          const auto program = matrix.program();
          const bool is_chosen = !known || (rows >= 8 && columns >= 4);
          if (is_chosen) EXPECT_EQ(column_loops(*program, host), 1U) << rows << " " << columns;
          agree(program, matrix.tensors());
        }
}

TEST(ColumnLoops, NotWhereTheInnerLoopReadsAdjacentElements) {
  const Transposition same{.extents = {32, 32}, .axes = {0, 1}};
  EXPECT_EQ(column_loops(*same.program(), host), 0U);
  const Transposition outer{.extents = {8, 9, 32}, .axes = {1, 0, 2}};
  EXPECT_EQ(column_loops(*outer.program(), host), 0U);
}

TEST(ColumnLoops, NotWhereColumnsAreWrittenBackwards) {
  Builder b("backwards");
  const auto x = b.buffer({.name = "x", .access = Access::in, .extents = {32, 32}});
  const auto y = b.buffer({.name = "y", .access = Access::out, .extents = {32, 32}});
  b.for_all({b.index(32), b.index(32)}, [&](const Indices& at) {
    b.store(y, {at[0], b.index(31) - at[1]}, b.load(x, {at[1], at[0]}));
  });
  const auto program = b.finish();
  EXPECT_EQ(column_loops(*program, host), 0U);
  agree(program, {plain_values(DType::f32, {32, 32}, 1), Tensor::zeros(DType::f32, {32, 32})});
}

TEST(ColumnLoops, NotWhereAResultIsReadAgain) {
  Builder b("read again");
  const auto x = b.buffer({.name = "x", .access = Access::in, .extents = {32, 32}});
  const auto y = b.buffer({.name = "y", .access = Access::inout, .extents = {32, 32}});
  b.for_each(b.index(0), b.index(32), [&](Ex i) {
    b.for_each(b.index(0), b.index(32), [&](Ex j) {
      b.store(y, {i, j}, b.load(x, {j, i}));
      b.store(y, {i, j}, b.load(y, {i, j}) + b.load(x, {j, i}));
    });
  });
  const auto program = b.finish();
  EXPECT_EQ(column_loops(*program, host), 0U);
  agree(program, {plain_values(DType::f32, {32, 32}, 1), Tensor::zeros(DType::f32, {32, 32})});
}

TEST(ColumnLoops, RandomOnesGiveTheInterpretersBits) {
  constexpr std::uint32_t count = 40;
  const std::uint32_t first = std::random_device()();
  std::size_t chosen = 0;
  for (std::uint32_t seed = first; seed != first + count && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937 rng(seed);
    const auto any = [&](std::size_t below) { return static_cast<std::size_t>(rng() % below); };
    Transposition t{.dtype = arithmetic_types[any(arithmetic_types.size())],
                    .extents = Shape(2 + any(3))};
    for (std::int64_t& extent : t.extents)
      extent = std::array{0, 1, 2, 3, 5, 8, 17, 20}[1 + any(7)];
    if (any(10) == 0) t.extents[any(t.extents.size())] = 0;
    t.axes.resize(t.extents.size());
    std::iota(t.axes.begin(), t.axes.end(), std::size_t{0});
    std::ranges::shuffle(t.axes, rng);
    t.known = any(2) == 0, t.begin = any(3) == 0 ? 3 : 0;
    t.adds = any(2) == 0, t.in_place = t.adds && any(2) == 0;
    t.scales = any(3) == 0, t.twice = any(3) == 0;
    const auto program = t.program();
    chosen += column_loops(*program, host);
    agree(program, t.tensors());
  }
  EXPECT_GE(chosen * 5, count);
}

}  // namespace
}  // namespace rondel::codegen
