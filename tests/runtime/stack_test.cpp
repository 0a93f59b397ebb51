// The items of a loop, joined along a new axis.
#include "runtime/stack.h"

#include <gtest/gtest.h>

namespace rondel::runtime {
namespace {

constexpr std::int64_t many = 20000;  // rows of 16 bytes, which outgrow a block of the pool

Tensor item(std::int64_t t) { return Tensor::from<std::int64_t>({2}, {t, -t}); }

/// A stack of n items whose number is not known before.
Tensor grown(Memory& memory, std::int64_t n, std::int64_t axis, bool reversed) {
  runtime::Run run{memory, many};
  Stack stack({"item", "whole"}, axis, reversed);
  stack.begin(run, {}, {});
  for (std::int64_t t = 0; t < n; ++t) stack.put(t, item(t));
  return stack.finish(n).tensor();
}

TEST(Stack, KeepsAllRowsWhileItGrows) {
  Memory memory(std::size_t{1} << 30);
  for (const std::int64_t n : {std::int64_t{1}, std::int64_t{3}, std::int64_t{500}, many})
    for (const std::int64_t axis : {0, -1})
      for (const bool reversed : {false, true}) {
        const Tensor whole = grown(memory, n, axis, reversed);
        ASSERT_EQ(whole.shape(), (axis == 0 ? Shape{n, 2} : Shape{2, n}));
        for (std::int64_t t = 0; t < n; ++t) {
          const Tensor row = whole.at(axis == 0 ? 0 : 1, reversed ? n - 1 - t : t).copy();
          ASSERT_EQ(row.data_as<std::int64_t>()[0], t) << n << " rows";
          ASSERT_EQ(row.data_as<std::int64_t>()[1], -t) << n << " rows";
        }
      }
  EXPECT_EQ(memory.in_use(), 0U);
}

TEST(Stack, PreparedRowsAreKept) {
  Memory memory(std::size_t{1} << 30);
  runtime::Run run{memory, many};
  Stack stack({"item", "whole"}, 0, false);
  stack.begin(run, {}, {});
  std::int64_t from = 0;
  for (std::int64_t to = 4; from < many; to = std::min(2 * to, many)) {
    const Tensor rows = stack.prepare(DType::i64, {2}, to);
    for (; from < to; ++from) rows.data_as<std::int64_t>()[2 * from] = from;
  }
  const Tensor whole = stack.finish(many).tensor();
  for (std::int64_t t = 0; t < many; ++t) ASSERT_EQ(whole.data_as<std::int64_t>()[2 * t], t);
}

TEST(Stack, AFewRowsTakeLittleOfABudget) {
  Memory memory(4096);
  const Tensor whole = grown(memory, 30, 0, false);
  EXPECT_EQ(whole.data_as<std::int64_t>()[58], 29);
}

}  // namespace
}  // namespace rondel::runtime
