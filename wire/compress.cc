#include "wire/compress.h"

#include <cstring>

#include "base/status.h"
#include "table/lz_stream.h"
#include "wire/ipc.h"

namespace tickstack::wire {
namespace {

static_assert(kLzHeaderBytes == kHeaderBytes);
constexpr size_t kStreamBegin = 12;  // After the header and the uncompressed length.

uint32_t Reversed(uint32_t number, bool little_endian) {
  return little_endian ? number : __builtin_bswap32(number);
}

}  // namespace

std::optional<ByteBuffer> Compress(std::span<const std::byte> message) {
  if (message.size() <= kHeaderBytes || message.size() > INT32_MAX) return std::nullopt;
  ByteBuffer out;
  out.reserve(message.size() / 2);
  out.Append(message.first(kHeaderBytes));
  out.AppendLittle(static_cast<uint32_t>(message.size()));
  if (!AppendLzStream(message, message.size() / 2, out)) return std::nullopt;

  out.data()[2] = std::byte{1};
  const auto total_bytes = static_cast<uint32_t>(out.size());
  std::memcpy(out.data() + 4, &total_bytes, sizeof(total_bytes));
  return out;
}

absl::StatusOr<uint32_t> DeclaredBytes(std::span<const std::byte> message) {
  if (message.size() < kStreamBegin) {
    return InvalidArgument("compressed message: {} bytes, expected {} or more", message.size(),
                           kStreamBegin);
  }
  TS_ASSIGN_OR_RETURN(const Header header, ParseHeader(message.first<kHeaderBytes>()));
  if (!header.compressed || header.total_bytes != message.size()) {
    return InvalidArgument("compressed message: {}compressed, {} bytes in its header, {} in all",
                           header.compressed ? "" : "not ", header.total_bytes, message.size());
  }
  const uint32_t declared =
      Reversed(LoadLittle<uint32_t>(message.data() + kHeaderBytes), header.little_endian);
  if (declared > kHeaderBytes && declared <= INT32_MAX) return declared;
  return InvalidArgument(
      "compressed message: declares {} bytes, expected more than {} and less than 2 GiB", declared,
      kHeaderBytes);
}

absl::StatusOr<ByteBuffer> Decompress(std::span<const std::byte> message, size_t max_bytes) {
  TS_ASSIGN_OR_RETURN(const uint32_t declared, DeclaredBytes(message));
  if (declared > max_bytes) {
    return ResourceExhausted("compressed message: declares {} bytes, at most {} are accepted",
                             declared, max_bytes);
  }

  ByteBuffer out;
  out.Append(message.first(kHeaderBytes));
  TS_RETURN_IF_ERROR(ExpandLzStream(message.subspan(kStreamBegin), declared, out));
  out.data()[2] = std::byte{0};
  out.data()[3] = std::byte{0};
  const bool little_endian = message.front() == std::byte{1};
  const uint32_t length = Reversed(declared, little_endian);
  std::memcpy(out.data() + 4, &length, sizeof(length));
  return out;
}

}  // namespace tickstack::wire
