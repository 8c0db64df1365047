#include "base/process_lookup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>

#include "base/child_process.h"
#include "base/file.h"
#include "base/status.h"

namespace tickstack {
namespace {

using testing::HasSubstr;

std::string Us() { return fmt::format("this process (pid {})", ::getpid()); }

TEST(ProcessLookup, FindsWhoListensOnAPort) {
  const OwnedFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof where;
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&where), size), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&where), &size), 0);
  EXPECT_EQ(DescribePortHolder(ntohs(where.sin_port)), Us());
}

TEST(ProcessLookup, FindsWhoListensOnAnIpv6Port) {
  const OwnedFd listener(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 where{};
  where.sin6_family = AF_INET6;
  where.sin6_addr = in6addr_loopback;
  socklen_t size = sizeof where;
  if (!listener.is_open() ||
      ::bind(listener.get(), reinterpret_cast<sockaddr*>(&where), size) != 0) {
    GTEST_SKIP() << "no IPv6 here";
  }
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&where), &size), 0);
  EXPECT_EQ(DescribePortHolder(ntohs(where.sin6_port)), Us());
}

TEST(ProcessLookup, FindsWhoListensOnAUnixSocket) {
  const OwnedFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const std::string name = fmt::format("@process_lookup_test.{}", ::getpid());
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  std::memcpy(where.sun_path, name.data(), name.size());
  where.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&where), size), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  EXPECT_EQ(DescribeUnixSocketHolder(name), Us());
}

TEST(ProcessLookup, SaysSoWhereNobodyIsFound) {
  EXPECT_EQ(DescribeUnixSocketHolder("@nobody.has.this"), "another process");
  EXPECT_EQ(DescribeLockHolder("/no/such/file", 1), "another process");
}

// Method: a child inherits a locked file, which only its descriptor's page in /proc reveals.
TEST(ProcessLookup, FindsWhoHoldsALockInAnotherProcess) {
  const std::string path = testing::TempDir() + fmt::format("process_lookup_test.{}", ::getpid());
  absl::StatusOr<Pipe> output = MakePipe();
  ASSERT_TRUE(output.ok());
  pid_t child = -1;
  {
    File file = File::OpenOrCreate(path).value();
    ASSERT_TRUE(file.TryLock().ok());
    ChildOptions options;
    options.command = {"/bin/sleep", "60"};
    options.output_fd = output->write.get();
    options.inherited_fds = {file.fd()};
    child = SpawnChild(options).value();
  }
  File second = File::OpenOrCreate(path).value();
  EXPECT_EQ(Message(second.TryLock()),
            fmt::format("{}: sleep (pid {}) is writing it", path, child));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(second.TryLock().ok());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tickstack
