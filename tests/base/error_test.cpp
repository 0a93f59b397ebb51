#include "base/error.h"

#include <gtest/gtest.h>

#include <functional>

namespace rondel {
namespace {

Error thrown(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& e) { return e; }
  ADD_FAILURE() << "nothing was thrown";
  return {Blame::internal, ""};
}

TEST(Error, IsItsFramesThenWhatHappened) {
  const Error plain = thrown([] { fail("extent {} is negative", -1); });
  EXPECT_STREQ(plain.what(), "extent -1 is negative");
  EXPECT_EQ(plain.message(), plain.what());
  EXPECT_TRUE(plain.frames().empty());

  const Error placed = plain.within("node 'a' (Add)").within("node 'l' (Loop)", 3);
  EXPECT_STREQ(placed.what(), "node 'l' (Loop), trip 3: node 'a' (Add): extent -1 is negative");
  EXPECT_EQ(placed.message(), "extent -1 is negative");
  EXPECT_EQ(placed.blame(), Blame::caller);
  ASSERT_EQ(placed.frames().size(), 2U);
  EXPECT_EQ(placed.frames()[0].source, "node 'l' (Loop)");
  EXPECT_EQ(placed.frames()[0].trip, 3);
  EXPECT_EQ(placed.frames()[1].source, "node 'a' (Add)");
  EXPECT_EQ(placed.frames()[1].trip, std::nullopt);
}

TEST(Error, IsThrownWithItsFrame) {
  const Error failed = thrown([] { fail_at("layer 'x'", "input {} is not set", 1); });
  EXPECT_STREQ(failed.what(), "layer 'x': input 1 is not set");
  EXPECT_EQ(failed.frames().at(0).source, "layer 'x'");
  const Error required = thrown([] { require_at(false, "layer 'y'", "no {}", "axis"); });
  EXPECT_EQ(required.message(), "no axis");
  EXPECT_EQ(required.frames().at(0).source, "layer 'y'");
  require_at(true, "layer 'z'", "not thrown");
  const Error limit = thrown([] { throw_error_at(Blame::limit, "node 'n'", "too many"); });
  EXPECT_EQ(limit.blame(), Blame::limit);
  EXPECT_STREQ(limit.what(), "node 'n': too many");
}

}  // namespace
}  // namespace rondel
