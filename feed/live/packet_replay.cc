#include "feed/live/packet_replay.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "base/status.h"

namespace tickstack::feed::live {
namespace {

constexpr double kReplaySpeedMax = 1e6;
constexpr double kReplayNsMax = 1e18;
constexpr size_t kDestinationsMax = 10'000;  // A capture may have as many.

void SleepUntil(int64_t monotonic_ns) {
  const timespec due{.tv_sec = monotonic_ns / kNsPerSecond, .tv_nsec = monotonic_ns % kNsPerSecond};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, nullptr) == EINTR) {
  }
}

absl::Status CheckReplay(const ReplaySettings& settings) {
  if (settings.to.empty()) {
    return InvalidArgument("--to is missing: expected a destination such as 239.1.1.1:5000");
  }
  if (!settings.lines.empty() && settings.to.size() > 1 &&
      settings.to.size() != settings.lines.size()) {
    return InvalidArgument("{} of --line and {} of --to: expected as many, or one --to",
                           settings.lines.size(), settings.to.size());
  }
  if (!(settings.speed >= 0 && settings.speed <= kReplaySpeedMax)) {
    return InvalidArgument("speed {}: expected 0 to {}", settings.speed, kReplaySpeedMax);
  }
  if (settings.sender.ttl < 0 || settings.sender.ttl > 255) {
    return InvalidArgument("ttl {}: expected 0 to 255", settings.sender.ttl);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<PacketReplay>> PacketReplay::Open(ReplaySettings settings) {
  TS_RETURN_IF_ERROR(CheckReplay(settings));
  TS_ASSIGN_OR_RETURN(std::unique_ptr<market::PacketFile> file,
                      market::PacketFile::Open(settings.path));
  std::unique_ptr<PacketReplay> replay(new PacketReplay(std::move(settings), std::move(file)));
  for (const UdpLine& line : replay->settings_.to) {
    TS_ASSIGN_OR_RETURN(UdpSender sender, UdpSender::Open(line, replay->settings_.sender));
    replay->senders_.push_back(std::move(sender));
  }
  return replay;
}

size_t PacketReplay::SenderOf(const std::string& from) const {
  size_t place = counts_.lines.size();
  if (!settings_.lines.empty()) {
    const auto wanted = std::ranges::find(settings_.lines, from);
    if (wanted == settings_.lines.end()) return kNowhere;
    place = static_cast<size_t>(wanted - settings_.lines.begin());
  }
  if (senders_.size() == 1) return 0;
  return place < senders_.size() ? place : kNowhere;
}

absl::StatusOr<PacketReplay::Route> PacketReplay::RouteOf(const market::Datagram& datagram) {
  std::string key(reinterpret_cast<const char*>(datagram.address.data()), datagram.address.size());
  key += static_cast<char>(datagram.port >> 8);
  key += static_cast<char>(datagram.port & 0xff);
  if (const auto known = routes_.find(key); known != routes_.end()) return known->second;
  if (routes_.size() >= kDestinationsMax) {
    return InvalidArgument("{}: packet {}: more than {} destinations", settings_.path,
                           file_->packet(), kDestinationsMax);
  }
  ReplayLine line;
  line.from = DestinationText(datagram);
  const Route route{counts_.lines.size(), SenderOf(line.from)};
  if (route.sender != kNowhere) line.to = senders_[route.sender].line().ToString();
  counts_.lines.push_back(std::move(line));
  routes_.emplace(std::move(key), route);
  return route;
}

void PacketReplay::WaitUntilDue(int64_t recv_ns) {
  if (!std::exchange(began_, true)) {
    first_recv_ns_ = last_recv_ns_ = recv_ns;
    start_ns_ = MonotonicNs();
    return;
  }
  last_recv_ns_ = std::max(last_recv_ns_, recv_ns);
  if (settings_.speed == 0) return;
  const auto after = static_cast<double>(recv_ns - first_recv_ns_);
  const int64_t due_ns =
      start_ns_ + static_cast<int64_t>(std::clamp(after / settings_.speed, 0.0, kReplayNsMax));
  const int64_t now_ns = MonotonicNs();
  if (now_ns < due_ns) SleepUntil(due_ns);
  counts_.late_ns_max = std::max(counts_.late_ns_max, MonotonicNs() - due_ns);
}

absl::Status PacketReplay::SendPacket(const market::CapturedPacket& packet) {
  ++counts_.packets;
  const std::optional<market::Datagram> datagram = DatagramOf(packet);
  if (!datagram) {
    ++counts_.other;
    return absl::OkStatus();
  }
  TS_ASSIGN_OR_RETURN(const Route route, RouteOf(*datagram));
  ReplayLine& line = counts_.lines[route.line];
  ++line.datagrams;
  line.bytes += static_cast<int64_t>(datagram->payload.size());
  if (!datagram->is_whole) {
    ++counts_.cut_off;
    return absl::OkStatus();
  }
  if (route.sender == kNowhere) return absl::OkStatus();
  WaitUntilDue(packet.recv_ns);
  TS_RETURN_IF_ERROR(senders_[route.sender].Send(datagram->payload));
  ++counts_.sent;
  counts_.recorded_ns = last_recv_ns_ - first_recv_ns_;
  counts_.took_ns = MonotonicNs() - start_ns_;
  return absl::OkStatus();
}

absl::Status PacketReplay::Run(const std::function<void(const ReplayCounts&)>& progress) {
  int64_t progress_ns = MonotonicNs();
  while (true) {
    TS_ASSIGN_OR_RETURN(const std::optional<market::CapturedPacket> packet, file_->Next());
    if (!packet) return CheckEnd();
    TS_RETURN_IF_ERROR(SendPacket(*packet));
    if (progress == nullptr || MonotonicNs() - progress_ns < kNsPerSecond) continue;
    progress_ns = MonotonicNs();
    progress(counts_);
  }
}

absl::Status PacketReplay::CheckEnd() const {
  if (counts_.sent > 0) return absl::OkStatus();
  if (counts_.lines.empty()) {
    return InvalidArgument("{}: none of its {} packets has a whole UDP datagram over IP",
                           settings_.path, counts_.packets);
  }
  std::vector<std::string> found;
  for (const ReplayLine& line : counts_.lines) found.push_back(line.from);
  return InvalidArgument("{}: no whole datagram to {}; it has {}", settings_.path,
                         settings_.lines.empty()
                             ? "any destination"
                             : fmt::format("{}", fmt::join(settings_.lines, ", ")),
                         fmt::join(found, ", "));
}

}  // namespace tickstack::feed::live
