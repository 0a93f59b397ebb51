// How products are computed, as far as it is known before they run.
#include "codegen/contract_form.h"

#include "scalar/builder.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace rondel::codegen {
namespace {

constexpr Host host{.vector_bytes = 64, .vector_registers = 32, .scales = true};

struct Case {
  std::int64_t rows, depth, columns;  ///< -1: not known
  bool b_transposed = false;
};

/// The form of a product of f32 matrices.
std::string form(const Case& of) {
  scalar::Builder b("product");
  using Extents = std::vector<std::int64_t>;
  const auto buffer = [&](const char* name, scalar::Access access, Extents extents) {
    return b.buffer({name, DType::f32, access, std::move(extents)});
  };
  scalar::Contract c;
  c.a = buffer("a", scalar::Access::in, {of.rows, of.depth});
  c.b = buffer("b", scalar::Access::in,
               of.b_transposed ? Extents{of.columns, of.depth} : Extents{of.depth, of.columns});
  c.c = buffer("c", scalar::Access::out, {of.rows, of.columns});
  c.b_transposed = of.b_transposed;
  b.contract(c, {});
  const auto program = b.finish();
  const auto at = std::ranges::find(program->code, scalar::Op::contract, &scalar::Inst::op);
  return contract_form(*program, *at, host);
}

TEST(ContractForm, FollowsFromTheExtents) {
  EXPECT_EQ(form({1, 64, 256}),
            "passes along all columns, 4 steps of k unrolled in each, because it has few rows");
  EXPECT_EQ(form({64, 64, 64}), "tiles of 6 x 64 in registers, 16 lanes in a vector");
  EXPECT_EQ(form({64, 512, 64}),
            "tiles of 6 x 64 in registers, 16 lanes in a vector, columns packed "
            "into panels");
  EXPECT_EQ(form({-1, 512, 64}),
            "tiles of 6 x 64 in registers, 16 lanes in a vector, columns packed "
            "into panels if there are enough");
  EXPECT_EQ(form({1, 64, 256, true}), "dot products, several at once");
  EXPECT_EQ(form({4, 64, 256, true}), "tiles of 4 x 8 in registers, 8 lanes in a vector");
  EXPECT_EQ(
      form({-1, 64, 256, true}),
      "dot products if there is one row, else tiles of 8 x 8 in registers, 8 lanes in a vector, "
      "columns packed into panels if there are enough");
}

}  // namespace
}  // namespace rondel::codegen
