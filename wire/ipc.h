#pragma once

// The frame of a kdb+ IPC message: eight bytes before the body.
//
//   byte 0     1 little-endian, 0 big-endian: the byte order of everything after it
//        1     0 async, 1 sync, 2 response
//        2     1 if the body is compressed (wire/compress.h)
//        3     bits 32 to 39 of the length; 0 unless the message has 4 GiB or more
//        4..7  the low 32 bits of the length, header included
//
// One worked example, the async message `1i`: 01 00 00 00  0d 00 00 00 | fa 01 00 00 00.

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"

namespace tickstack::wire {

enum class MessageKind : uint8_t { kAsync = 0, kSync = 1, kResponse = 2 };

inline constexpr size_t kHeaderBytes = 8;
inline constexpr uint64_t kMessageBytesMax = (uint64_t{1} << 40) - 1;  // Limit of the header.

// The capability byte of the handshake: what a peer can read. Both sides use the smaller of their
// two capabilities.
inline constexpr uint8_t kCapabilityNone = 0;         // No compression, timestamp, timespan, guid.
inline constexpr uint8_t kCapabilityCompression = 1;  // Compression, timestamp, timespan.
inline constexpr uint8_t kCapabilityGuid = 3;         // Also guid. Messages below 2 GiB.
inline constexpr uint8_t kCapabilityLargeMessages = 5;  // Also messages of 2 GiB and more.
inline constexpr uint8_t kCapabilityLargeVectors = 6;   // Also vectors of 2^31 elements and more.
inline constexpr uint8_t kOurCapability = kCapabilityLargeVectors;

// Returns the largest message, header included, that a peer of that capability can read.
constexpr uint64_t MessageBytesMax(uint8_t capability) {
  return capability >= kCapabilityLargeMessages ? kMessageBytesMax : (uint64_t{1} << 31) - 1;
}

struct Header {
  bool little_endian = true;
  MessageKind kind = MessageKind::kAsync;
  bool compressed = false;
  uint64_t total_bytes = 0;  // Header included.
};

// Strict: kInvalidArgument for a byte order other than 0 and 1, a kind other than 0 to 2, a
// compression flag other than 0 and 1, or a length that leaves no byte for the body. The length is
// only the peer's claim: check it against a bound before waiting for that many bytes.
absl::StatusOr<Header> ParseHeader(std::span<const std::byte, kHeaderBytes> bytes);

// Writes the eight bytes of a little-endian, uncompressed message. total_bytes includes the header
// and is at most kMessageBytesMax.
void WriteHeader(std::byte* at, MessageKind kind, uint64_t total_bytes);

}  // namespace tickstack::wire
