#include "feed/market/packet_reader.h"

#include "base/status.h"

namespace tickstack::feed::market {

absl::Status PacketReader::Rewind() {
  TS_ASSIGN_OR_RETURN(file_, PacketFile::Open(path_));
  Restart();
  lines_.clear();
  packet_ = {};
  flushes_ = ended_ = false;
  end_error_ = failure_ = absl::OkStatus();
  Reset();
  return absl::OkStatus();
}

// What is held when the file ends is delivered before its error.
absl::StatusOr<bool> PacketReader::Advance() {
  if (ended_) {
    TS_RETURN_IF_ERROR(end_error_);
    return false;
  }
  const absl::StatusOr<std::optional<CapturedPacket>> next = file_->Next();
  if (next.ok() && next->has_value()) {
    packet_ = **next;
    return true;
  }
  end_error_ = next.status();
  flushes_ = ended_ = true;
  return true;
}

absl::Status PacketReader::Decode(EventSink& sink) {
  if (flushes_) {
    FlushHeld(sink);
  } else {
    TakePacket(sink);
  }
  return failure_;
}

size_t PacketReader::LineOf(const Datagram& datagram) {
  return lines_.try_emplace(DestinationText(datagram), lines_.size()).first->second;
}

void PacketReader::TakePacket(EventSink& sink) {
  const std::optional<Datagram> datagram = DatagramOf(packet_);
  if (!datagram) {
    ++counts_.packets;
    ++counts_.other_packets;
    return;
  }
  const size_t line = lines_.size() < Arbiter::kLinesMax ? LineOf(*datagram) : 0;
  TakeDatagram(*datagram, line, packet_.recv_ns, sink);
}

std::string PacketReader::Place() const {
  return file_ == nullptr ? path_ : fmt::format("{}: packet {}", path_, file_->packet());
}

}  // namespace tickstack::feed::market
