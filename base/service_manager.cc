#include "base/service_manager.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "base/logging.h"
#include "base/owned_fd.h"
#include "base/time.h"

namespace tickstack {
namespace {

std::string_view Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

// Returns the number that a text is; 0 if it is not one.
int64_t NumberOf(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

// Sends one datagram; returns an errno, 0 if it was sent.
int Send(const std::string& socket_path, std::string_view message) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof(address.sun_path)) return ENAMETOOLONG;
  std::memcpy(address.sun_path, socket_path.data(), socket_path.size());
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
  const OwnedFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) return errno;
  const timeval at_most{1, 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &at_most, sizeof(at_most));
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_path.size());
  const ssize_t sent = sendto(fd.get(), message.data(), message.size(), MSG_NOSIGNAL,
                              reinterpret_cast<const sockaddr*>(&address), bytes);
  return sent < 0 ? errno : 0;
}

}  // namespace

ServiceManager::ServiceManager() : socket_(Variable("NOTIFY_SOCKET")) {
  if (!socket_.starts_with('/') && !socket_.starts_with('@')) socket_.clear();
  const std::string_view pid = Variable("WATCHDOG_PID");
  const int64_t usec = NumberOf(Variable("WATCHDOG_USEC"));
  const bool is_meant = pid.empty() || NumberOf(pid) == getpid();
  // No watchdog is useful after years; more microseconds would not fit into nanoseconds.
  constexpr int64_t kUsecMax = int64_t{1} << 48;
  if (listens() && is_meant && usec > 0 && usec < kUsecMax) watchdog_ns_ = usec * 1000;
}

void ServiceManager::Notify(std::string_view message) const {
  if (!listens()) return;
  const int error = Send(socket_, message);
  static LogLimit limit(60 * kNsPerSecond);
  if (error != 0 && limit.Pass()) {
    LogWarn("the service manager was not told socket={} message=\"{}\" error=\"{}\"", socket_,
            message, std::strerror(error));
  }
}

}  // namespace tickstack
