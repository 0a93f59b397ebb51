#include "base/parts.h"

#include "base/thread_pool.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

/// Loops of generated code that threads share: into which parts they are divided.
namespace rondel {
namespace {

using testing::ElementsAre;
using testing::Pair;
using Range = std::pair<std::int64_t, std::int64_t>;

/// What the parts were called with.
struct Calls {
  std::mutex mutex;
  std::vector<Range> ranges;
};

Status note(Context*, const void* calls, std::int64_t from, std::int64_t to) {
  auto& c = *static_cast<Calls*>(const_cast<void*>(calls));
  const std::lock_guard lock(c.mutex);
  c.ranges.emplace_back(from, to);
  return done;
}

/// The parts of the trips [0, trips), in order.
std::vector<Range> parts_of(std::int64_t trips, double work, std::int64_t together, int threads) {
  Calls calls;
  Context context;
  const ThreadScope scope(threads);
  EXPECT_EQ(run_in_parts(&context, note, &calls, 0, trips, work, together), done);
  std::ranges::sort(calls.ranges);
  return calls.ranges;
}

TEST(RunInParts, OneThreadRunsAllAtOnce) {
  EXPECT_THAT(parts_of(1000, 1e9, 1, 1), ElementsAre(Pair(0, 1000)));
}

TEST(RunInParts, EachTripIsInOnePart) {
  for (const int threads : {2, 3, 8})
    for (const std::int64_t trips : {2, 7, 63, 64, 65, 1000, 100'003})
      for (const double work : {1e3, 1e6, 1e9}) {
        std::int64_t end = 0;
        for (const auto& [from, to] : parts_of(trips, work, 1, threads)) {
          EXPECT_EQ(from, end);
          EXPECT_LT(from, to);
          end = to;
        }
        EXPECT_EQ(end, trips);
      }
}

/// The trips of a whole vector take as long as one: to divide them gains nothing.
TEST(RunInParts, TripsThatTakeAsLongAsOneStayTogether) {
  EXPECT_THAT(parts_of(256, 1e9, 256, 2), ElementsAre(Pair(0, 256)));
  EXPECT_THAT(parts_of(300, 1e9, 128, 2),
              ElementsAre(Pair(0, 128), Pair(128, 256), Pair(256, 300)));
}

TEST(RunInParts, LittleWorkIsDividedIntoFewParts) {
  EXPECT_EQ(parts_of(1024, 0.0, 1, 8).size(), 2U);
  EXPECT_GT(parts_of(1024, 1e9, 1, 8).size(), 8U);
}

}  // namespace
}  // namespace rondel
