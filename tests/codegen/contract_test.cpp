#include "codegen/agree.h"

namespace rondel::codegen {
namespace {

using scalar::Access;
using scalar::Builder;
using scalar::Contract;
using scalar::Ex;

struct Case {
  std::int64_t m, k, n;
  bool a_transposed = false, b_transposed = false, a_vector = false, b_vector = false;
  bool known = true, contiguous = true, fused = true;
  DType a = DType::f32, b = DType::f32, c = DType::f32;
};

Shape shape_of(std::int64_t rows, std::int64_t columns, bool transposed, bool row, bool column) {
  if (row) return {columns};
  if (column) return {rows};
  return transposed ? Shape{columns, rows} : Shape{rows, columns};
}

/// Computes two products, each from one slice of a stack of matrices.
void check(const Case& c) {
  Shape a = shape_of(c.m, c.k, c.a_transposed, c.a_vector, false);
  Shape b = shape_of(c.k, c.n, c.b_transposed, false, c.b_vector);
  Shape out;
  if (!c.a_vector) out.push_back(c.m);
  if (!c.b_vector) out.push_back(c.n);
  Builder build(fmt::format("[{},{}]{} x [{},{}]{} {} {}", c.m, c.k, c.a_transposed ? "'" : "", c.k,
                            c.n, c.b_transposed ? "'" : "", name(c.c),
                            c.known ? "known" : "unknown"));
  std::vector<Tensor> tensors;
  const auto buffer = [&](const char* what, DType t, Access access, Shape shape) {
    shape.insert(shape.begin(), 2);
    tensors.push_back(plain_values(t, shape, static_cast<std::uint32_t>(tensors.size() + 1)));
    if (!c.known) shape.assign(shape.size(), -1);
    return build.buffer(
        {.name = what, .dtype = t, .access = access, .extents = shape, .contiguous = c.contiguous});
  };
  const auto ia = buffer("a", c.a, Access::in, a), ib = buffer("b", c.b, Access::in, b);
  const auto ic = buffer("c", c.c, Access::out, out);
  build.for_(build.index(0), build.index(2), {}, [&](Ex i, std::span<const Ex>) {
    build.contract({.a = ia,
                    .b = ib,
                    .c = ic,
                    .a_leading = 1,
                    .b_leading = 1,
                    .c_leading = 1,
                    .a_transposed = c.a_transposed,
                    .b_transposed = c.b_transposed,
                    .a_vector = c.a_vector,
                    .b_vector = c.b_vector,
                    .fused = c.fused},
                   {i, i, i});
    return std::vector<Ex>{};
  });
  agree(build.finish(), tensors);
}

TEST(ContractTest, ManyShapes) {
  for (const auto& [m, k, n] : std::vector<std::array<std::int64_t, 3>>{{1, 1, 1},
                                                                        {1, 7, 16},
                                                                        {1, 5, 200},
                                                                        {3, 0, 5},
                                                                        {0, 3, 5},
                                                                        {6, 9, 64},
                                                                        {7, 13, 65},
                                                                        {16, 16, 16},
                                                                        {17, 3, 130},
                                                                        {33, 8, 1},
                                                                        {5, 31, 15},
                                                                        {64, 40, 10}})
    for (const bool known : {true, false})
      for (const bool a_transposed : {false, true})
        for (const bool b_transposed : {false, true})
          check({.m = m,
                 .k = k,
                 .n = n,
                 .a_transposed = a_transposed,
                 .b_transposed = b_transposed,
                 .known = known});
}

TEST(ContractTest, Vectors) {
  for (const std::int64_t n : {1, 4, 16, 37, 150})
    for (const bool known : {true, false})
      for (const bool transposed : {false, true}) {
        check({.m = 1,
               .k = 19,
               .n = n,
               .b_transposed = transposed,
               .a_vector = true,
               .known = known});
        check({.m = n,
               .k = 35,
               .n = 1,
               .a_transposed = transposed,
               .b_vector = true,
               .known = known});
        check({.m = 1, .k = n, .n = 1, .a_vector = true, .b_vector = true, .known = known});
      }
}

TEST(ContractTest, AxesOfExtentOneBetweenRowsAndColumns) {
  for (const bool transposed : {false, true})
    for (const std::int64_t m : {1, 40}) {
      const std::int64_t k = 600, n = 50;
      Builder build("product");
      const auto ia = build.buffer(
          {.name = "a", .access = Access::in, .extents = {transposed ? k : m, 1, 1, -1}});
      const auto ib = build.buffer({.name = "b", .access = Access::in, .extents = {-1, -1}});
      const auto ic = build.buffer({.name = "c", .access = Access::out, .extents = {m, 1, -1}});
      build.contract({.a = ia, .b = ib, .c = ic, .a_transposed = transposed}, {});
      const Shape a = transposed ? Shape{k, 1, 1, m} : Shape{m, 1, 1, k};
      agree(build.finish(), {plain_values(DType::f32, a, 1), plain_values(DType::f32, {k, n}, 2),
                             plain_values(DType::f32, {m, 1, n}, 3)});
    }
}

TEST(ContractTest, FewRowsAndManyColumns) {
  for (const std::int64_t m : {1, 2, 3, 4, 5})
    for (const std::int64_t k : {4, 5, 8, 35})
      for (const std::int64_t n : {130, 257, 600}) check({.m = m, .k = k, .n = n});
  for (const DType t : {DType::f64, DType::i32, DType::f16})
    check({.m = 1, .k = 9, .n = 300, .a = t, .b = t, .c = t});
  check({.m = 1, .k = 9, .n = 300, .fused = false});
}

/// Dot products: a row times a transposed matrix, a matrix times a vector, two vectors.
TEST(ContractTest, DotProducts) {
  for (const DType t : {DType::f32, DType::f64})
    for (const auto& [n, k] : std::vector<std::array<std::int64_t, 2>>{
             {0, 3}, {1, 0}, {1, 64}, {2, 1}, {3, 17}, {7, 16}, {9, 15}, {63, 63}, {65, 64}})
      for (const bool known : {true, false}) {
        if (known && t == DType::f64) continue;
        Case c{.m = 1, .k = k, .n = n, .b_transposed = true, .known = known};
        c.a = c.b = c.c = t;
        check(c);
        Case column{.m = n, .k = k, .n = 1, .b_vector = true, .known = known};
        column.a = column.b = column.c = t;
        check(column);
      }
  check({.m = 1, .k = 65, .n = 11, .b_transposed = true, .a_vector = true});
}

/// Sums that underflow to -0, with parts that have a step less than others.
TEST(ContractTest, DotProductsKeepTheSignsOfZeros) {
  Builder build("dot");
  const auto ia = build.buffer({.name = "a", .access = Access::in, .extents = {1, -1}});
  const auto ib = build.buffer({.name = "b", .access = Access::in, .extents = {-1, -1}});
  const auto ic = build.buffer({.name = "c", .access = Access::out, .extents = {1, -1}});
  build.contract({.a = ia, .b = ib, .c = ic, .b_transposed = true}, {});
  const auto filled = [](Shape shape, float x) {
    const Tensor t(DType::f32, std::move(shape));
    std::fill_n(t.data_as<float>(), t.size(), x);
    return t;
  };
  agree(build.finish(), {filled({1, 17}, 1e-30F), filled({9, 17}, -1e-30F), filled({1, 9}, 1.0F)});
}

TEST(ContractTest, DotProductsOfWhatLiesApart) {
  for (const DType t : {DType::f32, DType::f64})
    for (const bool a_transposed : {false, true})
      for (const bool contiguous : {false, true}) {
        Case c{.m = 1,
               .k = 35,
               .n = 10,
               .a_transposed = a_transposed,
               .b_transposed = true,
               .known = false,
               .contiguous = contiguous};
        c.a = c.b = c.c = t;
        check(c);
      }
}

/// Deep enough for several checks of the stop flag.
TEST(ContractTest, DeepDotProducts) {
  for (const bool known : {true, false})
    for (const std::int64_t k : {4096, 9000})
      check({.m = 1, .k = k, .n = 11, .b_transposed = true, .known = known});
}

/// One row of as many columns as several widths of tiles take.
TEST(ContractTest, OneRowOfColumns) {
  for (const std::int64_t n : {1, 8, 15, 16, 33, 63, 64, 65, 120, 127})
    for (const bool known : {true, false}) check({.m = 1, .k = 21, .n = n, .known = known});
}

TEST(ContractTest, RoundedProducts) {
  check({.m = 7, .k = 33, .n = 40, .fused = false});
  check({.m = 7,
         .k = 33,
         .n = 40,
         .b_transposed = true,
         .fused = false,
         .a = DType::f64,
         .b = DType::f64,
         .c = DType::f64});
}

TEST(ContractTest, EveryType) {
  for (const DType t : {DType::f64, DType::f16, DType::bf16, DType::i64, DType::i32, DType::i16,
                        DType::i8, DType::u64, DType::u32, DType::u16, DType::u8})
    for (const bool transposed : {false, true})
      check({.m = 9, .k = 20, .n = 75, .b_transposed = transposed, .a = t, .b = t, .c = t});
  check({.m = 9, .k = 20, .n = 75, .a = DType::u8, .b = DType::i8, .c = DType::i32});
  check({.m = 9, .k = 20, .n = 75, .a = DType::i64, .b = DType::i8, .c = DType::u16});
  check({.m = 9, .k = 20, .n = 75, .a = DType::f16, .b = DType::f32, .c = DType::f32});
  check({.m = 9, .k = 20, .n = 75, .a = DType::bf16, .b = DType::f16, .c = DType::f16});
}

TEST(ContractTest, Strided) {
  check({.m = 9, .k = 20, .n = 75, .known = false, .contiguous = false});
  check({.m = 9, .k = 20, .n = 75, .b_transposed = true, .contiguous = false});
}

/// With many rows, columns that are not contiguous are copied first; k has several blocks.
TEST(ContractTest, ManyRowsOfColumnsThatLieApart) {
  for (const auto& [m, k, n] : std::vector<std::array<std::int64_t, 3>>{
           {16, 0, 9}, {16, 8, 8}, {17, 5, 64}, {23, 128, 65}, {40, 300, 71}, {19, 257, 131}})
    for (const bool known : {true, false})
      for (const bool contiguous : {true, false}) {
        const Case c{
            .m = m, .k = k, .n = n, .b_transposed = true, .known = known, .contiguous = contiguous};
        check(c);
        Case other = c;
        other.a_transposed = true;
        check(other);
      }
}

TEST(ContractTest, ManyRowsOfDeepColumns) {
  for (const std::int64_t n : {8, 65, 150})
    for (const bool known : {true, false})
      for (const bool a_transposed : {false, true})
        check({.m = 19, .k = 515, .n = n, .a_transposed = a_transposed, .known = known});
}

TEST(ContractTest, ManyRowsOfEveryType) {
  Case c{.m = 17, .k = 140, .n = 35, .b_transposed = true, .known = false};
  for (const DType t : {DType::f64, DType::f16, DType::bf16, DType::i64, DType::i32, DType::i16,
                        DType::i8, DType::u64, DType::u8}) {
    c.a = c.b = c.c = t;
    check(c);
  }
  c.a = DType::bf16, c.b = DType::f16, c.c = DType::f32;
  check(c);
  c.a = c.b = DType::f32;
  c.fused = false;
  check(c);
}

}  // namespace
}  // namespace rondel::codegen
