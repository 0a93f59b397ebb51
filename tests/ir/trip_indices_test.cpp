#include "ir/trip_indices.h"

#include "ir/range.h"

#include <gtest/gtest.h>

namespace rondel::ir {
namespace {

/// i counts to T - 1, and j, of a loop inside, to i.
struct TripIndicesTest : ::testing::Test {
  const Integer i{Symbol::own("trip0")}, j{Symbol::own("trip1")}, t{Symbol::named("T")},
      n{Symbol::named("N")};
  TripIndices trips;

  TripIndicesTest() {
    trips.add(i.symbol, t - 1);
    trips.add(j.symbol, i);
  }
};

TEST_F(TripIndicesTest, an_index_is_below_the_trip_count) {
  EXPECT_TRUE(trips.never_negative(t - 1 - i));
  EXPECT_TRUE(trips.never_negative(i));
  EXPECT_FALSE(trips.never_negative(t - 2 - i)) << "-1 in the last trip";
  EXPECT_FALSE(trips.never_negative(i - 1)) << "-1 in the first trip";
}

TEST_F(TripIndicesTest, an_index_is_unrelated_to_other_extents) {
  EXPECT_FALSE(trips.never_negative(n - i));
  EXPECT_TRUE(trips.never_negative(n + t - i));
}

TEST_F(TripIndicesTest, the_last_index_of_an_inner_loop_may_be_an_outer_index) {
  EXPECT_TRUE(trips.never_negative(i - j));
  EXPECT_TRUE(trips.never_negative(t - 1 - j));
  EXPECT_FALSE(trips.never_negative(j - i));
  EXPECT_FALSE(trips.never_negative(t - 1 - i - j));
}

TEST_F(TripIndicesTest, an_inner_loop_may_make_fewer_trips_in_each_trip_of_an_outer_loop) {
  TripIndices triangle;
  triangle.add(i.symbol, t - 1);
  triangle.add(j.symbol, t - i - 1);
  EXPECT_TRUE(triangle.never_negative(t - 1 - i - j));
  EXPECT_TRUE(triangle.never_negative(t - 1 - j));
  EXPECT_FALSE(triangle.never_negative(t - 2 - i - j));
  TripIndices other_names;
  other_names.add(j.symbol, t - 1);
  other_names.add(i.symbol, t - j - 1);
  EXPECT_TRUE(other_names.never_negative(t - 1 - i - j));
}

TEST_F(TripIndicesTest, small_expressions_never_wrap_around) {
  constexpr std::int64_t large = std::int64_t{1} << 62, largest = INT64_MAX;
  const auto never = [&](const Integer& e) {
    return never_wraps(e, [&](std::span<const Symbol> names) {  // a tensor of t rows and n columns
      return names.size() == 2 && names[0] != names[1] && names[0] != i.symbol &&
             names[1] != i.symbol;
    });
  };
  EXPECT_TRUE(never(i + t * 2 - 5) && never(large / 2) && never(i * t) && never(t * t));
  EXPECT_TRUE(never(max(i - 3, 0)) && never(floor_div(i, 7)) && never(min(i, largest)));
  EXPECT_TRUE(never(t * n * 1000000) && never(max(t * n - i - largest_listed, 0)));
  EXPECT_FALSE(never(i * large) || never(i * t * n) || never(t * t * t) || never(i * t * 5));
  EXPECT_FALSE(never(i + large) || never(floor_div(large + t, t) * 8) || never(Integer()));
}

TEST_F(TripIndicesTest, an_index_may_have_factors) {
  EXPECT_TRUE(trips.never_negative(Integer(3) * t - 3 - Integer(3) * i));
  EXPECT_TRUE(trips.never_negative(n * t - n - n * i));
  EXPECT_FALSE(trips.never_negative(n * t - n * i * i)) << "not linear";
  EXPECT_FALSE(trips.never_negative(t - max(i - 3, 0))) << "not shown";
}

TEST_F(TripIndicesTest, with_a_known_trip_count) {
  TripIndices known;
  known.add(i.symbol, 5);
  EXPECT_TRUE(known.never_negative(Integer(5) - i));
  EXPECT_FALSE(known.never_negative(Integer(4) - i));
}

TEST_F(TripIndicesTest, nothing_is_known_without_the_last_index) {
  TripIndices unknown;
  unknown.add(i.symbol, {});
  EXPECT_FALSE(unknown.never_negative(t - i));
  EXPECT_TRUE(unknown.never_negative(t + i));
}

TEST_F(TripIndicesTest, tells_what_changes_from_trip_to_trip) {
  EXPECT_TRUE(trips.changes(i) && trips.changes(t - i) && trips.changes(floor_div(j, 2)));
  EXPECT_FALSE(trips.changes(t) || trips.changes(3) || trips.changes(Integer()));
  EXPECT_FALSE(trips.changes(t + i - i));
}

}  // namespace
}  // namespace rondel::ir
