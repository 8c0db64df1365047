#include "wire/codec.h"

#include "base/check.h"

namespace tickstack::wire {

ByteBuffer EncodeMessage(MessageKind kind, const Value& value) {
  const absl::StatusOr<size_t> body_bytes = EncodedBytes(value);
  TS_CHECK(body_bytes.ok());
  ByteBuffer message;
  message.reserve(kHeaderBytes + *body_bytes);
  WriteHeader(message.Extend(kHeaderBytes), kind, kHeaderBytes + *body_bytes);
  Encode(value, message);
  return message;
}

}  // namespace tickstack::wire
