#include "scalar/same_code.h"

#include "scalar/builder.h"
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
    EXPECT_TRUE(same_code(a, b)) << "seed " << seed;
    EXPECT_EQ(code_key(a), code_key(b)) << "seed " << seed;
  }
}

TEST(SameCode, other_programs_are_different) {
  for (std::uint64_t seed = 0; seed < 50; ++seed)
    EXPECT_FALSE(same_code(random(seed), random(seed + 1))) << "seed " << seed;
}

TEST(SameCode, kernels_made_of_the_same_are_no_difference) {
  Program a = random(1);
  a.calls.push_back(
      {.name = "conv", .attributes = std::make_shared<int>(1), .content = "conv 3x3"});
  Program b = a;
  b.calls.back().attributes = std::make_shared<int>(1);
  EXPECT_TRUE(same_code(a, b));
  EXPECT_EQ(code_key(a), code_key(b));
  b.calls.back().content = "conv 5x5";
  EXPECT_FALSE(same_code(a, b));
  a.calls.back().content = b.calls.back().content = "";
  EXPECT_FALSE(same_code(a, b));
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
      [](Program& p) { p.buffers.front().dense_rows = true; },
      [](Program& p) { p.buffers.front().may_alias = 77; },
      [](Program& p) { p.buffers.front().extents.push_back(3); },
      [](Program& p) { p.buffers.back().dtype = DType::c64; },
      [](Program& p) { p.buffers.back().access = Access::inout; },
      [](Program& p) {
        p.buffers.back().lifetime = Buffer::Lifetime{1, 2};
      },
      [](Program& p) { p.sites.emplace_back(); },
      [](Program& p) { p.calls.emplace_back(); },
      [](Program& p) { p.calls.back().name = "another kernel"; },
      [](Program& p) { p.calls.back().attributes = std::make_shared<int>(1); },
      [](Program& p) { p.contracts.emplace_back(); },
  };
  Program a = random(1);
  a.calls.emplace_back();
  for (std::size_t k = 0; k < std::size(changes); ++k) {
    Program b = a;
    changes[k](b);
    EXPECT_FALSE(same_code(a, b)) << "change " << k;
    EXPECT_NE(code_key(a), code_key(b)) << "change " << k;
  }
}

/// y = 2x + k, and a kernel over y.
Program fixed_program(KernelFn kernel) {
  Builder b("fixed");
  const std::int32_t x = b.buffer({"x", DType::f32, Access::in, {-1}, true});
  const std::int32_t y = b.buffer({"y", DType::f32, Access::out, {-1}, true});
  const Ex count = b.extent(y, 0), first = b.index(0);
  b.for_each(first, count, [&](Ex i) {
    const Ex e = b.load(x, {i});
    b.store(y, {i}, e + e);
  });
  Call call;
  call.name = "sort";
  call.function = kernel;
  call.views = {{y, 0}};
  b.call(std::move(call), {});
  return *b.finish();
}

TEST(SameCode, a_key_is_the_same_in_every_process) {
  const auto one = [](Context&, std::span<const View>, const void*) { return done; };
  const auto another = [](Context&, std::span<const View>, const void*) { return stopped; };
  const CodeKey key = code_key(fixed_program(one));
  EXPECT_EQ(key, code_key(fixed_program(another))) << "addresses do not count, names do";
  EXPECT_EQ(key.high, 10828933184691005033U);
  EXPECT_EQ(key.low, 11800774305091087233U);
}

}  // namespace
}  // namespace rondel::scalar
