#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace rondel {
namespace {

ThreadPool& pool() { return ThreadPool::of_process(); }

/// How often each of `parts` parts was run, with so many threads.
std::vector<int> runs_of(std::int64_t parts, int threads) {
  std::vector<std::atomic<int>> runs(static_cast<std::size_t>(parts));
  pool().run(threads, parts, [&](std::int64_t k) { ++runs[static_cast<std::size_t>(k)]; });
  return {runs.begin(), runs.end()};
}

TEST(ThreadPool, EachPartRunsOnce) {
  for (const int threads : {1, 2, 3, 8})
    for (const std::int64_t parts : {0, 1, 2, 7, 1000})
      EXPECT_EQ(runs_of(parts, threads), std::vector<int>(static_cast<std::size_t>(parts), 1))
          << parts << " parts, " << threads << " threads";
}

/// A part ends only when another one has begun, so two threads must be at work.
TEST(ThreadPool, OthersHelp) {
  std::atomic<int> begun = 0;
  pool().run(2, 2, [&](std::int64_t) {
    ++begun;
    while (begun < 2) std::this_thread::yield();
  });
  EXPECT_EQ(begun, 2);
}

TEST(ThreadPool, OneThreadRunsThePartsInOrder) {
  std::vector<std::int64_t> order;
  pool().run(1, 4, [&](std::int64_t k) { order.push_back(k); });
  EXPECT_EQ(order, (std::vector<std::int64_t>{0, 1, 2, 3}));
}

TEST(ThreadPool, AtMostSoManyThreadsAreInside) {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  pool().run(3, 500, [&](std::int64_t) {
    const std::lock_guard lock(mutex);
    seen.insert(std::this_thread::get_id());
  });
  EXPECT_LE(seen.size(), 3U);
}

TEST(ThreadPool, APartRunsItsOwnPartsAlone) {
  std::atomic<int> elsewhere = 0;
  pool().run(3, 6, [&](std::int64_t) {
    const auto self = std::this_thread::get_id();
    pool().run(3, 6, [&](std::int64_t) { elsewhere += std::this_thread::get_id() != self; });
  });
  EXPECT_EQ(elsewhere, 0);
}

TEST(ThreadPool, TheExceptionOfTheLeastPartIsThrown) {
  for (const int threads : {1, 2, 3, 8})
    for (int round = 0; round < 50; ++round) {
      std::string caught;
      try {
        pool().run(threads, 40, [](std::int64_t k) {
          if (k >= 5 && k % 5 == 0) throw std::runtime_error(std::to_string(k));
        });
      } catch (const std::runtime_error& error) { caught = error.what(); }
      EXPECT_EQ(caught, "5");
    }
}

TEST(ThreadPool, PartsAfterAnExceptionDoNotBegin) {
  std::atomic<int> begun = 0;
  EXPECT_THROW(pool().run(2, 1000,
                          [&](std::int64_t) {
                            ++begun;
                            throw std::runtime_error("a part");
                          }),
               std::runtime_error);
  EXPECT_LE(begun, 2);
}

TEST(ThreadPool, ManyCallersShareIt) {
  std::vector<std::thread> callers;
  std::atomic<std::int64_t> sum = 0;
  for (int c = 0; c < 6; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        const ThreadPool::Turn turn;
        pool().run(4, 8, [&](std::int64_t k) { sum += k; });
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, 6 * 200 * 28);
}

/// The threads of the parent are not there.
TEST(ThreadPool, AChildOfAForkHasThreadsOfItsOwn) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer supports no threads of a child of fork";
#endif
  EXPECT_EQ(runs_of(8, 3), std::vector<int>(8, 1));
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<int> begun = 0;
    pool().run(2, 2, [&](std::int64_t) {
      ++begun;
      while (begun < 2) std::this_thread::yield();
    });
    _exit(begun == 2 ? 7 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

}  // namespace
}  // namespace rondel
