#pragma once

// Plays the UDP datagrams of a capture again, as the exchange sent them: `tickstack replay`.
//
//   capture                           network
//   233.54.12.111:26477   ------->    239.1.1.1:5000      the first --to
//   233.49.196.111:26477  ------->    239.2.1.1:5000      the second --to
//   TCP, fragments, parts             counted, not sent
//
// A datagram is due when it was recorded, after the first one that is sent. One that is late is
// sent at once, so the pace is that of the recording as long as the machine keeps up.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "feed/live/udp_sender.h"
#include "feed/market/packet_file.h"

namespace tickstack::feed::live {

struct ReplaySettings {
  std::string path;
  // Where to send. One takes all datagrams. Several take those of one destination of the capture
  // each: of `lines` in their order, or, if that is empty, of the destinations in the order in
  // which they appear.
  std::vector<UdpLine> to;
  // Destinations of the capture, such as 233.54.12.111:26477; others are not sent. Empty: all.
  std::vector<std::string> lines;
  double speed = 1;  // 1 is the recorded speed; 0: as fast as possible.
  SenderSettings sender;
};

struct ReplayLine {
  std::string from;  // Destination in the capture.
  std::string to;    // Where its datagrams were sent; empty: nowhere.
  int64_t datagrams = 0;
  int64_t bytes = 0;  // Of their payloads.
};

struct ReplayCounts {
  std::vector<ReplayLine> lines;  // In the order of their appearance.
  int64_t packets = 0;            // All that the capture has.
  int64_t sent = 0;               // Datagrams.
  int64_t other = 0;              // Packets without a whole UDP header: TCP, fragments.
  int64_t cut_off = 0;            // Datagrams of which the capture has a part only.
  int64_t late_ns_max = 0;        // The largest delay of a datagram after it was due.
  int64_t recorded_ns = 0;        // From the first sent datagram to the last, in the capture.
  int64_t took_ns = 0;            // The same on this machine.
};

// Threads: one owner.
class PacketReplay {
 public:
  // kNotFound, kDataLoss of PacketFile::Open; kInvalidArgument if the settings contradict one
  // another; errors of UdpSender::Open.
  static absl::StatusOr<std::unique_ptr<PacketReplay>> Open(ReplaySettings settings);

  // Sends everything; blocks until then. Calls `progress`, if there is one, about once per second.
  // kInvalidArgument if the capture has no datagram to send; kDataLoss, after everything before it
  // was sent, where the capture is damaged; errors of UdpSender::Send.
  absl::Status Run(const std::function<void(const ReplayCounts&)>& progress);

  const ReplayCounts& counts() const { return counts_; }

 private:
  // Where the datagrams of a destination go: an index of senders_, or none.
  static constexpr size_t kNowhere = SIZE_MAX;
  struct Route {
    size_t line = 0;  // Index of counts_.lines.
    size_t sender = kNowhere;
  };

  PacketReplay(ReplaySettings settings, std::unique_ptr<market::PacketFile> file)
      : settings_(std::move(settings)), file_(std::move(file)) {}
  absl::Status SendPacket(const market::CapturedPacket& packet);
  absl::StatusOr<Route> RouteOf(const market::Datagram& datagram);
  size_t SenderOf(const std::string& from) const;  // For a new destination.
  void WaitUntilDue(int64_t recv_ns);
  absl::Status CheckEnd() const;

  const ReplaySettings settings_;
  std::unique_ptr<market::PacketFile> file_;
  std::vector<UdpSender> senders_;
  std::map<std::string, Route> routes_;  // By address and port, as in the packet.
  ReplayCounts counts_;
  bool began_ = false;
  int64_t first_recv_ns_ = 0;  // When the first sent datagram was recorded.
  int64_t last_recv_ns_ = 0;   // The latest time of a sent datagram.
  int64_t start_ns_ = 0;       // When the first one was sent, on the monotonic clock.
};

}  // namespace tickstack::feed::live
