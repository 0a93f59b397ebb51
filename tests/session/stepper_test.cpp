#include "errors.h"
#include "session/sessions.h"

#include <rondel/session.h>

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

/// Values that a stepper carries from step to step.
namespace rondel {
namespace {

using ::testing::HasSubstr;

Tensor filled(std::int64_t n, float x) {
  Tensor t(DType::f32, {n});
  std::fill_n(t.data_as<float>(), n, x);
  return t;
}

constexpr const char* falling =
    "g (float[n] w, float[n] x) => (float loss, float[n] next) "
    "{ next = Sub (w, x) loss = ReduceSum <keepdims = 0> (w) }";

TEST(Stepper, AnOutputIsTheNextInput) {
  const Session s = session_of(falling);
  Stepper stepper(s, {{"w", "next"}}, {{"w", filled(2, 10)}});
  const std::vector<std::string> loss{"loss"};
  for (const float expected : {20.0F, 18.0F, 16.0F})
    EXPECT_EQ(floats(stepper.step(loss, {{"x", filled(2, 1)}})[0]), std::vector{expected});
  EXPECT_EQ(floats(stepper.value("w")), (std::vector<float>{7, 7}));
  stepper.set("w", filled(2, 1));
  EXPECT_TRUE(stepper.step({}, {{"x", filled(2, 1)}}).empty());
  EXPECT_EQ(floats(stepper.value("w")), (std::vector<float>{0, 0}));
}

TEST(Stepper, ValuesThatSomebodyHoldsStay) {
  const Session s = session_of(falling);
  const Tensor first = filled(2, 10);
  Stepper stepper(s, {{"w", "next"}}, {{"w", first}});
  const std::vector<std::string> both{"next", "loss"};
  const std::vector<Value> results = stepper.step(both, {{"x", filled(2, 1)}});
  const Value held = stepper.value("w");
  EXPECT_NE(results[0].tensor().data(), held.tensor().data()) << "results share no memory";
  stepper.step({}, {{"x", filled(2, 1)}});
  EXPECT_EQ(floats(first), (std::vector<float>{10, 10}));
  EXPECT_EQ(floats(held), (std::vector<float>{9, 9}));
  EXPECT_EQ(floats(stepper.value("w")), (std::vector<float>{8, 8}));
}

/// Values that are passed through, swapped, or taken from feeds.
TEST(Stepper, ValuesAreNobodyElses) {
  const Session s = session_of(
      "g (float[2] a, float[2] b, float[2] kept, float[2] last, float[2] x) => "
      "(float[2] c, float[2] d, float[2] same, float[2] now) "
      "{ c = Identity (b) d = Identity (a) same = Identity (kept) now = Identity (x) }");
  Stepper stepper(
      s, {{"a", "c"}, {"b", "d"}, {"kept", "same"}, {"last", "now"}},
      {{"a", filled(2, 1)}, {"b", filled(2, 2)}, {"kept", filled(2, 3)}, {"last", filled(2, 4)}});
  const Tensor x = filled(2, 5);
  stepper.step({}, {{"x", x}});
  x.data_as<float>()[0] = 6;
  EXPECT_EQ(floats(stepper.value("a")), (std::vector<float>{2, 2}));
  EXPECT_EQ(floats(stepper.value("b")), (std::vector<float>{1, 1}));
  EXPECT_EQ(floats(stepper.value("kept")), (std::vector<float>{3, 3}));
  EXPECT_EQ(floats(stepper.value("last")), (std::vector<float>{5, 5}));
}

constexpr std::int64_t large = 1 << 20;

/// Three weights; the update of each weight reads all of them.
constexpr const char* three_weights =
    "g (float[n] u, float[n] v, float[n] w) => (float[n] u1, float[n] v1, float[n] w1) "
    "{ a = ReduceMean <keepdims = 0> (u) b = ReduceMean <keepdims = 0> (v) "
    "  c = ReduceMean <keepdims = 0> (w) m = Mean (a, b, c) "
    "  u1 = Add (u, m) v1 = Add (v, m) w1 = Add (w, m) }";
const std::map<std::string, std::string> three{{"u", "u1"}, {"v", "v1"}, {"w", "w1"}};

TEST(Stepper, AStepNeedsTheMemoryOfItsValuesOnce) {
  SessionOptions options;
  // Three weights of 4 MiB each; no weight exists twice.
  options.max_memory_bytes = 3 * large * sizeof(float) + (std::size_t{64} << 10);
  const Session s = session_of(three_weights, options);
  Stepper stepper(s, three,
                  {{"u", filled(large, 3)}, {"v", filled(large, 0)}, {"w", filled(large, 0)}});
  for (int k = 0; k < 4; ++k) stepper.step({}, {});
  EXPECT_EQ(stepper.value("w").tensor().data_as<float>()[large - 1], 15);
  // A run whose feeds the caller holds needs memory for old and new values.
  const std::map<std::string, Value> feeds{
      {"u", stepper.value("u")}, {"v", stepper.value("v")}, {"w", stepper.value("w")}};
  EXPECT_THAT(error_of([&] { s.run(feeds); }, Blame::limit), HasSubstr("memory budget"));
}

TEST(Stepper, AfterALackOfMemoryEachValueIsOldOrNew) {
  SessionOptions options;
  options.max_memory_bytes = 3 * large * sizeof(float) + (std::size_t{64} << 10);
  const Session s = session_of(three_weights, options);
  Stepper stepper(s, three,
                  {{"u", filled(large, 3)}, {"v", filled(large, 0)}, {"w", filled(large, 0)}});
  stepper.step({}, {});
  const Value held = stepper.value("v");  // so that its block is not overwritten
  EXPECT_THAT(error_of([&] { stepper.step({}, {}); }, Blame::limit), HasSubstr("memory budget"));
  const auto first = [&](const char* name) { return floats(stepper.value(name))[0]; };
  EXPECT_EQ(first("u"), 6);
  EXPECT_EQ(first("v"), 1);
  EXPECT_EQ(first("w"), 1);
}

/// A stepper of two vectors of 12 KB. Fails for lack of memory, and returns their first elements.
std::pair<float, float> after_a_lack_of_memory(const std::string& lines, int good_steps) {
  const Session s = session_of(
      "g (float[n] a, float[n] b, float[n] x) => (float[n] a1, float[n] b1) { t = Add (a, x) " +
      lines + " }");
  Stepper stepper(s, {{"a", "a1"}, {"b", "b1"}}, {{"a", filled(3000, 1)}, {"b", filled(3000, 2)}});
  const std::map<std::string, Value> feeds{{"x", filled(3000, 3)}};
  for (int k = 0; k < good_steps; ++k) stepper.step({}, feeds);
  RunOptions small;
  small.max_memory_bytes = good_steps == 0 ? 13'000 : 1000;  // one vector, or none
  EXPECT_THAT(error_of([&] { stepper.step({}, feeds, small); }, Blame::limit),
              HasSubstr("memory budget"));
  const std::pair found(floats(stepper.value("a"))[0], floats(stepper.value("b"))[0]);
  stepper.step({}, feeds);
  return found;
}

/// Both new values come from one program, and there is memory for one of them.
TEST(Stepper, AProgramWithoutMemoryForAllItsResultsGivesNone) {
  EXPECT_EQ(after_a_lack_of_memory("a1 = Neg (t) b1 = Mul (t, b)", 0), std::pair(1.0F, 2.0F));
}

/// The first result could be written over `a`; there is no memory for the second one.
TEST(Stepper, AProgramWithoutMemoryForAllItsResultsTakesNoInput) {
  EXPECT_EQ(after_a_lack_of_memory("b1 = Mul (t, x) a1 = Mul (t, b)", 1), std::pair(8.0F, 12.0F));
}

/// That there is too much text is known after the program has run.
TEST(Stepper, AProgramThatWritesTooMuchTextChangesNothing) {
  const Session s = session_of(
      "g (float[2] a, string[2] s, bool[2] c, float[2] x, string[2] t) => (float[2] a1, string[2] "
      "s1) "
      "{ n = Not (c) b = Where (n, a, x) a1 = Mul (b, x) s1 = Where (n, s, t) }");
  Stepper stepper(s, {{"a", "a1"}, {"s", "s1"}},
                  {{"a", filled(2, 1)}, {"s", Tensor::from<std::string>({2}, {"old", "old"})}});
  const std::map<std::string, Value> feeds{
      {"x", filled(2, 3)},
      {"c", Tensor::zeros(DType::boolean, {2})},
      {"t", Tensor::from<std::string>({2}, {std::string(10'000, 'x'), ""})}};
  std::map<std::string, Value> chosen = feeds;
  chosen["c"] = Tensor::from<bool>({2}, {true, true});
  RunOptions small;
  small.max_memory_bytes = 5000;
  stepper.step({}, feeds);
  EXPECT_THAT(error_of([&] { stepper.step({}, chosen, small); }, Blame::limit),
              HasSubstr("memory budget"));
  EXPECT_EQ(floats(stepper.value("a")), (std::vector<float>{3, 3}));
  EXPECT_EQ(stepper.value("s").tensor().data_as<std::string>()[0], "old");
}

/// The last reader of the old value runs before the step that computes the new value.
TEST(Stepper, AValueStaysUntilTheNextIsThere) {
  SessionOptions options;
  options.graph_optimization_level = 0;  // one step per node
  options.max_memory_bytes = large * sizeof(float) + (std::size_t{64} << 10);
  const Session s = session_of(
      "g (float[n] w) => (float[n] next) { twice = Add (w, w) next = Exp (twice) }", options);
  Stepper stepper(s, {{"w", "next"}}, {{"w", filled(large, 0)}});
  EXPECT_THAT(error_of([&] { stepper.step({}, {}); }, Blame::limit), HasSubstr("memory budget"));
  EXPECT_EQ(floats(stepper.value("w"))[0], 0);
}

/// A step can be ended during a loop that is the only reader of a carried value.
TEST(Stepper, ALoopThatReadsAValueLastIsEnded) {
  const Session s = session_of(
      "g (float[n] w) => (float[n] next) <bool yes = {1}> { next = Loop (, yes, w) <body = b "
      "(int64 i, bool go, float[n] x) => (bool on, float[n] y) "
      "{ on = Identity (go) y = Mul (x, x) }> }");
  Stepper stepper(s, {{"w", "next"}}, {{"w", filled(3, 1)}});
  RunOptions soon;
  soon.deadline = 0.05;
  error_of([&] { stepper.step({}, {}, soon); }, Blame::deadline);
  EXPECT_EQ(floats(stepper.value("w")), (std::vector<float>{1, 1, 1}));
}

/// A step that fails or is ended before the first value is replaced keeps all old values.
TEST(Stepper, AFailedStepChangesNothing) {
  const Session s = session_of(
      "g (float[n] w, int64 k) => (float[n] next, float taken) "
      "{ taken = Gather (w, k) next = Add (w, taken) }");
  Stepper stepper(s, {{"w", "next"}}, {{"w", filled(2, 1)}});
  const auto step = [&](std::int64_t k) { stepper.step({}, {{"k", Tensor::scalar(k)}}); };
  step(0);
  EXPECT_NE(error_of([&] { step(7); }), "");
  EXPECT_EQ(floats(stepper.value("w")), (std::vector<float>{2, 2}));
  std::atomic<bool> stop{true};
  RunOptions ended;
  ended.terminate = &stop;
  const std::map<std::string, Value> feeds{{"k", Tensor::scalar<std::int64_t>(0)}};
  error_of([&] { stepper.step({}, feeds, ended); }, Blame::cancelled);
  EXPECT_EQ(floats(stepper.value("w")), (std::vector<float>{2, 2}));
  step(1);
  EXPECT_EQ(floats(stepper.value("w")), (std::vector<float>{4, 4}));
}

TEST(Stepper, AStepThatFailsInItsLastProgramChangesNothing) {
  const Session s = session_of(
      "g (float[n] w, int64 k) => (float[n] next, float taken) "
      "{ next = Add (w, w) taken = Gather (next, k) }");
  Stepper stepper(s, {{"w", "next"}}, {{"w", filled(2, 1)}});
  const auto step = [&](std::int64_t k) { stepper.step({}, {{"k", Tensor::scalar(k)}}); };
  EXPECT_NE(error_of([&] { step(7); }), "");
  EXPECT_EQ(floats(stepper.value("w")), (std::vector<float>{1, 1}));
  step(1);
  EXPECT_EQ(floats(stepper.value("w")), (std::vector<float>{2, 2}));
}

TEST(Stepper, OneStepAtATime) {
  const Session s = session_of(
      "g (float w) => (float next) <bool yes = {1}> { next = Loop (, yes, w) <body = b "
      "(int64 i, bool go, float x) => (bool on, float y) "
      "{ on = Identity (go) y = Mul (x, x) }> }");
  Stepper stepper(s, {{"w", "next"}}, {{"w", Tensor::scalar(1.0F)}});
  std::atomic<bool> stop{false};
  std::string ended;
  std::thread other([&] {
    RunOptions o;
    o.terminate = &stop;
    // A step fails as long as the other thread is in `value`.
    while (ended.find("terminate") == std::string::npos) try {
        stepper.step({}, {}, o);
      } catch (const Error& e) { ended = e.what(); }
  });
  std::string busy;
  while (busy.empty()) busy = error_of([&] { stepper.value("w"); });
  stop = true;
  other.join();
  EXPECT_THAT(busy, HasSubstr("a step of this stepper is under way in another thread"));
  EXPECT_EQ(floats(stepper.value("w")), std::vector{1.0F});
}

TEST(Stepper, Errors) {
  const Session s = session_of(
      "g (float[2] w, float[2] x) => (float[2] y, int64[2] i) "
      "{ y = Add (w, x) i = Cast <to = 7> (y) }");
  const Tensor w = filled(2, 0);
  const auto made = [&](const std::map<std::string, std::string>& carried,
                        const std::map<std::string, Value>& values) {
    return error_of([&] { Stepper(s, carried, values); });
  };
  EXPECT_THAT(made({{"v", "y"}}, {}), HasSubstr("there is no input 'v'; the inputs are 'w', 'x'"));
  EXPECT_THAT(made({{"w", "z"}}, {}), HasSubstr("there is no output 'z'; the outputs are"));
  EXPECT_THAT(made({{"w", "i"}}, {{"w", w}}),
              HasSubstr("input 'w' is tensor(float), but output 'i' is tensor(int64)"));
  EXPECT_THAT(made({{"w", "y"}}, {}), HasSubstr("the carried input 'w' has no value"));
  EXPECT_THAT(made({{"w", "y"}}, {{"w", filled(3, 0)}}),
              HasSubstr("input 'w' is f32[3]; expected f32[2]"));
  EXPECT_THAT(made({{"w", "y"}}, {{"w", w}, {"x", w}}),
              HasSubstr("a value is given for 'x', which is not carried"));
  Stepper stepper(s, {{"w", "y"}}, {{"w", w}});
  EXPECT_THAT(error_of([&] {
                stepper.step({}, {{"w", w}, {"x", w}});
              }),
              HasSubstr("input 'w' is carried from step to step; it is not fed"));
  EXPECT_THAT(error_of([&] { stepper.step({}, {}); }), HasSubstr("input 'x' is missing"));
  EXPECT_THAT(error_of([&] { stepper.value("x"); }), HasSubstr("input 'x' is not carried"));
  EXPECT_THAT(error_of([&] { stepper.set("w", filled(3, 0)); }), HasSubstr("expected f32[2]"));
}

}  // namespace
}  // namespace rondel
