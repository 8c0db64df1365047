#include "wire/whole_message.h"

#include <cstring>

#include "base/check.h"
#include "base/status.h"
#include "wire/codec.h"

namespace tickstack::wire {

ByteBuffer EncodeWithBytes(MessageKind kind, const Value& list,
                           std::span<const std::span<const std::byte>> segments) {
  TS_CHECK(list.is_list());
  constexpr size_t kHeadOfVector = 6;  // Type, attribute, count.
  const absl::StatusOr<size_t> list_bytes = EncodedBytes(list);
  TS_CHECK(list_bytes.ok());
  size_t bytes = 0;
  for (const std::span<const std::byte> segment : segments) bytes += segment.size();
  TS_CHECK(bytes <= static_cast<size_t>(INT32_MAX));
  ByteBuffer message;
  message.reserve(kHeaderBytes + *list_bytes + kHeadOfVector + bytes);
  message.Extend(kHeaderBytes);
  Encode(list, message);
  // The bytes are one more item of the list, appended without making a value of them first.
  const auto items = static_cast<int32_t>(list.count()) + 1;
  std::memcpy(message.data() + kHeaderBytes + kHeadOfVector - sizeof(items), &items, sizeof(items));
  message.AppendLittle(static_cast<uint8_t>(Type::kByte));
  message.AppendLittle(uint8_t{0});
  message.AppendLittle(static_cast<int32_t>(bytes));
  for (const std::span<const std::byte> segment : segments) message.Append(segment);
  WriteHeader(message.data(), kind, message.size());
  return message;
}

absl::StatusOr<Value> DecodeMessage(std::span<const std::byte> message) {
  if (message.size() < kHeaderBytes) {
    return InvalidArgument("message: {} bytes, expected a header of {}", message.size(),
                           kHeaderBytes);
  }
  TS_ASSIGN_OR_RETURN(const Header header, ParseHeader(message.first<kHeaderBytes>()));
  if (!header.little_endian || header.compressed || header.total_bytes != message.size()) {
    return InvalidArgument("message: expected one of {} bytes, little-endian and uncompressed",
                           message.size());
  }
  return Decode(message.subspan(kHeaderBytes));
}

}  // namespace tickstack::wire
