#pragma once

// A file of ITCH messages, each after its length (Nasdaq calls it BinaryFILE; the daily files of
// TotalView-ITCH are such), plain or compressed:
//
//   length u16, big-endian | message | length | message | ... | 0: end of session
//
// The messages have no date, so the caller gives it. A file may end without the mark.

#include <memory>
#include <optional>
#include <string>

#include "feed/market/byte_stream.h"
#include "feed/market/event_reader.h"
#include "feed/market/itch/itch_decoder.h"

namespace tickstack::feed::market {

// Threads: one owner.
class ItchFile final : public EventReader {
 public:
  // `midnight_ns`: as for ItchDecoder. Errors of ByteStream::Open.
  static absl::StatusOr<std::unique_ptr<ItchFile>> Open(const std::string& path,
                                                        int64_t midnight_ns);

  // kDataLoss, with the file and the byte, if it is cut off within a message, or has other bytes
  // than 0 after the end of the session.
  absl::StatusOr<bool> Advance() override;
  int64_t time_ns() const override;
  absl::Status Decode(EventSink& sink) override;
  absl::Status Rewind() override;
  const MessageCounts& counts() const override { return counts_; }

 private:
  ItchFile(std::string path, int64_t midnight_ns) : path_(std::move(path)), decoder_(midnight_ns) {}
  absl::StatusOr<bool> EndSession();

  const std::string path_;
  std::unique_ptr<ByteStream> bytes_;
  ItchDecoder decoder_;
  std::span<const std::byte> message_;
  int64_t seq_ = 0;    // Number of the message, from 1.
  size_t unread_ = 0;  // Bytes of the message and its length, which the next Advance skips.
  MessageCounts counts_;
};

}  // namespace tickstack::feed::market
