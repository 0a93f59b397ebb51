#include "base/arithmetic.h"
#include "base/thread_pool.h"
#include "session/sessions.h"

#include <rondel/session.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>

/// Runs do not depend on the floating-point environment of the program around.
namespace rondel {
namespace {

Tensor filled(Shape shape, float x) {
  Tensor t(DType::f32, std::move(shape));
  std::fill_n(t.data_as<float>(), t.size(), x);
  return t;
}

#if defined(__x86_64__)
/// What a program that is linked with -ffast-math begins with, and a rounding mode on top:
/// subnormal numbers are zero, as operands and as results, and numbers are rounded up.
class FastArithmetic {
 public:
  FastArithmetic() { _mm_setcsr(fast); }
  ~FastArithmetic() { _mm_setcsr(before_); }
  static bool still() { return (_mm_getcsr() & ~0x3fU) == fast; }

 private:
  static constexpr std::uint32_t fast = 0x1f80 | 0x8000 | 0x0040 | 0x4000;
  std::uint32_t before_ = _mm_getcsr();
};

constexpr float tiny = 1e-30F;
constexpr float subnormal = 1e-40F;
constexpr const char* ops =
    "g (float[n] x) => (float[n] y, float[n] z, float k) "
    "<float a = {1e-30}, float b = {1e-10}, float[1] three = {3}> "
    "{ y = Mul (x, b) half = Div (y, three) z = Mul (half, three) k = Mul (a, b) }";

/// `jit`: of RONDEL_JIT.
void expect_standard(const char* jit) {
  ::setenv("RONDEL_JIT", jit, 1);
  const std::map<std::string, Value> feeds{{"x", filled({1000}, tiny)}};
  const auto usual = session_of(ops).run(feeds);
  const FastArithmetic around;
  const Session session = session_of(ops);
  for (int k = 0; k < 3; ++k) {
    const auto found = session.run(feeds);
    EXPECT_EQ(found.at("y").tensor().data_as<float>()[999], subnormal);
    EXPECT_EQ(*found.at("k").tensor().data_as<float>(), subnormal) << "computed by the compiler";
    for (const char* name : {"y", "z", "k"})
      EXPECT_EQ(floats(found.at(name)), floats(usual.at(name))) << name;
  }
  EXPECT_TRUE(FastArithmetic::still());
  ::unsetenv("RONDEL_JIT");
}

TEST(Arithmetic, OfTheInterpreterIsStandard) { expect_standard("0"); }
TEST(Arithmetic, OfNativeCodeIsStandard) { expect_standard("2"); }

/// A thread has what the thread that starts it has.
void start_helpers(int threads) {
  const FastArithmetic around;
  std::atomic<int> begun = 0;
  ThreadPool::of_process().run(threads, threads, [&](std::int64_t) {
    ++begun;
    while (begun < threads) std::this_thread::yield();
  });
}

TEST(Arithmetic, OfHelperThreadsIsStandard) {
  constexpr int threads = 5;
  start_helpers(threads);
  SessionOptions options;
  options.intra_op_num_threads = threads;
  const Session session = session_of(
      "g (float[n,c,h,w] x, float[m,c,3,3] w) => (float[n,m,p,q] y) { y = Conv (x, w) }", options);
  const std::map<std::string, Value> feeds{{"x", filled({4, 8, 64, 64}, tiny)},
                                           {"w", filled({8, 8, 3, 3}, 1e-10F)}};
  const auto found = session.run(feeds);
  const Tensor& y = found.at("y").tensor();
  for (std::int64_t i = 0; i < y.size(); ++i)
    ASSERT_NEAR(y.data_as<float>()[i], 72 * double{subnormal}, 1e-42) << i;
}

/// Of a session that takes subnormal numbers for zero, whatever is around.
void expect_denormals_as_zero(const char* jit) {
  ::setenv("RONDEL_JIT", jit, 1);
  const std::map<std::string, Value> feeds{{"x", filled({1000}, tiny)}};
  SessionOptions options;
  options.denormals_as_zero = true;
  const Session session = session_of(ops, options), usual = session_of(ops);
  for (int k = 0; k < 3; ++k) {
    const auto found = session.run(feeds);
    for (const char* name : {"y", "z"})
      EXPECT_EQ(floats(found.at(name)), std::vector<float>(1000)) << name;
    EXPECT_EQ(*found.at("k").tensor().data_as<float>(), subnormal) << "computed by the compiler";
    EXPECT_EQ(floats(usual.run(feeds).at("y")), std::vector<float>(1000, subnormal));
  }
  const Session grown = session_of(
      "g (float[n] x) => (float[n] y) <float a = {1e10}> { y = Mul (x, a) }", options);
  EXPECT_EQ(floats(grown.run({{"x", filled({1000}, subnormal)}}).at("y")),
            std::vector<float>(1000));
  ::unsetenv("RONDEL_JIT");
}

TEST(Arithmetic, MayTakeDenormalsForZeroWhenInterpreted) { expect_denormals_as_zero("0"); }
TEST(Arithmetic, MayTakeDenormalsForZeroInQuickCode) { expect_denormals_as_zero("quick"); }
TEST(Arithmetic, MayTakeDenormalsForZeroInNativeCode) { expect_denormals_as_zero("2"); }

TEST(Arithmetic, OfEachHelperThreadIsThatOfTheCaller) {
  constexpr int threads = 5;
  for (const Arithmetic wanted : {Arithmetic::with_denormals_as_zero(), Arithmetic::standard(),
                                  Arithmetic::with_denormals_as_zero()}) {
    const ArithmeticScope scope(wanted);
    std::atomic<int> begun = 0, others = 0;
    ThreadPool::of_process().run(threads, threads, [&](std::int64_t) {
      ++begun;
      while (begun < threads) std::this_thread::yield();  // each part has a thread of its own
      if (!(Arithmetic::of_thread() == wanted)) ++others;
    });
    EXPECT_EQ(others, 0);
  }
}

/// The threads of the pool are shared by sessions of both kinds.
TEST(Arithmetic, OfHelperThreadsIsThatOfTheRun) {
  constexpr int threads = 5;
  start_helpers(threads);
  for (const bool zero : {true, false, true}) {
    SessionOptions options;
    options.denormals_as_zero = zero;
    const Session session = session_of(
        "g (float[n,c,h,w] x, float[m,c,3,3] w) => (float[n,m,p,q] y) { y = Conv (x, w) }",
        options);
    const std::map<std::string, Value> feeds{{"x", filled({4, 8, 64, 64}, tiny)},
                                             {"w", filled({8, 8, 3, 3}, 1e-10F)}};
    const std::vector<float> y = floats(session.run(feeds).at("y"));
    EXPECT_TRUE(std::ranges::all_of(y, [&](float v) { return (v == 0) == zero; })) << zero;
  }
}

TEST(Arithmetic, AfterAnErrorIsWhatItWas) {
  const Session session = session_of(ops);
  const FastArithmetic around;
  EXPECT_THROW((void)session.run({}), Error);
  EXPECT_TRUE(FastArithmetic::still());
}
#endif

}  // namespace
}  // namespace rondel
