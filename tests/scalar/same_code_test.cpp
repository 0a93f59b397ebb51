#include "scalar/same_code.h"

#include "scalar/random_program.h"

#include <gtest/gtest.h>

#include <functional>

namespace rondel::scalar {
namespace {

Program random(std::uint64_t seed) { return *random_program(seed).program; }

TEST(SameCode, names_and_messages_are_no_difference) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Program a = random(seed);
    Program b = a;
    b.name = "another";
    for (Buffer& buffer : b.buffers) buffer.name += "'";
    for (Site& site : b.sites) site.text = "other words";
    for (Call& call : b.calls) call.name = "another kernel";
    EXPECT_TRUE(same_code(a, b)) << "seed " << seed;
    EXPECT_EQ(code_hash(a), code_hash(b)) << "seed " << seed;
  }
}

TEST(SameCode, other_programs_are_different) {
  for (std::uint64_t seed = 0; seed < 50; ++seed)
    EXPECT_FALSE(same_code(random(seed), random(seed + 1))) << "seed " << seed;
}

TEST(SameCode, every_part_counts) {
  const std::function<void(Program&)> changes[] = {
      [](Program& p) { ++p.param_count; },
      [](Program& p) { p.code.back().imm += 1; },
      [](Program& p) { p.code.front().flags ^= parallel; },
      [](Program& p) { p.code.front().type = DType::u16; },
      [](Program& p) { p.code.pop_back(); },
      [](Program& p) { p.regs.push_back(0); },
      [](Program& p) { p.reg_types.back() = DType::string; },
      [](Program& p) { p.buffers.front().contiguous = !p.buffers.front().contiguous; },
      [](Program& p) { p.buffers.front().may_alias = 77; },
      [](Program& p) { p.buffers.front().extents.push_back(3); },
      [](Program& p) { p.buffers.back().dtype = DType::c64; },
      [](Program& p) { p.buffers.back().access = Access::inout; },
      [](Program& p) { p.sites.emplace_back(); },
      [](Program& p) { p.calls.emplace_back(); },
      [](Program& p) { p.contracts.emplace_back(); },
  };
  const Program a = random(1);
  for (std::size_t k = 0; k < std::size(changes); ++k) {
    Program b = a;
    changes[k](b);
    EXPECT_FALSE(same_code(a, b)) << "change " << k;
  }
}

}  // namespace
}  // namespace rondel::scalar
