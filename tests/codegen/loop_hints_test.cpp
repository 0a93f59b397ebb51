#include "codegen/agree.h"

#include <regex>

/// What LLVM makes of loops, read from the text of the optimised LLVM IR.
namespace rondel::codegen {
namespace {

using scalar::Access;
using scalar::Builder;
using scalar::Ex;

/// Square roots of all elements but the last one of each of 64 rows, so that rows are not joined.
std::string roots_of_rows(std::int64_t columns) {
  Builder b("roots");
  const auto buffer = [&](const char* name, Access access) {
    return b.buffer(
        {.name = name, .dtype = DType::f32, .access = access, .extents = {64, columns + 1}});
  };
  const auto from = buffer("in", Access::in), to = buffer("out", Access::out);
  b.for_each(b.index(0), b.index(64), [&](Ex row) {
    b.for_each(b.index(0), b.index(columns), [&](Ex column) {
      b.store(to, {row, column}, sqrt(b.load(from, {row, column})));
    });
  });
  return Compiler().to_llvm(*b.finish(), Compiler::Tier::optimised);
}

TEST(LoopHints, RowsBecomeVectors) {
  static const std::regex root_of_vector("call .*<\\d+ x float> @llvm.sqrt");
  static const std::regex root_of_one("call float @llvm.sqrt");
  for (const std::int64_t columns : {4, 8, 9, 12, 16, 17, 24, 100}) {
    const std::string code = roots_of_rows(columns);
    EXPECT_TRUE(std::regex_search(code, root_of_vector)) << columns << " columns";
    // Where a row is one vector, its last elements are lanes, too.
    EXPECT_TRUE(columns > 16 || !std::regex_search(code, root_of_one)) << columns << " columns";
  }
}

TEST(LoopHints, CastsToIntegersBecomeVectors) {
  static const std::regex cast_of_vector("fpto[su]i <\\d+ x (float|double)>");
  for (const DType from : {DType::f32, DType::f64})
    for (const DType to : {DType::i8, DType::u8, DType::i16, DType::u16, DType::i32, DType::i64}) {
      Builder b("cast");
      const auto x = b.buffer(
          {.name = "x", .dtype = from, .access = Access::in, .extents = {1000}});
      const auto y = b.buffer({.name = "y", .dtype = to, .access = Access::out, .extents = {1000}});
      b.for_each(b.index(0), b.index(1000),
                 [&](Ex i) { b.store(y, {i}, cast(to, b.load(x, {i}))); });
      const std::string code = Compiler().to_llvm(*b.finish(), Compiler::Tier::optimised);
      EXPECT_TRUE(std::regex_search(code, cast_of_vector)) << name(from) << " to " << name(to);
    }
}

}  // namespace
}  // namespace rondel::codegen
