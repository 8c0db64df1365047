#include "feed/live/udp_sender.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/status.h"

namespace tickstack::feed::live {
namespace {

constexpr int kSendWaitMs = 1;  // A full queue of a device does not wake up poll.

absl::Status SetMulticast(const UdpLine& line, const SenderSettings& settings, UdpSocket& socket) {
  const int ttl = settings.ttl, loopback = settings.loopback ? 1 : 0;
  TS_RETURN_IF_ERROR(socket.Set(IPPROTO_IP, IP_MULTICAST_TTL, ttl, "IP_MULTICAST_TTL"));
  TS_RETURN_IF_ERROR(socket.Set(IPPROTO_IP, IP_MULTICAST_LOOP, loopback, "IP_MULTICAST_LOOP"));
  if (line.interface.empty()) return absl::OkStatus();
  ip_mreqn interface{};
  interface.imr_ifindex = InterfaceIndex(line);
  return socket.Set(IPPROTO_IP, IP_MULTICAST_IF, interface, "IP_MULTICAST_IF");
}

}  // namespace

absl::StatusOr<UdpSender> UdpSender::Open(const UdpLine& line, const SenderSettings& settings) {
  TS_ASSIGN_OR_RETURN(UdpSocket socket, UdpSocket::Open());
  if (line.is_group()) {
    const absl::Status set = SetMulticast(line, settings, socket);
    if (!set.ok()) return Annotate(set, line.ToString());
  }
  return UdpSender(line, std::move(socket));
}

absl::Status UdpSender::Send(std::span<const std::byte> payload) {
  const sockaddr_in to = SocketAddressOf(line_);
  while (sendto(socket_.fd(), payload.data(), payload.size(), 0,
                reinterpret_cast<const sockaddr*>(&to), sizeof(to)) < 0) {
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != ENOBUFS) return ErrnoStatus(errno, line_.ToString());
    pollfd wait{socket_.fd(), POLLOUT, 0};
    if (errno == ENOBUFS) wait.events = 0;
    poll(&wait, 1, kSendWaitMs);
  }
  return absl::OkStatus();
}

}  // namespace tickstack::feed::live
