#include "wire/ipc.h"

#include "base/byte_buffer.h"
#include "base/check.h"
#include "base/status.h"

namespace tickstack::wire {
namespace {

uint32_t LoadLength(const std::byte* at, bool little_endian) {
  const auto length = LoadLittle<uint32_t>(at);
  return little_endian ? length : __builtin_bswap32(length);
}

}  // namespace

absl::StatusOr<Header> ParseHeader(std::span<const std::byte, kHeaderBytes> bytes) {
  const auto order = std::to_integer<uint8_t>(bytes[0]);
  const auto kind = std::to_integer<uint8_t>(bytes[1]);
  const auto compressed = std::to_integer<uint8_t>(bytes[2]);
  if (order > 1) {
    return InvalidArgument("message header: byte 0 (byte order) is {}, expected 0 or 1", order);
  }
  if (kind > 2) {
    return InvalidArgument("message header: byte 1 (kind) is {}, expected 0, 1 or 2", kind);
  }
  if (compressed > 1) {
    return InvalidArgument("message header: byte 2 (compressed) is {}, expected 0 or 1",
                           compressed);
  }

  Header header;
  header.little_endian = order == 1;
  header.kind = static_cast<MessageKind>(kind);
  header.compressed = compressed == 1;
  header.total_bytes = (uint64_t{std::to_integer<uint8_t>(bytes[3])} << 32) |
                       LoadLength(bytes.data() + 4, header.little_endian);
  if (header.total_bytes <= kHeaderBytes) {
    return InvalidArgument("message header: length {}, expected more than the header's {} bytes",
                           header.total_bytes, kHeaderBytes);
  }
  return header;
}

void WriteHeader(std::byte* at, MessageKind kind, uint64_t total_bytes) {
  TS_CHECK(total_bytes <= kMessageBytesMax);
  at[0] = std::byte{1};
  at[1] = static_cast<std::byte>(kind);
  at[2] = std::byte{0};
  at[3] = static_cast<std::byte>(total_bytes >> 32);
  const auto low = static_cast<uint32_t>(total_bytes);
  std::memcpy(at + 4, &low, sizeof(low));
}

}  // namespace tickstack::wire
