#pragma once

// A capture of a protocol over UDP, read packet by packet. Each destination address and port is a
// line.

#include <map>
#include <memory>
#include <string>

#include "feed/market/packet_decoder.h"

namespace tickstack::feed::market {

// Threads: one owner.
class PacketReader : public EventReader, public PacketDecoder {
 public:
  absl::StatusOr<bool> Advance() final;
  int64_t time_ns() const final { return packet_.recv_ns; }
  absl::Status Decode(EventSink& sink) final;
  absl::Status Rewind() final;
  const MessageCounts& counts() const final { return counts_; }

 protected:
  explicit PacketReader(std::string path, ArbiterSettings settings)
      : PacketDecoder(settings), path_(std::move(path)) {}

  absl::Status failure_;  // Set by Frame: the stream ends with this error.

 private:
  std::string Place() const final;
  void TakePacket(EventSink& sink);
  size_t LineOf(const Datagram& datagram);

  const std::string path_;
  std::unique_ptr<PacketFile> file_;
  std::map<std::string, size_t, std::less<>> lines_;  // By destination.
  CapturedPacket packet_;
  bool flushes_ = false;  // The last packet was read; what is held is not delivered yet.
  bool ended_ = false;
  absl::Status end_error_;  // How the file ended.
};

}  // namespace tickstack::feed::market
