#include "loadtest/bare_relay.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/status.h"
#include "base/time.h"

namespace tickstack::loadtest {
namespace {

// About as many bytes as a message with one row of quote.
using Tick = std::array<std::byte, 128>;
// The file is overwritten from its start after this many bytes.
constexpr uint64_t kFileBytes = uint64_t{1} << 20;

// Two ends of a TCP connection over loopback.
absl::Status Connect(OwnedFd& client, OwnedFd& server) {
  const auto failed = [](const char* what) { return ErrnoStatus(errno, what); };
  const OwnedFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (!listener.is_open() || ::bind(listener.get(), any, size) != 0 ||
      ::listen(listener.get(), 1) != 0 || ::getsockname(listener.get(), any, &size) != 0) {
    return failed("listen on loopback");
  }
  client = OwnedFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!client.is_open() || ::connect(client.get(), any, size) != 0) return failed("connect");
  server = OwnedFd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!server.is_open()) return failed("accept");
  // Another process may have connected first: every process of the machine can reach the port.
  sockaddr_in peer = {}, own = {};
  socklen_t peer_size = sizeof peer, own_size = sizeof own;
  if (::getpeername(server.get(), reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0 ||
      ::getsockname(client.get(), reinterpret_cast<sockaddr*>(&own), &own_size) != 0) {
    return failed("getpeername");
  }
  if (peer.sin_port != own.sin_port) return Unavailable("the relay's port was taken by another");
  const int on = 1;
  for (const OwnedFd* end : {&client, &server}) {
    if (::setsockopt(end->get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) {
      return failed("TCP_NODELAY");
    }
  }
  return absl::OkStatus();
}

bool SendAll(int socket, const Tick& message) {
  for (size_t at = 0; at < message.size();) {
    const ssize_t sent = ::send(socket, message.data() + at, message.size() - at, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += static_cast<size_t>(sent);
  }
  return true;
}

bool ReceiveAll(int socket, Tick& message) {
  for (size_t at = 0; at < message.size();) {
    const ssize_t got = ::recv(socket, message.data() + at, message.size() - at, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += static_cast<size_t>(got);
  }
  return true;
}

}  // namespace

absl::StatusOr<std::unique_ptr<BareRelay>> BareRelay::Start(const std::string& path) {
  std::unique_ptr<BareRelay> relay(new BareRelay);
  TS_ASSIGN_OR_RETURN(relay->file_, File::Create(path));
  TS_RETURN_IF_ERROR(Connect(relay->send_, relay->relay_in_));
  TS_RETURN_IF_ERROR(Connect(relay->relay_out_, relay->receive_));
  relay->first_due_ns_ = MonotonicNs();
  relay->receiver_ = std::thread([at = relay.get()] { at->Receive(); });
  relay->relay_ = std::thread([at = relay.get()] { at->Relay(); });
  relay->sender_ = std::thread([at = relay.get()] { at->Send(); });
  return relay;
}

BareRelay::~BareRelay() {
  Stop();
  if (file_.is_open()) ::unlink(file_.path().c_str());
}

Histogram BareRelay::Stop() {
  end_ns_.store(MonotonicNs(), std::memory_order_relaxed);  // Relaxed: it publishes no other data.
  for (std::thread* thread : {&sender_, &relay_, &receiver_}) {
    if (thread->joinable()) thread->join();
  }
  return std::move(latency_);
}

// A message that could not be sent in time is sent late, as a feed's ticks are, and none is
// skipped: each message behind it keeps its own due time.
void BareRelay::Send() {
  Tick message = {};
  int64_t due_ns = first_due_ns_;
  while (due_ns <= end_ns_.load(std::memory_order_relaxed)) {
    const int64_t wait_ns = due_ns - MonotonicNs();
    if (wait_ns > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(wait_ns));
    std::memcpy(message.data(), &due_ns, sizeof due_ns);
    if (!SendAll(send_.get(), message)) break;
    due_ns += kIntervalNs;
  }
  send_.Reset();
}

void BareRelay::Relay() {
  Tick message;
  uint64_t at = 0;
  while (ReceiveAll(relay_in_.get(), message)) {
    // A full disk ends the relay, not the test: fewer messages are counted.
    if (!file_.WriteAt(at, message).ok() || !SendAll(relay_out_.get(), message)) break;
    at = (at + message.size()) % kFileBytes;
  }
  relay_in_.Reset();
  relay_out_.Reset();
}

void BareRelay::Receive() {
  Tick message;
  while (ReceiveAll(receive_.get(), message)) {
    int64_t due_ns;
    std::memcpy(&due_ns, message.data(), sizeof due_ns);
    latency_.Record(MonotonicNs() - due_ns);
  }
  receive_.Reset();
}

}  // namespace tickstack::loadtest
