#include "base/fork.h"

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace rondel {
namespace {

/// The exit status of a child that exits at once.
int fork_and_wait() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

/// The process forks during the construction of this object, before `count` exists, and later.
struct Counting : ForkAware {
  void before_fork() override { ++*count; }
  void after_fork_in_parent() override { ++*count; }
  void after_fork_in_child() override {}

  int while_made = fork_and_wait();
  int* count = new int(0);
  ForkRegistration registration{*this};
};

TEST(Fork, CallsNoObjectThatIsNotMadeYet) {
  const Counting object;
  EXPECT_EQ(object.while_made, 0);
  EXPECT_EQ(*object.count, 0);
  EXPECT_EQ(fork_and_wait(), 0);
  EXPECT_EQ(*object.count, 2);
  delete object.count;
}

TEST(Fork, CallsNoObjectThatIsGone) {
  int* count = nullptr;
  {
    const Counting object;
    count = object.count;
  }
  EXPECT_EQ(fork_and_wait(), 0);
  EXPECT_EQ(*count, 0);
  delete count;
}

}  // namespace
}  // namespace rondel
