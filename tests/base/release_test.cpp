#include "base/release.h"

#include "base/block.h"
#include "base/cancellation.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace rondel {
namespace {

TEST(Release, HappensOnAnotherThreadAndIsWaitedFor) {
  std::atomic<int> released{0};
  std::thread::id where;
  for (int k = 0; k < 3; ++k)
    release_later(&released, [&where](std::atomic<int>* count) {
      where = std::this_thread::get_id();
      ++*count;
    });
  wait_for_releases();
  EXPECT_EQ(released, 3);
  EXPECT_NE(where, std::this_thread::get_id());
}

TEST(Release, WhatIsReleasedMayReleaseMore) {
  std::atomic<int> released{0};
  release_later(&released, [](std::atomic<int>* count) {
    release_later(count, [](std::atomic<int>* c) { ++*c; });
    ++*count;
  });
  wait_for_releases();  // waits for entries queued so far: the first one queues the second
  wait_for_releases();
  EXPECT_EQ(released, 2);
}

TEST(Release, AChildOfForkNeitherWaitsForItsParentsNorIsWithoutItsOwn) {
  std::atomic<bool> go{false};
  release_later(&go, [](std::atomic<bool>* g) {
    while (!*g) std::this_thread::yield();
  });
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    wait_for_releases();
    std::atomic<int> released{0};
    release_later(&released, [](std::atomic<int>* count) { ++*count; });
    wait_for_releases();
    _exit(released == 1 ? 0 : 1);
  }
  go = true;
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  wait_for_releases();
}

TEST(Release, AWaitEndsWithTheRun) {
  std::atomic<bool> go{false};
  release_later(&go, [](std::atomic<bool>* g) {
    while (!*g) std::this_thread::yield();
  });
  {
    const CancellationScope ended([](const void*) { throw Error(Blame::deadline, "now"); },
                                  nullptr);
    EXPECT_THROW(take_block(2 * least_released_later), Error);
    give_back_block(take_block(100), 100);  // a small block does not wait
  }
  go = true;
  wait_for_releases();
}

TEST(ResumableWork, CancelledWorkIsFinishedTheNextTime) {
  ResumableWork resumable;
  int begun = 0;
  const auto work = [&] {
    ++begun;
    check_cancellation();
    return begun;
  };
  const CancellationScope ended([](const void*) { throw Error(Blame::deadline, "now"); }, nullptr);
  EXPECT_THROW(resumable.run(work), Error);
  EXPECT_EQ(resumable.run(work), 2);
  EXPECT_THROW(resumable.run(work), Error);
}

TEST(Block, LargeOnesComeAndGoLikeSmallOnes) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}, 2 * least_released_later}) {
    void* block = take_block(bytes);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0U);
    give_back_block(block, bytes);
  }
  give_back_block(nullptr, 5);
  wait_for_releases();
  EXPECT_EQ(take_block(~std::size_t{0}), nullptr);
}

}  // namespace
}  // namespace rondel
