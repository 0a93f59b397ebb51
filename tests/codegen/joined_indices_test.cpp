#include "codegen/joined_indices.h"
#include "codegen/agree.h"
#include "codegen/lanes.h"
#include "scalar/math.h"

#include <algorithm>
#include <numeric>
#include <random>

/// Nests over short rows, which are one loop: their indices are no code.
namespace rondel::codegen {
namespace {

using scalar::Access;
using scalar::Builder;
using scalar::Ex;
using scalar::Indices;
using scalar::Op;

/// y = f(x) + bias along an axis, over these extents, of which the first one is told by the run.
struct ShortRows {
  DType dtype = DType::f32;
  Shape extents;
  std::size_t channel = 0;
  bool is_long = false;  ///< f is long arithmetic
  bool in_place = false;

  std::shared_ptr<const scalar::Program> program() const {
    Builder b("short rows");
    Shape open = extents;
    open[0] = -1;
    const auto buffer = [&](const char* name, Access access, Shape shape, std::int32_t over = -1) {
      return b.buffer({.name = name,
                       .dtype = dtype,
                       .access = access,
                       .extents = std::move(shape),
                       .may_alias = over});
    };
    const auto x = buffer("x", Access::in, open), bias = buffer("bias", Access::in, {-1});
    const auto y = buffer("y", Access::out, open, in_place ? x : -1);
    std::vector<Ex> counts;
    for (std::int64_t axis = 0; axis < std::ssize(extents); ++axis)
      counts.push_back(b.extent(y, axis));
    b.for_all(counts, [&](const Indices& at) {
      const Ex value = b.load(x, at);
      const Ex f = is_long ? scalar::tanh(value) : value * value;
      b.store(y, at, f + b.load(bias, {at[channel]}));
    });
    return b.finish();
  }
  std::vector<Tensor> tensors() const {
    const Tensor x = plain_values(dtype, extents, 1);
    return {x, plain_values(dtype, {extents[channel]}, 2),
            in_place ? x : Tensor::zeros(dtype, extents)};
  }
};

/// How many quotients and remainders are code.
std::size_t split_indices(const scalar::Program& p) {
  const std::vector<bool> needed = needed_registers(p, definitions_of(p));
  return static_cast<std::size_t>(std::ranges::count_if(p.code, [&](const scalar::Inst& i) {
    return (i.op == Op::div || i.op == Op::rem) &&
           needed[static_cast<std::size_t>(p.results(i)[0])];
  }));
}

TEST(JoinedIndices, AreNoCode) {
  EXPECT_EQ(split_indices(*ShortRows{.extents = {3, 5, 7, 7}, .channel = 1}.program()), 0U);
}

// A number can be split from its front (a nest of short rows) or from its end (a reshape).
TEST(JoinedIndices, OfThreeAxesInEitherOrder) {
  for (const bool from_front : {true, false}) {
    Builder b("three axes");
    const auto x = b.buffer({.name = "x", .access = Access::in, .extents = {3, 4, 5}});
    const auto y = b.buffer({.name = "y", .access = Access::out, .extents = {60}});
    b.for_each(b.index(0), b.index(60), [&](Ex n) {
      const Ex rest = from_front ? n % 20 : n / 5;
      const Indices at = from_front ? Indices{n / 20, rest / 5, rest % 5}
                                    : Indices{rest / 4, rest % 4, n % 5};
      b.store(y, {n}, b.load(x, at));
    });
    const auto program = b.finish();
    const Definitions definitions = definitions_of(*program);
    for (const scalar::Inst& i : program->code) {
      if (i.op != Op::load) continue;
      const auto indices = joined_indices(*program, definitions, i.id, program->operands(i),
                                          [](scalar::Reg) { return true; });
      ASSERT_EQ(indices.size(), 1U);
      EXPECT_EQ(definitions[static_cast<std::size_t>(indices[0].index)]->op, Op::for_);
    }
    EXPECT_EQ(split_indices(*program), 0U);
    agree(program, {plain_values(DType::f32, {3, 4, 5}, 1), Tensor::zeros(DType::f32, {60})});
  }
}

TEST(JoinedIndices, AreNeededWhereAnotherExtentDividesThem) {
  Builder b("another extent");
  const auto x = b.buffer({.name = "x", .access = Access::in, .extents = {8, 8}});
  const auto y = b.buffer({.name = "y", .access = Access::out, .extents = {49}});
  b.for_each(b.index(0), b.index(49), [&](Ex n) { b.store(y, {n}, b.load(x, {n / 7, n % 7})); });
  const auto program = b.finish();
  EXPECT_EQ(split_indices(*program), 2U);
  agree(program, {plain_values(DType::f32, {8, 8}, 1), Tensor::zeros(DType::f32, {49})});
}

TEST(JoinedIndices, LanesOfLongArithmeticCrossRows) {
  const ShortRows rows{.extents = {3, 5, 7, 7}, .channel = 1, .is_long = true};
  const LanePlan plan = plan_lanes(*rows.program(), {.vector_bytes = 32, .vector_registers = 16});
  ASSERT_EQ(plan.loops.size(), 1U);
  EXPECT_EQ(plan.loops.begin()->second.width, 8);
  agree(rows.program(), rows.tensors());
}

TEST(JoinedIndices, RandomShortRowsGiveTheInterpretersBits) {
  constexpr std::uint32_t count = 60;
  const std::uint32_t first = std::random_device()();
  for (std::uint32_t seed = first; seed != first + count && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937 rng(seed);
    constexpr std::array<std::int64_t, 8> extents{1, 2, 3, 4, 7, 13, 16, 33};
    ShortRows rows{.dtype = arithmetic_types[rng() % arithmetic_types.size()],
                   .extents = Shape(2 + rng() % 3)};
    for (std::int64_t& extent : rows.extents) extent = extents[rng() % extents.size()];
    if (rng() % 10 == 0) rows.extents[0] = 0;
    rows.channel = rng() % rows.extents.size();
    rows.is_long = is_float(rows.dtype) && rng() % 3 == 0;
    rows.in_place = rng() % 3 == 0;
    agree(rows.program(), rows.tensors());
  }
}

}  // namespace
}  // namespace rondel::codegen
