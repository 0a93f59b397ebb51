#include <gtest/gtest.h>

#include "codegen/compiler.h"
#include "scalar/guards.h"
#include "scalar/random_program.h"
#include "scalar/with_checks.h"

#include <cstdlib>

namespace rondel::codegen {
namespace {

/// RONDEL_RANDOM_PROGRAMS is the number of programs; RONDEL_RANDOM_SEED is the first seed.
std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST(Random, ProgramsGiveTheInterpretersBits) {
  const Compiler compiler;
  const std::uint64_t first = setting("RONDEL_RANDOM_SEED", 1);
  const std::uint64_t count = setting("RONDEL_RANDOM_PROGRAMS", 400);
  std::uint64_t compiled = 0;
  for (std::uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    const scalar::RandomProgram random = scalar::random_program(seed);
    if (!Compiler::refusal(*random.program).empty()) continue;
    ++compiled;
    const auto expected = scalar::run_copies(*scalar::interpret(random.program), random);
    for (const auto tier : {Compiler::Tier::quick, Compiler::Tier::optimised}) {
      const auto native = compiler.compile(random.program, tier);
      const auto actual = scalar::run_copies(*native, random);
      EXPECT_EQ(scalar::difference(random, expected, actual), "")
          << (tier == Compiler::Tier::quick ? "quick" : "optimised") << ", seed " << seed;
    }
    // With checks, the tiers take turns: compiling takes most of the time of this test.
    const auto tier = seed % 2 == 0 ? Compiler::Tier::quick : Compiler::Tier::optimised;
    const auto checked = compiler.compile(scalar::with_checks(*random.program), tier);
    const auto actual = scalar::run_copies(*checked, random, scalar::tail_bytes);
    EXPECT_EQ(scalar::difference(random, expected, actual), "") << "with checks, seed " << seed;
  }
  EXPECT_GE(compiled * 10, count * 9) << "too many refusals for the test to mean much";
}

}  // namespace
}  // namespace rondel::codegen
