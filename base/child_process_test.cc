#include "base/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tickstack {
namespace {

TEST(DieWithParent, EndsTheProcessWhenThePipeCloses) {
  absl::StatusOr<Pipe> lifeline = MakePipe();
  ASSERT_TRUE(lifeline.ok());
  const pid_t child = fork();
  if (child == 0) {
    lifeline->write.Reset();
    DieWithParent(lifeline->read.get());
    for (;;) pause();
  }
  EXPECT_EQ(waitpid(child, nullptr, WNOHANG), 0);
  lifeline->write.Reset();
  int wait_status = 0;
  ASSERT_EQ(waitpid(child, &wait_status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(wait_status));
  EXPECT_EQ(WTERMSIG(wait_status), SIGTERM);
}

}  // namespace
}  // namespace tickstack
