#pragma once

// Receives the datagrams of the lines of a feed, with the kernel's times of receipt.
//
// Each line has a socket, which joins the line's group (by IGMP) on its interface. The kernel drops
// datagrams for which a socket's buffer has no room, and counts them (SO_RXQ_OVFL).

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "base/owned_fd.h"
#include "feed/live/line_receiver.h"
#include "feed/live/udp_line.h"

namespace tickstack::feed::live {

// Threads: one owner. Memory: 4 MiB, of which what the packets take is used.
class UdpReceiver final : public LineReceiver {
 public:
  static constexpr size_t kBatchPackets = 64;  // Received by one system call.

  // Opens no sockets. With `server`, there is another line behind `lines`: a socket that sends
  // requests to the server, and receives its answers.
  static absl::StatusOr<std::unique_ptr<UdpReceiver>> Create(std::vector<UdpLine> lines,
                                                             std::optional<UdpLine> server,
                                                             int64_t buffer_bytes);

  // Opens the sockets and joins the groups. Logs a warning if the system gives smaller buffers than
  // wanted.
  absl::Status Join() override;
  void Leave() override { sockets_.clear(); }
  int fd() const override { return epoll_.get(); }
  // Receives up to kBatchPackets of each line.
  bool Receive(const OnDatagram& on_datagram) override;
  // Sends a datagram to the server. One that the system has no room for is lost.
  void Request(std::string_view payload) override;

  size_t lines() const override { return lines_.size(); }  // The server is the last one.
  std::string LineName(size_t line) const override;
  const LineTraffic& traffic(size_t line) const override { return traffic_[line]; }

 private:
  static constexpr size_t kDatagramBytesMax = size_t{1} << 16;

  UdpReceiver(std::vector<UdpLine> lines, bool has_server, int64_t buffer_bytes);
  absl::Status JoinLine(size_t index, bool* is_small);
  absl::Status Attach(size_t index, UdpSocket& socket);
  bool ReceiveLine(size_t line, const OnDatagram& on_datagram);
  int64_t TakeAncillary(size_t line, const msghdr& message);

  const std::vector<UdpLine> lines_;
  const bool has_server_;
  const int64_t buffer_bytes_;
  OwnedFd epoll_;
  std::vector<UdpSocket> sockets_;  // By line; empty until Join.
  std::vector<LineTraffic> traffic_;
  std::vector<uint32_t> dropped_;  // By line: the kernel's count, which starts over at 2^32.

  struct Ancillary {
    alignas(cmsghdr) std::array<std::byte, 128> bytes;
  };
  ByteBuffer payloads_;
  std::vector<Ancillary> ancillary_;
  std::vector<iovec> segments_;
  std::vector<mmsghdr> messages_;
};

}  // namespace tickstack::feed::live
