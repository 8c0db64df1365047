#pragma once

// The answer to a sync request, or an async message, in the form in which one peer gets it:
// encoded, compressed, or as a stream that encodes its value while it is sent.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "table/value.h"
#include "wire/answer_stream.h"
#include "wire/ipc.h"

namespace tickstack::wire {

// What a peer can read, and whether compression is worth its time: see Connection::form().
struct AnswerForm {
  uint8_t capability = 0;
  bool compress = false;
  bool error_positions = false;  // The peer is the gateway for HTTP: see wire/error_position.h.
};

struct Answer {
  ByteBuffer encoded;  // A whole message, header included; empty if `stream` is set.
  std::unique_ptr<AnswerStream> stream;  // nullptr if `encoded` is the message.

  size_t bytes() const { return stream != nullptr ? stream->total_bytes() : encoded.size(); }
};

// Smaller messages are encoded immediately: cheaper than keeping the value until it is sent.
inline constexpr size_t kStreamBytesMin = size_t{64} << 10;
// Compression needs memory for the message and half as much again, so longer ones are not
// compressed.
inline constexpr size_t kCompressBytesMax = size_t{16} << 20;

// If the form asks for it, a message of 2,000 bytes to kCompressBytesMax is compressed, provided
// that this halves it. Otherwise a message of at least kStreamBytesMin becomes a stream, which
// keeps the value. A value that the peer cannot read becomes the error `limit: ...`.
//
// Memory:  at most kStreamBytesMin besides the value; while it compresses, 1.5 times
//          kCompressBytesMax.
// Threads: reentrant.
Answer MakeAnswer(std::shared_ptr<const Value> value, const AnswerForm& form);

// The same for a message of any kind; kResourceExhausted if the peer cannot read it.
absl::StatusOr<Answer> MakeMessage(MessageKind kind, std::shared_ptr<const Value> value,
                                   const AnswerForm& form);

// The same with all bytes encoded immediately, for values that do not outlive the call.
Answer EncodeAnswer(const Value& value, const AnswerForm& form);

// `position`, if it is known, is in the answer only if the form asks for it.
Answer ErrorAnswer(std::string_view text, std::optional<size_t> position = std::nullopt,
                   const AnswerForm& form = {});

}  // namespace tickstack::wire
