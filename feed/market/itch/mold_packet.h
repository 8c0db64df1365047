#pragma once

// A packet of MoldUDP64, and how to make one:
//
//   0 session a10 | 10 first sequence number u64 | 18 messages u16
//   20 length u16 | message | length u16 | message ...
//
// Big-endian. A packet without messages is a heartbeat; its number is that of the next message.
// 0xffff messages end the session.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/byte_buffer.h"

namespace tickstack::feed::market {

inline constexpr size_t kMoldSessionBytes = 10, kMoldHeadBytes = 20;
inline constexpr uint16_t kMoldEndOfSession = 0xffff;

// Threads: one owner. Memory: the largest packet so far.
class MoldPacket {
 public:
  // Begins a packet without messages. A session of more than 10 bytes is cut.
  void Begin(std::string_view session, uint64_t first_seq) {
    bytes_.clear();
    messages_ = 0;
    std::string padded(session);
    padded.resize(kMoldSessionBytes, ' ');
    bytes_.Append(std::as_bytes(std::span(padded)));
    AppendBig(first_seq, sizeof(uint64_t));
    AppendBig(0, sizeof(uint16_t));
  }
  // Adds a message. The caller keeps each below 2^16 bytes, and their number below 0xffff.
  void Add(std::span<const std::byte> message) {
    AppendBig(message.size(), sizeof(uint16_t));
    bytes_.Append(message);
    SetCount(static_cast<uint16_t>(messages_ + 1));
  }
  // Sets the number of messages: 0xffff makes it an end of session, and a packet without messages
  // becomes a request for as many.
  void SetCount(uint16_t messages) {
    messages_ = messages;
    bytes_.data()[kMoldHeadBytes - 2] = static_cast<std::byte>(messages >> 8);
    bytes_.data()[kMoldHeadBytes - 1] = static_cast<std::byte>(messages & 0xff);
  }

  uint16_t messages() const { return messages_; }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  void AppendBig(uint64_t number, size_t bytes) {
    for (size_t i = bytes; i-- > 0;) {
      const auto byte = static_cast<std::byte>(number >> (8 * i) & 0xff);
      bytes_.Append({&byte, 1});
    }
  }

  ByteBuffer bytes_;
  uint16_t messages_ = 0;
};

}  // namespace tickstack::feed::market
