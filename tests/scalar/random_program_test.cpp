#include "scalar/random_program.h"

#include <gtest/gtest.h>

namespace rondel::scalar {
namespace {

TEST(RandomProgram, interpreter_gives_the_same_again) {
  int failed_checks = 0;
  std::size_t instructions = 0;
  std::array<int, op_count> seen{};
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(seed);
    const RandomProgram random = random_program(seed);
    const RandomProgram again = random_program(seed);
    ASSERT_EQ(to_text(*random.program), to_text(*again.program));
    for (const Inst& i : random.program->code) ++seen[static_cast<std::size_t>(i.op)];
    instructions += random.program->code.size();
    const Outcome first = run_copies(*interpret(random.program), random);
    const Outcome second = run_copies(*interpret(again.program), again);
    ASSERT_EQ(difference(random, first, second), "");
    failed_checks += first.status > done;
  }
  for (int op = 0; op < op_count; ++op) {
    if (static_cast<Op>(op) == Op::call) continue;
    EXPECT_GT(seen[static_cast<std::size_t>(op)], 0) << name(static_cast<Op>(op));
  }
  EXPECT_GT(failed_checks, 3);
  EXPECT_LT(failed_checks, 150);
  EXPECT_GT(instructions, 50'000u);
}

}  // namespace
}  // namespace rondel::scalar
