// Goal: the starter of a process learns that it answers, and that its loop still runs. Method: both
// ends of the pipe, or of the socket, are this test's.

#include "wire/heartbeat.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "base/child_process.h"

namespace tickstack::wire {
namespace {

using namespace std::chrono_literals;

// Returns what is in a pipe or socket; "" if it is empty.
std::string Available(const OwnedFd& fd) {
  char buffer[4096];
  ::fcntl(fd.get(), F_SETFL, O_NONBLOCK);
  const ssize_t bytes = ::read(fd.get(), buffer, sizeof(buffer));
  return bytes < 0 ? "" : std::string(buffer, static_cast<size_t>(bytes));
}

// Runs the loop until the pipe has something, for at most a minute; returns that.
std::string Next(EventLoop& loop, const OwnedFd& fd) {
  std::string text;
  loop.RunUntil([&] { return !(text = Available(fd)).empty(); }, 60s);
  return text;
}

TEST(Heartbeat, WithoutAnIntervalItReportsOnceAndClosesThePipe) {
  EventLoop loop;
  Pipe pipe = MakePipe().value();
  ListenerOptions listener{.ready_fd = pipe.write.Release()};
  const Heartbeat heartbeat(loop, listener);
  EXPECT_EQ(listener.ready_fd, -1);
  EXPECT_EQ(Available(pipe.read), "ready\n");
  char byte = 0;
  EXPECT_EQ(::read(pipe.read.get(), &byte, 1), 0);  // The end: it is closed.
}

TEST(Heartbeat, BeatsWhileTheLoopRuns) {
  EventLoop loop;
  Pipe pipe = MakePipe().value();
  ListenerOptions listener{.ready_fd = pipe.write.Release(), .heartbeat_ms = 5};
  const Heartbeat heartbeat(loop, listener);
  EXPECT_EQ(Available(pipe.read), "ready\n");
  EXPECT_EQ(Next(loop, pipe.read), "alive\n");
  EXPECT_EQ(Next(loop, pipe.read), "alive\n");
  // A loop that does not run does not beat, however long that takes.
  ::usleep(50'000);
  EXPECT_EQ(Available(pipe.read), "");
}

// A parent that is stopped does not read. The loop must not wait for it.
TEST(Heartbeat, AFullPipeBlocksNobody) {
  EventLoop loop;
  Pipe pipe = MakePipe().value();
  ::fcntl(pipe.write.get(), F_SETPIPE_SZ, 4096);
  const std::string full(4090, 'x');
  ASSERT_EQ(::write(pipe.write.get(), full.data(), full.size()), 4090);
  ListenerOptions listener{.ready_fd = pipe.write.Release(), .heartbeat_ms = 1};
  const Heartbeat heartbeat(loop, listener);
  int turns = 0;
  Timer timer(loop);
  timer.Every(2ms, [&turns] { ++turns; });
  EXPECT_TRUE(loop.RunUntil([&turns] { return turns == 10; }, 60s));
}

TEST(Heartbeat, AParentThatIsDeadDoesNotEndTheProcess) {
  EventLoop loop;
  Pipe pipe = MakePipe().value();
  ListenerOptions listener{.ready_fd = pipe.write.Release(), .heartbeat_ms = 1};
  const Heartbeat heartbeat(loop, listener);
  pipe.read.Reset();
  int turns = 0;
  Timer timer(loop);
  timer.Every(2ms, [&turns] { ++turns; });
  EXPECT_TRUE(loop.RunUntil([&turns] { return turns == 10; }, 60s));
}

TEST(Heartbeat, TheServiceManagerIsToldTheSame) {
  const std::string name = fmt::format("@tickstack/heartbeat_test/{}", ::getpid());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data() + 1, name.size() - 1);
  const OwnedFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                   static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size())),
            0);
  ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  ::setenv("WATCHDOG_USEC", "10000", 1);
  EventLoop loop;
  ListenerOptions listener;
  std::optional<Heartbeat> heartbeat(std::in_place, loop, listener);
  ::unsetenv("NOTIFY_SOCKET");
  ::unsetenv("WATCHDOG_USEC");
  EXPECT_EQ(Available(socket), "READY=1\nSTATUS=answers");
  EXPECT_EQ(Available(socket), "");
  EXPECT_EQ(Next(loop, socket), "WATCHDOG=1");
  EXPECT_EQ(Next(loop, socket), "WATCHDOG=1");
  heartbeat.reset();
  EXPECT_EQ(Available(socket), "STOPPING=1\nSTATUS=stopped");
}

}  // namespace
}  // namespace tickstack::wire
