#include "feed/live/udp_receiver.h"

#include <linux/net_tstamp.h>
#include <sys/epoll.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"

namespace tickstack::feed::live {
namespace {

// Sets the size of the receive buffer; beyond the system's limit if this process may. Returns
// whether it is smaller than wanted.
absl::StatusOr<bool> SetBuffer(UdpSocket& socket, int64_t wanted_bytes) {
  const auto wanted = static_cast<int>(wanted_bytes);
  if (!socket.Set(SOL_SOCKET, SO_RCVBUFFORCE, wanted, "SO_RCVBUFFORCE").ok()) {
    TS_RETURN_IF_ERROR(socket.Set(SOL_SOCKET, SO_RCVBUF, wanted, "SO_RCVBUF"));
  }
  int granted = 0;
  socklen_t size = sizeof(granted);
  getsockopt(socket.fd(), SOL_SOCKET, SO_RCVBUF, &granted, &size);
  return granted / 2 < wanted;  // The kernel doubles what it is asked for.
}

}  // namespace

UdpReceiver::UdpReceiver(std::vector<UdpLine> lines, bool has_server, int64_t buffer_bytes)
    : lines_(std::move(lines)),
      has_server_(has_server),
      buffer_bytes_(buffer_bytes),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      traffic_(lines_.size()),
      ancillary_(kBatchPackets),
      segments_(kBatchPackets),
      messages_(kBatchPackets) {
  payloads_.resize(kBatchPackets * kDatagramBytesMax);
  for (size_t i = 0; i < kBatchPackets; ++i) {
    segments_[i] = {payloads_.data() + i * kDatagramBytesMax, kDatagramBytesMax};
    messages_[i].msg_hdr.msg_iov = &segments_[i];
    messages_[i].msg_hdr.msg_iovlen = 1;
  }
}

absl::StatusOr<std::unique_ptr<UdpReceiver>> UdpReceiver::Create(std::vector<UdpLine> lines,
                                                                 std::optional<UdpLine> server,
                                                                 int64_t buffer_bytes) {
  if (server) lines.push_back(*server);
  std::unique_ptr<UdpReceiver> receiver(
      new UdpReceiver(std::move(lines), server.has_value(), buffer_bytes));
  if (!receiver->epoll_.is_open()) return ErrnoStatus(errno, "epoll_create1");
  return receiver;
}

// Makes the socket that of the line: it receives what is sent to the group or address, or what the
// server sends to it.
absl::Status UdpReceiver::Attach(size_t index, UdpSocket& socket) {
  const UdpLine& line = lines_[index];
  const sockaddr_in address = SocketAddressOf(line);
  const auto* const any = reinterpret_cast<const sockaddr*>(&address);
  if (has_server_ && index + 1 == lines_.size()) {
    return connect(socket.fd(), any, sizeof(address)) == 0 ? absl::OkStatus()
                                                           : ErrnoStatus(errno, "connect");
  }
  constexpr int kOn = 1, kOff = 0;
  if (line.is_group()) {
    // Other processes of this machine may receive the group, too.
    TS_RETURN_IF_ERROR(socket.Set(SOL_SOCKET, SO_REUSEADDR, kOn, "SO_REUSEADDR"));
    TS_RETURN_IF_ERROR(socket.Set(IPPROTO_IP, IP_MULTICAST_ALL, kOff, "IP_MULTICAST_ALL"));
  }
  // Bound to the group, the socket does not get packets to others at the same port.
  if (bind(socket.fd(), any, sizeof(address)) != 0) return ErrnoStatus(errno, "bind");
  if (!line.is_group()) return absl::OkStatus();
  ip_mreqn membership{};
  membership.imr_multiaddr = line.address;
  membership.imr_ifindex = InterfaceIndex(line);
  return socket.Set(IPPROTO_IP, IP_ADD_MEMBERSHIP, membership, "IP_ADD_MEMBERSHIP");
}

absl::Status UdpReceiver::JoinLine(size_t index, bool* is_small) {
  TS_ASSIGN_OR_RETURN(UdpSocket socket, UdpSocket::Open());
  constexpr int kOn = 1;
  TS_RETURN_IF_ERROR(socket.Set(SOL_SOCKET, SO_TIMESTAMPNS, kOn, "SO_TIMESTAMPNS"));
  TS_RETURN_IF_ERROR(socket.Set(SOL_SOCKET, SO_RXQ_OVFL, kOn, "SO_RXQ_OVFL"));
  TS_ASSIGN_OR_RETURN(*is_small, SetBuffer(socket, buffer_bytes_));
  TS_RETURN_IF_ERROR(Attach(index, socket));
  epoll_event event{.events = EPOLLIN, .data = {}};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket.fd(), &event) != 0) {
    return ErrnoStatus(errno, "epoll_ctl");
  }
  sockets_.push_back(std::move(socket));
  return absl::OkStatus();
}

