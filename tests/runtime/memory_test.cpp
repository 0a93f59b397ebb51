#include "runtime/memory.h"
#include "runtime/plan.h"

#include "base/cancellation.h"
#include "base/error.h"
#include "runtime/stack.h"

#include <gtest/gtest.h>

namespace rondel::runtime {
namespace {

const std::string long_text(1000, 'x');

Blame blame_of(const auto& act) {
  try {
    act();
  } catch (const Error& e) { return e.blame(); }
  ADD_FAILURE() << "nothing is thrown";
  return Blame::internal;
}

TEST(Memory, WhatNoMemoryHoldsIsALimit) {
  Memory memory(std::size_t{1} << 30);
  for (const Shape& shape : {Shape{std::int64_t{1} << 62}, Shape{std::int64_t{1} << 40, 1 << 30}})
    for (const DType t : {DType::f32, DType::string})
      EXPECT_EQ(blame_of([&] { memory.allocate(t, shape); }), Blame::limit);
  EXPECT_EQ(memory.in_use(), 0U);
}

TEST(Memory, ABudgetWithinAnotherCountsAgainstBoth) {
  Memory outer(4096);
  const auto bytes = [](Memory& m, std::int64_t n) { return m.allocate(DType::u8, {n}); };
  {
    Memory inner = outer.within(1024), wide = outer.within(1 << 20);
    const Tensor kept = bytes(inner, 1024);
    EXPECT_EQ(blame_of([&] { bytes(inner, 64); }), Blame::limit);
    EXPECT_EQ(outer.in_use(), 1024U);
    EXPECT_EQ(blame_of([&] { bytes(wide, 4096); }), Blame::limit);
    EXPECT_EQ(wide.in_use(), 0U) << "what the outer budget refuses is not counted";
    const Tensor other = bytes(wide, 2048);
    EXPECT_EQ(outer.in_use(), 3072U);
  }
  EXPECT_EQ(outer.in_use(), 0U);
  const Tensor all = bytes(outer, 4096);
}

TEST(Memory, InCheckModeBlocksShowThatNothingWroteThem) {
  Memory memory(std::size_t{1} << 30, true);
  for (int again = 0; again < 2; ++again) {  // the second block is pooled
    const Tensor t = memory.allocate(DType::i32, {5}), x = memory.allocate(DType::f16, {3});
    EXPECT_EQ(t.data_as<std::uint32_t>()[4], 0xa5a5a5a5U);
    EXPECT_EQ(x.data_as<std::uint16_t>()[2], 0x7fa5) << "a NaN";
    t.data_as<std::uint32_t>()[4] = 1;
  }
  EXPECT_FALSE(Memory(1).checked());
}

TEST(Memory, InCheckModeALongerValueLeavesTheBytesBehindItsBlock) {
  Memory memory(std::size_t{1} << 30, true);
  const Tensor t = memory.allocate(DType::u8, {100});
  const std::size_t room = Memory::bytes_if_alone(t);
  EXPECT_GE(room, 100U);
  EXPECT_GE(memory.in_use(), room + memory.bytes_behind());
  EXPECT_EQ(Memory(1).bytes_behind(), 0U);
}

TEST(Memory, InCheckModeRowsOfAGrowingStackShowThatNothingWroteThem) {
  Memory memory(std::size_t{1} << 30, true);
  runtime::Run run{memory, 1000};
  Stack stack({"item", "whole"}, 0, false);
  stack.begin(run, {}, {});
  const Tensor rows = stack.prepare(DType::i64, {2}, 3);
  EXPECT_EQ(rows.data_as<std::uint64_t>()[5], 0xa5a5a5a5a5a5a5a5U);
  const Tensor more = stack.prepare(DType::i64, {2}, 100000);
  EXPECT_EQ(more.data_as<std::uint64_t>()[199999], 0xa5a5a5a5a5a5a5a5U);
}

TEST(Memory, StringsThatCannotBeMadeClaimNothing) {
  Memory memory(std::size_t(-1));
  // The budget allows this size, but no allocator can provide it.
  EXPECT_EQ(blame_of([&] { memory.allocate(DType::string, {std::int64_t{1} << 57}); }),
            Blame::limit);
  EXPECT_EQ(memory.in_use(), 0U);
}

/// Counts cancellation checks. Check number `last` and all later ones throw.
struct CountingScope {
  int count = 0, last = 1 << 30;
  CancellationScope scope{
      [](const void* of) {
        auto* self = const_cast<CountingScope*>(static_cast<const CountingScope*>(of));
        if (++self->count >= self->last) throw Error(Blame::deadline, "now");
      },
      this};
};

TEST(Memory, ManyStringsAreMadeAndCountedInParts) {
  Memory memory(std::size_t{1} << 30);
  CountingScope checks;
  {
    const Tensor t = memory.allocate(DType::string, {1000, 100});
    EXPECT_GT(checks.count, 4);
    EXPECT_EQ(t.data_as<std::string>()[99'999], "");
    t.data_as<std::string>()[99'999] = long_text;
    checks.count = 0;
    memory.count_text(t);
    EXPECT_GT(checks.count, 4);
    EXPECT_GE(memory.in_use(), 100'000 * sizeof(std::string) + long_text.size());
  }
  EXPECT_EQ(memory.in_use(), 0U);
}

TEST(Memory, StringsThatWereToEndWhileTheyWereMadeClaimNothing) {
  Memory memory(std::size_t{1} << 30);
  const CountingScope checks{.last = 3};
  EXPECT_EQ(blame_of([&] { memory.allocate(DType::string, {100'000}); }), Blame::deadline);
  EXPECT_EQ(memory.in_use(), 0U);
}

TEST(Memory, TextIsCountedOnceABlockAndGivenBack) {
  Memory memory(1 << 20);
  {
    const Tensor t = memory.allocate(DType::string, {2, 3});
    const std::size_t objects = memory.in_use();
    EXPECT_EQ(objects, 6 * sizeof(std::string));
    t.data_as<std::string>()[0] = "short";
    t.data_as<std::string>()[4] = long_text;
    memory.count_text(t);
    const std::size_t counted = memory.in_use();
    EXPECT_GE(counted, objects + long_text.size());
    EXPECT_LE(counted, objects + 2 * long_text.size());
    memory.count_text(Value(Sequence{DType::string, std::make_shared<std::vector<Tensor>>(2, t)}));
    memory.count_text(t.at(0, 1));
    EXPECT_EQ(memory.in_use(), counted);
  }
  EXPECT_EQ(memory.in_use(), 0U);
}

TEST(Memory, TextOfOthersIsNotCounted) {
  Memory memory(1 << 20);
  memory.count_text(Tensor::from<std::string>({1}, {long_text}));
  memory.count_text(Tensor::from<float>({1}, {1.0F}));
  EXPECT_EQ(memory.in_use(), 0U);
}

TEST(Memory, TextBeyondTheBudgetIsALimit) {
  Memory memory(2000);
  {
    const Tensor t = memory.allocate(DType::string, {3});
    for (int i = 0; i < 3; ++i) t.data_as<std::string>()[i] = long_text;
    EXPECT_EQ(blame_of([&] { memory.count_text(t); }), Blame::limit);
  }
  EXPECT_EQ(memory.in_use(), 0U);
}

TEST(Memory, StacksCountTheTextOfTheirItems) {
  const Tensor item = Tensor::from<std::string>({1}, {long_text});
  for (const std::optional<std::int64_t> trips : {std::optional<std::int64_t>(10), {}}) {
    Memory memory(1 << 20);
    runtime::Run run{memory, 10};
    {
      Stack stack({"a", "a"}, 0, false);
      stack.begin(run, std::nullopt, trips);
      for (std::int64_t t = 0; t < 10; ++t) stack.put(t, item);
      EXPECT_GE(memory.in_use(), 10 * long_text.size());
      const Tensor whole = stack.finish(10).tensor();
      EXPECT_EQ(whole.data_as<std::string>()[9], long_text);
      EXPECT_GE(memory.in_use(), 10 * long_text.size());
    }
    EXPECT_EQ(memory.in_use(), 0U);
  }
}

}  // namespace
}  // namespace rondel::runtime
