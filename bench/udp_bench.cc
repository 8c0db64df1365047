// Measures how many packets one core receives by UDP without losing one: a thread sends at a rate
// to this machine, the benchmark's thread receives with a buffer of 8 MiB, as a live feed does.
//
// Loopback delivers on the sender's core, which may be the slower side: `sent/s` below the wanted
// rate says so. Then the figure is what the sender reaches, not a limit of the receiver.

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <optional>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/time.h"
#include "feed/live/udp_line.h"
#include "feed/live/udp_receiver.h"

namespace tickstack::feed::live {
namespace {

constexpr size_t kPacketBytes = 100;
constexpr size_t kPacketsAtOnce = 32;
constexpr int64_t kBufferBytes = int64_t{8} << 20;
constexpr int64_t kSendNs = kNsPerSecond;

// Returns a destination on this machine that nobody else receives.
UdpLine FreeLine() {
  absl::StatusOr<UdpSocket> socket = UdpSocket::Open();
  TS_CHECK(socket.ok());
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  TS_CHECK(bind(socket->fd(), any, bytes) == 0 && getsockname(socket->fd(), any, &bytes) == 0);
  UdpLine line;
  line.address = address.sin_addr;
  line.port = ntohs(address.sin_port);
  return line;
}

// Sends for kSendNs at `rate` packets/s, or as fast as it can if that is 0. Returns how many were
// sent.
int64_t SendAll(const UdpLine& line, int64_t rate) {
  absl::StatusOr<UdpSocket> socket = UdpSocket::Open();
  TS_CHECK(socket.ok());
  sockaddr_in to = SocketAddressOf(line);
  std::array<std::byte, kPacketBytes> payload{};
  iovec segment{payload.data(), payload.size()};
  std::array<mmsghdr, kPacketsAtOnce> messages{};
  for (mmsghdr& message : messages) {
    message.msg_hdr.msg_name = &to;
    message.msg_hdr.msg_namelen = sizeof(to);
    message.msg_hdr.msg_iov = &segment;
    message.msg_hdr.msg_iovlen = 1;
  }
  const int64_t begin_ns = MonotonicNs();
  int64_t sent = 0;
  for (int64_t ns = 0; ns < kSendNs; ns = MonotonicNs() - begin_ns) {
    int64_t due = static_cast<int64_t>(kPacketsAtOnce);
    if (rate > 0) due = std::min(due, ns * (rate / 1'000) / 1'000'000 - sent);
    if (due <= 0) continue;
    const int done = sendmmsg(socket->fd(), messages.data(), static_cast<unsigned>(due), 0);
    if (done > 0) sent += done;
  }
  return sent;
}

void BM_Receive(benchmark::State& state) {
  const UdpLine line = FreeLine();
  auto receiver = UdpReceiver::Create({line}, std::nullopt, kBufferBytes);
  TS_CHECK(receiver.ok() && (*receiver)->Join().ok());
  for (auto _ : state) {
    const LineTraffic before = (*receiver)->traffic(0);
    std::atomic<int64_t> sent{-1};
    const int64_t begin_ns = MonotonicNs();
    std::thread sender([&] { sent = SendAll(line, state.range(0)); });
    int64_t received = 0, idle = 0, last_ns = begin_ns;
    const auto take = [&](size_t, const market::Datagram&, int64_t) { ++received; };
    while (sent.load() < 0 || idle < 20) {
      const int64_t had = received;
      (*receiver)->Receive(take);
      if (received > had) {
        idle = 0;
        last_ns = MonotonicNs();
        continue;
      }
      pollfd wait{(*receiver)->fd(), POLLIN, 0};
      poll(&wait, 1, 1);
      if (sent.load() >= 0) ++idle;
    }
    sender.join();
    const double seconds = static_cast<double>(last_ns - begin_ns) / kNsPerSecond;
    state.SetIterationTime(seconds);
    state.counters["sent/s"] = static_cast<double>(sent.load()) / seconds;
    state.counters["received/s"] = static_cast<double>(received) / seconds;
    // What the kernel counted may lag behind: it is said with the next packet.
    state.counters["lost"] = static_cast<double>(sent.load() - received);
    state.counters["counted"] = static_cast<double>((*receiver)->traffic(0).lost - before.lost);
  }
}
BENCHMARK(BM_Receive)
    ->Arg(250'000)
    ->Arg(500'000)
    ->Arg(1'000'000)
    ->Arg(0)
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tickstack::feed::live

BENCHMARK_MAIN();
