#include "base/service_manager.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/child_process.h"
#include "base/owned_fd.h"

namespace tickstack {
namespace {

// A socket as systemd has it, and the environment that names it.
class ServiceManagerTest : public testing::Test {
 protected:
  ~ServiceManagerTest() override {
    for (const std::string_view name : kServiceManagerVariables) {
      unsetenv(std::string(name).c_str());
    }
  }

  void Listen(std::string name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name.front() == '@') address.sun_path[0] = '\0';
    socket_ = OwnedFd(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    ASSERT_EQ(0, bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address),
                      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size())));
    setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }
  std::string Received() {
    char buffer[256];
    const ssize_t bytes = recv(socket_.get(), buffer, sizeof(buffer), 0);
    return bytes < 0 ? "nothing" : std::string(buffer, static_cast<size_t>(bytes));
  }

  OwnedFd socket_;
};

TEST_F(ServiceManagerTest, SendsDatagramsToAnAbstractSocketOrAPath) {
  Listen(fmt::format("@tickstack/service_manager_test/{}", getpid()));
  ServiceManager().Notify("READY=1\nSTATUS=up");
  EXPECT_EQ(Received(), "READY=1\nSTATUS=up");
  const std::string path = fmt::format("{}/notify.{}", testing::TempDir(), getpid());
  Listen(path);
  ServiceManager().Notify("STOPPING=1");
  EXPECT_EQ(Received(), "STOPPING=1");
  std::filesystem::remove(path);
  ServiceManager().Notify("STOPPING=1");  // Only a warning: the socket is no longer there.
  EXPECT_EQ(Received(), "nothing");
}

TEST_F(ServiceManagerTest, WithoutASocketItSendsNothing) {
  setenv("WATCHDOG_USEC", "1000", 1);
  for (const char* const name : {"", "relative", "vsock:2:1"}) {
    setenv("NOTIFY_SOCKET", name, 1);
    const ServiceManager manager;
    EXPECT_FALSE(manager.listens()) << name;
    EXPECT_EQ(manager.watchdog_ns(), 0) << name;
    manager.Notify("READY=1");
  }
}

TEST_F(ServiceManagerTest, TheWatchdogIsThatOfThisProcess) {
  setenv("NOTIFY_SOCKET", "@tickstack", 1);
  EXPECT_EQ(ServiceManager().watchdog_ns(), 0);
  setenv("WATCHDOG_USEC", "30000000", 1);
  EXPECT_EQ(ServiceManager().watchdog_ns(), 30'000'000'000);
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  EXPECT_EQ(ServiceManager().watchdog_ns(), 30'000'000'000);
  setenv("WATCHDOG_PID", std::to_string(getppid()).c_str(), 1);
  EXPECT_EQ(ServiceManager().watchdog_ns(), 0);
  unsetenv("WATCHDOG_PID");
  for (const char* const wrong : {"", "-5", "30s", "99999999999999999999", "9223372036854775807"}) {
    setenv("WATCHDOG_USEC", wrong, 1);
    EXPECT_EQ(ServiceManager().watchdog_ns(), 0) << wrong;
  }
}

// A child that found them would speak for its parent.
TEST_F(ServiceManagerTest, ChildrenDoNotHaveItsVariables) {
  for (const std::string_view name : kServiceManagerVariables) {
    setenv(std::string(name).c_str(), "1", 1);
  }
  setenv("TICKSTACK_KEPT", "1", 1);
  const Pipe output = MakePipe().value();
  ChildOptions child;
  child.command = {"/usr/bin/env"};
  child.output_fd = output.write.get();
  const pid_t pid = SpawnChild(child).value();
  int wait_status = 0;
  ASSERT_EQ(waitpid(pid, &wait_status, 0), pid);
  EXPECT_EQ(wait_status, 0);
  char buffer[65536];
  const ssize_t bytes = read(output.read.get(), buffer, sizeof(buffer));
  const std::string text(buffer, static_cast<size_t>(std::max<ssize_t>(bytes, 0)));
  unsetenv("TICKSTACK_KEPT");
  EXPECT_NE(text.find("TICKSTACK_KEPT=1"), std::string::npos);
  for (const std::string_view name : kServiceManagerVariables) {
    EXPECT_EQ(text.find(name), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace tickstack