absl::Status UdpReceiver::Join() {
  dropped_.assign(lines_.size(), 0);
  for (size_t index = 0; index < lines_.size(); ++index) {
    const std::string line = lines_[index].ToString();
    bool is_small = false;
    if (const absl::Status joined = JoinLine(index, &is_small); !joined.ok()) {
      Leave();
      return Annotate(joined, line);
    }
    if (is_small) {
      LogWarn("receive buffer is smaller than wanted line={} wanted_bytes={} see=net.core.rmem_max",
              line, buffer_bytes_);
    }
  }
  return absl::OkStatus();
}

std::string UdpReceiver::LineName(size_t line) const {
  const std::string& interface = lines_[line].interface;
  return lines_[line].ToString() + (interface.empty() ? "" : "@" + interface);
}

void UdpReceiver::Request(std::string_view payload) {
  if (!has_server_ || sockets_.empty()) return;
  // A server that is away is told by the next call: the request is repeated anyway.
  (void)!send(sockets_.back().fd(), payload.data(), payload.size(), 0);
}

bool UdpReceiver::Receive(const OnDatagram& on_datagram) {
  bool has_all = true;
  for (size_t line = 0; line < sockets_.size(); ++line) {
    has_all &= ReceiveLine(line, on_datagram);
  }
  return has_all;
}

bool UdpReceiver::ReceiveLine(size_t line, const OnDatagram& on_datagram) {
  for (size_t i = 0; i < kBatchPackets; ++i) {
    messages_[i].msg_hdr.msg_control = ancillary_[i].bytes.data();
    messages_[i].msg_hdr.msg_controllen = ancillary_[i].bytes.size();
  }
  const int received =
      recvmmsg(sockets_[line].fd(), messages_.data(), kBatchPackets, MSG_DONTWAIT, nullptr);
  // An error is that of an interface that is down; it is told once, and packets may follow.
  if (received < 0) return errno == EAGAIN;
  market::Datagram datagram;
  datagram.address = std::as_bytes(std::span(&lines_[line].address, 1));
  datagram.port = lines_[line].port;
  LineTraffic& traffic = traffic_[line];
  for (size_t i = 0; i < static_cast<size_t>(received); ++i) {
    const int64_t recv_ns = TakeAncillary(line, messages_[i].msg_hdr);
    datagram.payload = {payloads_.data() + i * kDatagramBytesMax, messages_[i].msg_len};
    ++traffic.packets;
    traffic.bytes += messages_[i].msg_len;
    on_datagram(line, datagram, recv_ns);
  }
  return static_cast<size_t>(received) < kBatchPackets;
}

// Returns the time of receipt, and counts what the kernel dropped.
int64_t UdpReceiver::TakeAncillary(size_t line, const msghdr& message) {
  int64_t recv_ns = 0;
  for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr;
       each = CMSG_NXTHDR(const_cast<msghdr*>(&message), each)) {
    if (each->cmsg_level != SOL_SOCKET) continue;
    if (each->cmsg_type == SCM_TIMESTAMPNS) {
      timespec time{};
      std::memcpy(&time, CMSG_DATA(each), sizeof(time));
      recv_ns = int64_t{time.tv_sec} * kNsPerSecond + time.tv_nsec - kUnixNsOfKdbEpoch;
    } else if (each->cmsg_type == SO_RXQ_OVFL) {
      uint32_t dropped = 0;
      std::memcpy(&dropped, CMSG_DATA(each), sizeof(dropped));
      traffic_[line].lost += static_cast<uint32_t>(dropped - dropped_[line]);
      dropped_[line] = dropped;
    }
  }
  return recv_ns != 0 ? recv_ns : SystemClock::Instance().NowNs();
}

}  // namespace tickstack::feed::live
