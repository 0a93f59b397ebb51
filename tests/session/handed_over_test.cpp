#include "session/sessions.h"

#include <rondel/session.h>

#include <gtest/gtest.h>

/// Values that move between trips, branches and runs: a block is only reused if nothing can read
/// its old value. All loops here carry a list, so that they run step by step.
namespace rondel {
namespace {

/// A session that runs the graph as it is written.
Session plain_session_of(const std::string& text) {
  SessionOptions options;
  options.graph_optimization_level = 0;
  return session_of(text, options);
}

Tensor scalar(float x) { return Tensor::scalar(x); }
Tensor trips(std::int64_t n) { return Tensor::scalar(n); }

TEST(HandedOver, StatesThatAListHoldsStayAsTheyWere) {
  const Session s = plain_session_of(
      "g (int64 n, float x) => (seq(float) all) <float one = {1}> "
      "{ none = SequenceEmpty <dtype = 1> () last, all = Loop (n, , x, none) <body = b "
      "(int64 i, bool go, float x0, seq(float) before) => (bool on, float x1, seq(float) after) "
      "{ on = Identity (go) after = SequenceInsert (before, x0) x1 = Add (x0, one) }> }");
  for (int run = 0; run < 2; ++run) {
    const auto results = s.run({{"n", trips(6)}, {"x", scalar(3)}});
    const Sequence& all = results.at("all").sequence();
    ASSERT_EQ(all.size(), 6U);
    for (std::size_t i = 0; i < 6; ++i)
      EXPECT_EQ((*all.items)[i].data_as<float>()[0], 3.0F + static_cast<float>(i));
  }
}

TEST(HandedOver, StatesChangePlaces) {
  const Session s = plain_session_of(
      "g (int64 n, float a, float b, float c) => (float x, float y, float z) "
      "{ none = SequenceEmpty <dtype = 1> () x, y, z, rest = Loop (n, , a, b, c, none) <body = b "
      "(int64 i, bool go, float x0, float y0, float z0, seq(float) l) => "
      "(bool on, float y1, float z1, float x1, seq(float) same) { on = Identity (go) "
      "same = Identity (l) y1 = Identity (y0) z1 = Identity (z0) x1 = Add (x0, x0) }> }");
  const auto results = s.run(
      {{"n", trips(4)}, {"a", scalar(1)}, {"b", scalar(10)}, {"c", scalar(100)}});
  // (1, 10, 100), (10, 100, 2), (100, 2, 20), (2, 20, 200), (20, 200, 4)
  EXPECT_EQ(floats(results.at("x")), std::vector{20.0F});
  EXPECT_EQ(floats(results.at("y")), std::vector{200.0F});
  EXPECT_EQ(floats(results.at("z")), std::vector{4.0F});
}

TEST(HandedOver, TheConditionMayBeAStateAndAStateTheCondition) {
  // Each trip swaps the state `more` and `go`.
  const Session s = plain_session_of(
      "g (bool more0) => (bool more, float[k] made) <float one = {1}, bool yes = {1}> "
      "{ none = SequenceEmpty <dtype = 1> () more, rest, made = Loop (, yes, more0, none) <body = "
      "b "
      "(int64 i, bool go, bool more_, seq(float) l) => "
      "(bool more_, bool go, seq(float) same, float item) "
      "{ same = Identity (l) item = Cast <to = 1> (i) }> }");
  const auto results = s.run({{"more0", Tensor::scalar(false)}});
  EXPECT_EQ(floats(results.at("made")), std::vector{0.0F});
  EXPECT_TRUE(results.at("more").tensor().data_as<bool>()[0]);
}

TEST(HandedOver, ItemsThatAreStatesAreTheOnesOfTheirTrip) {
  const Session s = plain_session_of(
      "g (int64 n, float[2] x) => (float[n, 2] items, float[2, n] turned) "
      "{ none = SequenceEmpty <dtype = 1> () last, rest, items, others = Loop (n, , x, none) <body "
      "= "
      "b (int64 i, bool go, float[2] x0, seq(float) l) => "
      "(bool on, float[2] x1, seq(float) same, float[2] x1, float[2] x0) "
      "{ on = Identity (go) same = Identity (l) x1 = Add (x0, x0) }> "
      "turned = Transpose (others) }");
  const auto results = s.run({{"n", trips(3)}, {"x", Tensor::from<float>({2}, {1, 3})}});
  EXPECT_EQ(floats(results.at("items")), (std::vector<float>{2, 6, 4, 12, 8, 24}));
  EXPECT_EQ(floats(results.at("turned")), (std::vector<float>{1, 2, 4, 3, 6, 12}));
}

TEST(HandedOver, FeedsAndEarlierResultsAreLeftAlone) {
  const Session s = plain_session_of(
      "g (int64 n, float[2] x) => (float[2] y) <bool yes = {1}> "
      "{ none = SequenceEmpty <dtype = 1> () y, rest = Loop (n, , x, none) <body = b "
      "(int64 i, bool go, float[2] x0, seq(float) l) => (bool on, float[2] x1, seq(float) same) "
      "{ on = Identity (go) same = Identity (l) two = Constant <value_int = 2> () odd = Mod (i, "
      "two) "
      "c = Cast <to = 9> (odd) x1 = If (c) <then_branch = t () => (float[2] p) { p = Add (x0, x0) "
      "}, "
      "else_branch = e () => (float[2] q) { q = Identity (x0) }> }> }");
  const Tensor x = Tensor::from<float>({2}, {1, 2});
  const auto once = s.run({{"n", trips(5)}, {"x", x}});
  const auto again = s.run({{"n", trips(8)}, {"x", once.at("y")}});
  EXPECT_EQ(floats(x), (std::vector<float>{1, 2}));
  EXPECT_EQ(floats(once.at("y")), (std::vector<float>{4, 8}));
  EXPECT_EQ(floats(again.at("y")), (std::vector<float>{64, 128}));
}

TEST(HandedOver, NothingIsHeldBetweenRuns) {
  const Session s = plain_session_of(
      "g (int64 n, float[1000] x) => (float[1000] y) "
      "{ none = SequenceEmpty <dtype = 1> () y, rest = Loop (n, , x, none) <body = b "
      "(int64 i, bool go, float[1000] x0, seq(float) l) => (bool on, float[1000] x1, seq(float) m) "
      "{ on = Identity (go) m = Identity (l) x1 = Add (x0, x0) }> }");
  const Tensor x = Tensor::zeros(DType::f32, {1000});
  s.run({{"n", trips(5)}, {"x", x}});
  EXPECT_EQ(x.owner().use_count(), 1);
}

}  // namespace
}  // namespace rondel
