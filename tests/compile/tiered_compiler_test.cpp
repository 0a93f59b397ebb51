#include "compile/tiered_compiler.h"

#include "compile/code_cache.h"
#include "compile/tiered_executable.h"
#include "scalar/builder.h"
#include "scalar/run.h"

#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <thread>

namespace rondel::compile {
namespace {

using scalar::Ex;

/// y[i] = x[i] + by for i in [0, n); requires x[i] >= 0.
std::shared_ptr<const scalar::Program> adding(const std::string& name, double by,
                                              std::int64_t n = 4) {
  scalar::Builder b(name);
  const auto x = b.buffer({name + " x", DType::f32, scalar::Access::in, {n}});
  const auto y = b.buffer({name + " y", DType::f32, scalar::Access::out, {n}});
  b.for_each(b.index(0), b.index(n), [&](Ex i) {
    const Ex element = b.load(x, {i});
    b.check(b.constant(DType::f32, 0.0) <= element, name + ": element {} is negative", {i});
    b.store(y, {i}, element + b.constant(DType::f32, by));
  });
  return b.finish();
}

struct Ran {
  scalar::Status status;
  Tensor y;
  std::string failure;
};

Ran run(const scalar::Executable& code, std::vector<float> elements = {0, 1, 2, 3}) {
  const auto n = static_cast<std::int64_t>(elements.size());
  const Tensor x = Tensor::from<float>({n}, std::span<const float>(elements));
  Ran ran{0, Tensor::zeros(DType::f32, {n}), {}};
  scalar::Context context;
  ran.status = scalar::run(code, context, {x, ran.y});
  if (ran.status > 0) ran.failure = scalar::failure(code.program(), context, ran.status).what();
  return ran;
}

class CodeOf : public ::testing::TestWithParam<Execution> {};
INSTANTIATE_TEST_SUITE_P(Executions, CodeOf,
                         ::testing::Values(Execution::tiered, Execution::compiled));

TEST_P(CodeOf, programs_that_do_the_same_fail_in_their_own_words) {
  TieredCompiler compiler(GetParam());
  const auto a = compiler.make(adding("one", 1)), b = compiler.make(adding("another", 1));
  for (const auto& [made, name] : {std::pair(a, "one"), std::pair(b, "another")}) {
    EXPECT_EQ(made->program().name, name);
    EXPECT_EQ(run(*made).y.data_as<float>()[3], 4);
    EXPECT_EQ(run(*made, {0, 1, -2, 3}).failure, std::string(name) + ": element 2 is negative");
  }
}

TEST_P(CodeOf, programs_that_do_something_else_have_code_of_their_own) {
  TieredCompiler compiler(GetParam());
  const auto a = compiler.make(adding("p", 1)), b = compiler.make(adding("p", 2)),
             c = compiler.make(adding("p", 1, 5));
  EXPECT_EQ(run(*a).y.data_as<float>()[3], 4);
  EXPECT_EQ(run(*b).y.data_as<float>()[3], 5);
  EXPECT_EQ(run(*c, {0, 1, 2, 3, 4}).y.data_as<float>()[4], 5);
}

TEST(TieredCompiler, what_one_program_has_got_compiled_all_that_do_the_same_have) {
  SharedCode code(SharedCode::Tier::optimised);
  TieredCompiler compiler(Execution::tiered, code), other(Execution::tiered, code);
  const auto a = compiler.make(adding("one", 1));
  EXPECT_FALSE(a->native());
  for (int waited = 0; waited < 10'000 && !a->native(); ++waited) {
    for (int k = 0; k < 1'000; ++k) run(*a);  // until it is hot
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(a->native());
  EXPECT_TRUE(compiler.make(adding("another", 1))->native());
  EXPECT_TRUE(other.make(adding("another", 1))->native());
  EXPECT_FALSE(compiler.make(adding("another", 2))->native());
}

/// Whether the executable has the best code that it will have.
bool settled(const scalar::Executable& code) {
  return dynamic_cast<const TieredExecutable&>(code).settled();
}

/// A program that takes LLVM a second or more to optimise: one long chain for each element.
std::shared_ptr<const scalar::Program> long_program(int length, double by) {
  scalar::Builder b("long");
  const auto x = b.buffer({"x", DType::f32, scalar::Access::in, {64}});
  const auto y = b.buffer({"y", DType::f32, scalar::Access::out, {64}});
  b.for_each(b.index(0), b.index(64), [&](Ex i) {
    const Ex element = b.load(x, {i});
    Ex sum = element;
    const Ex step = b.constant(DType::f32, by);
    for (int k = 0; k < length; ++k) sum = (sum + element * step) / (element * element + sum);
    b.store(y, {i}, sum);
  });
  return b.finish();
}

TEST(TieredCompiler, quick_code_comes_before_optimised_code) {
  SharedCode code(SharedCode::Tier::optimised);
  const auto program = TieredCompiler(Execution::tiered, code).make(long_program(5'000, 1.0));
  const std::vector<float> elements(64, 1.0F);
  const float interpreted = run(*program, elements).y.data_as<float>()[0];
  for (int waited = 0; waited < 20'000 && !program->native(); ++waited) {
    run(*program, elements);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ASSERT_TRUE(program->native());
  EXPECT_FALSE(settled(*program)) << "LLVM needs a second or more for the optimised code";
  EXPECT_EQ(run(*program, elements).y.data_as<float>()[0], interpreted);
}

TEST(TieredExecutable, each_tier_replaces_the_one_before) {
  using Tier = TieredExecutable::Tier;
  TieredExecutable code(adding("p", 1), Tier::optimised);
  std::vector<Tier> wanted;
  code.on_hot = [&](Tier t) { wanted.push_back(t); };
  const auto run_until_wanted = [&](std::size_t count) {
    while (wanted.size() < count) run(code);
  };
  run_until_wanted(1);
  EXPECT_EQ(wanted.back(), Tier::quick);
  EXPECT_TRUE(!code.native() && !code.settled());
  code.replace(Tier::quick, scalar::interpret(adding("p", 2)));
  EXPECT_TRUE(code.native() && !code.settled());
  EXPECT_EQ(run(code).y.data_as<float>()[0], 2);
  run_until_wanted(2);
  EXPECT_EQ(wanted.back(), Tier::optimised);
  code.replace(Tier::optimised, scalar::interpret(adding("p", 3)));
  EXPECT_TRUE(code.native() && code.settled());
  EXPECT_EQ(run(code).y.data_as<float>()[0], 3);
  code.replace(Tier::quick, scalar::interpret(adding("p", 4)));
  EXPECT_EQ(run(code).y.data_as<float>()[0], 3) << "quick code that comes late is not used";
}

TEST(TieredExecutable, a_program_that_was_cancelled_is_wanted_again) {
  using Tier = TieredExecutable::Tier;
  TieredExecutable code(adding("p", 1), Tier::optimised);
  std::size_t wanted = 0;
  code.on_hot = [&](Tier t) { wanted += t == Tier::optimised; };
  while (wanted < 1) run(code);
  code.cancelled();
  while (wanted < 2) run(code);
}

/// How many times as long as alone this thread takes now to compute for 20 ms: 1 on a machine that
/// is not busy.
double slowdown() {
  const auto own = [] {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  const auto begin = std::chrono::steady_clock::now();
  const double before = own();
  while (own() - before < 0.02) {}
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return took.count() / (own() - before);
}

TEST(TieredCompiler, one_that_goes_does_not_wait_for_what_is_being_compiled) {
  auto code = std::make_unique<SharedCode>(SharedCode::Tier::optimised);
  const auto program = TieredCompiler(Execution::tiered, *code).make(long_program(5'000, 1.0));
  const std::vector<float> elements(64, 1.0F);
  // Until it is hot, and no longer: a sanitizer slows the interpreter, but not LLVM.
  const auto first = std::chrono::steady_clock::now();
  do run(*program, elements);
  while (std::chrono::steady_clock::now() - first < std::chrono::milliseconds(20));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ASSERT_FALSE(settled(*program));
  const auto begin = std::chrono::steady_clock::now();
  code.reset();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took.count(), 0.1 * slowdown());
  EXPECT_EQ(run(*program, elements).y.data_as<float>()[0],
            run(*program, elements).y.data_as<float>()[63]);
}

TEST(TieredCompiler, code_that_nobody_uses_is_kept_and_used_again) {
  SharedCode code(SharedCode::Tier::quick);
  TieredCompiler compiler(Execution::quick, code);
  const std::weak_ptr<const scalar::Executable> made = compiler.make(adding("one", 1));
  EXPECT_FALSE(made.expired());
  const auto again = TieredCompiler(Execution::tiered, code).make(adding("another", 1));
  EXPECT_TRUE(again->native()) << "without compiling: it would be interpreted at first";
  EXPECT_EQ(run(*made.lock()).y.data_as<float>()[0], 1);
}

TEST(TieredCompiler, what_is_kept_of_programs_that_nobody_has_is_bounded) {
  SharedCode code(SharedCode::Tier::quick);
  TieredCompiler compiler(Execution::quick, code);
  const std::weak_ptr<const scalar::Executable> first = compiler.make(adding("one", 1000));
  for (std::size_t k = 0; k < CodeCache::most_kept; ++k) {
    EXPECT_FALSE(first.expired());
    const auto by = static_cast<double>(k);
    EXPECT_EQ(run(*compiler.make(adding("p", by))).y.data_as<float>()[0], static_cast<float>(by));
  }
  EXPECT_TRUE(first.expired());
}

/// The optimised code of this program is being made, after its quick code.
std::shared_ptr<const scalar::Executable> half_compiled(SharedCode& code, double by) {
  auto program = TieredCompiler(Execution::tiered, code).make(long_program(5'000, by));
  const std::vector<float> elements(64, 1.0F);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!program->native() && std::chrono::steady_clock::now() < end) run(*program, elements);
  for (int k = 0; k < 100; ++k) run(*program, elements);
  EXPECT_TRUE(program->native() && !settled(*program));
  return program;
}

TEST(TieredCompiler, quick_code_alone_is_not_kept) {
  SharedCode code(SharedCode::Tier::optimised);
  const std::weak_ptr<const scalar::Executable> gone = half_compiled(code, 1.0);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (!gone.expired() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(gone.expired()) << "its optimised code is still being made for nobody";
}

TEST(TieredCompiler, quick_code_does_not_wait_for_optimised_code_of_others) {
  SharedCode code(SharedCode::Tier::optimised);
  const auto one = half_compiled(code, 1.0), two = half_compiled(code, 2.0);
  const auto small = TieredCompiler(Execution::tiered, code).make(adding("small", 1));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!small->native() && std::chrono::steady_clock::now() < end) run(*small);
  EXPECT_TRUE(small->native());
  EXPECT_FALSE(settled(*two)) << "of optimised code only one is made at a time";
}

TEST(TieredCompiler, what_was_interpreted_only_is_not_kept) {
  SharedCode code(SharedCode::Tier::optimised);
  const std::weak_ptr<const scalar::Executable> made =
      TieredCompiler(Execution::tiered, code).make(adding("one", 1));
  EXPECT_TRUE(made.expired());
}

/// A program that takes long to compile: y[0] is x[0] after `trips` times `length` different steps.
std::shared_ptr<const scalar::Program> long_loop(int length) {
  scalar::Builder b("long");
  const auto x = b.buffer({"x", DType::f64, scalar::Access::in, {1}});
  const auto y = b.buffer({"y", DType::f64, scalar::Access::out, {1}});
  const Ex trips = b.param();
  const auto last = b.for_(b.index(0), trips, {b.load(x, {b.index(0)})},
                           [&](Ex, std::span<const Ex> carried) {
                             Ex v = carried[0];
                             for (int k = 0; k < length; ++k)
                               v = sqrt(v * v + b.constant(DType::f64, 1.0 + k)) - v / (v + 1);
                             return std::vector<Ex>{v};
                           });
  b.store(y, {b.index(0)}, last[0]);
  return b.finish();
}

std::size_t compiling_threads() {
  std::size_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    count += name == "rondel-compile" ? 1 : 0;
  }
  return count;
}

TEST(TieredCompiler, a_large_run_waits_for_what_is_being_compiled_already) {
  // Threads of other tests end by themselves, and a new one has its name a moment after it began.
  for (int k = 0; k < 1000 && compiling_threads() > 0; ++k)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const std::size_t before = compiling_threads();
  SharedCode shared(SharedCode::Tier::optimised);
  TieredCompiler compiler(Execution::tiered, shared);
  const auto code = compiler.make(long_loop(3000));
  const auto run_for = [&](std::int64_t trips) {
    const Tensor x = Tensor::from<double>({1}, {1.0}), y = Tensor::zeros(DType::f64, {1});
    scalar::Context context;
    scalar::run(*code, context, {x, y}, {trips});
  };
  while (compiling_threads() == before && !code->native()) run_for(10);  // until it is hot
  run_for(2'000);
  EXPECT_TRUE(code->native());
  EXPECT_LE(compiling_threads(), before + 1);
}

}  // namespace
}  // namespace rondel::compile
