#include "base/lru_cache.h"

#include "base/error.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace rondel {
namespace {

/// A cache of numbers that counts the values it computes.
struct Counting {
  explicit Counting(std::size_t most) : cache(most) {}
  int get(std::int64_t key) {
    return *cache.get({key}, [&] {
      ++made;
      return static_cast<int>(key) * 10;
    });
  }
  LruCache<int> cache;
  int made = 0;
};

TEST(LruCache, WhatWasAskedForLongestAgoGoesFirst) {
  Counting c(3);
  for (const std::int64_t k : {1, 2, 3}) EXPECT_EQ(c.get(k), k * 10);
  EXPECT_EQ(c.get(1), 10);
  EXPECT_EQ(c.made, 3);
  EXPECT_EQ(c.get(4), 40);  // evicts 2
  for (const std::int64_t k : {1, 3, 4}) c.get(k);
  EXPECT_EQ(c.made, 4);
  c.get(2);
  EXPECT_EQ(c.made, 5);
}

TEST(LruCache, ManyMoreKeysThanItHoldsAreAllAnswered) {
  Counting c(64);
  for (int round = 0; round < 2; ++round)
    for (std::int64_t k = 0; k < 1000; ++k) ASSERT_EQ(c.get(k), k * 10);
  EXPECT_EQ(c.made, 2000);
}

TEST(LruCache, WhatIsHeldOutlivesItsPlace) {
  LruCache<int> cache(1);
  const auto held = cache.get({1}, [] { return 7; });
  cache.get({2}, [] { return 8; });
  EXPECT_EQ(*held, 7);
}

TEST(LruCache, KeysOfOtherLengthsAreOthers) {
  LruCache<int> cache;
  EXPECT_EQ(*cache.get({}, [] { return 1; }), 1);
  EXPECT_EQ(*cache.get({0}, [] { return 2; }), 2);
  EXPECT_EQ(*cache.get({0, 0}, [] { return 3; }), 3);
}

TEST(LruCache, NothingIsKeptOfWhatFailed) {
  LruCache<int> cache;
  EXPECT_THROW(cache.get({1}, []() -> int { fail("no"); }), Error);
  EXPECT_EQ(*cache.get({1}, [] { return 5; }), 5);
}

TEST(LruCache, WhoAsksForSomethingElseDoesNotWait) {
  LruCache<int> cache;
  std::atomic<bool> begun = false, end = false;
  std::thread slow([&] {
    cache.get({1}, [&] {
      begun = true;
      while (!end) std::this_thread::yield();
      return 1;
    });
  });
  while (!begun) std::this_thread::yield();
  EXPECT_EQ(*cache.get({2}, [] { return 2; }), 2);
  end = true;
  slow.join();
  EXPECT_EQ(*cache.get({1}, [] { return 9; }), 1);
}

TEST(LruCache, ManyThreadsMakeEachThingOnce) {
  LruCache<int> cache;
  std::atomic<int> made = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (std::int64_t k = 0; k < 50; ++k)
        EXPECT_EQ(*cache.get({k}, [&] { return ++made, static_cast<int>(k); }), k);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(made, 50);
}

}  // namespace
}  // namespace rondel
