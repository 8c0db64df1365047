#include "wire/readable_watch.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <optional>

#include "base/owned_fd.h"

namespace tickstack::wire {
namespace {

class ReadableWatchTest : public testing::Test {
 protected:
  ReadableWatchTest() {
    std::array<int, 2> fds{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds.data()), 0);
    near_ = OwnedFd(fds[0]);
    far_ = OwnedFd(fds[1]);
  }
  void Send() const { EXPECT_EQ(write(far_.get(), "x", 1), 1); }
  void Take() const {
    char byte = 0;
    EXPECT_EQ(read(near_.get(), &byte, 1), 1);
  }
  void RunAll() {
    while (loop_.RunReady()) {
    }
  }

  EventLoop loop_;
  OwnedFd near_, far_;
};

TEST_F(ReadableWatchTest, CallsAgainWhileThereIsSomethingToRead) {
  int calls = 0;
  const ReadableWatch watch(loop_, near_.get(), [&] {
    ++calls;
    Take();
  });
  RunAll();
  EXPECT_EQ(calls, 0);
  Send();
  Send();  // The first call leaves it.
  RunAll();
  EXPECT_EQ(calls, 2);
  Send();
  RunAll();
  EXPECT_EQ(calls, 3);
}

TEST_F(ReadableWatchTest, EndsWithinItsFunctionAndLeavesTheDescriptorOpen) {
  int calls = 0;
  std::optional<ReadableWatch> watch;
  watch.emplace(loop_, near_.get(), [&] {
    ++calls;
    watch.reset();
  });
  Send();
  RunAll();
  EXPECT_EQ(calls, 1);
  Take();
  Send();
  RunAll();
  EXPECT_EQ(calls, 1);
  Take();
}

}  // namespace
}  // namespace tickstack::wire
