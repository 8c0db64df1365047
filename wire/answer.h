#pragma once

// The answer to a sync request, or an async message, in the form in which it goes to one peer:
// whole and encoded, or whole and compressed, or as a stream over its value.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "table/value.h"
#include "wire/message_stream.h"

namespace tickstack::wire {

// What a peer can read, and whether short bytes are worth time to it: Connection::form().
struct AnswerForm {
  uint8_t capability = 0;
  bool compress = false;
};

struct Answer {
  ByteBuffer encoded;                     // A whole message, header included; or
  std::unique_ptr<MessageStream> stream;  // this.

  size_t bytes() const { return stream != nullptr ? stream->total_bytes() : encoded.size(); }
};

// Messages up to this are encoded at once: cheaper than to keep the value until they are sent.
inline constexpr size_t kStreamBytesMin = size_t{64} << 10;
// To compress a message takes all of it and half as much again, so longer ones go as they are.
inline constexpr size_t kCompressBytesMax = size_t{16} << 20;

// A message of 2,000 bytes to kCompressBytesMax is compressed if the form says so and that halves
// it; else one of kStreamBytesMin and more becomes a stream, which keeps the value. What the peer
// cannot read becomes the error `limit: ...`.
//
// Memory:  at most kStreamBytesMin beside the value, or 1.5 times kCompressBytesMax meanwhile where
//          the form says `compress`.
// Threads: reentrant.
Answer MakeAnswer(std::shared_ptr<const Value> value, const AnswerForm& form);

// The same for a message of any kind; kResourceExhausted if the peer cannot read it.
absl::StatusOr<Answer> MakeMessage(MessageKind kind, std::shared_ptr<const Value> value,
                                   const AnswerForm& form);

// The same with all bytes made at once, for values that do not stay.
Answer EncodeAnswer(const Value& value, const AnswerForm& form);

Answer ErrorAnswer(std::string_view text);

}  // namespace tickstack::wire
