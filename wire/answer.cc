#include "wire/answer.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/status.h"
#include "wire/codec.h"
#include "wire/compress.h"
#include "wire/error_position.h"
#include "wire/message_stream.h"

namespace tickstack::wire {
namespace {

// Returns the message's size; an error text if the peer cannot read it.
absl::StatusOr<size_t> MessageBytes(const Value& value, const AnswerForm& form) {
  TS_ASSIGN_OR_RETURN(const size_t body_bytes, EncodedBytes(value));
  const size_t bytes = kHeaderBytes + body_bytes;
  if (bytes <= MessageBytesMax(form.capability)) return bytes;
  return ResourceExhausted("answer of {} bytes, a client of capability {} takes {}", bytes,
                           form.capability, MessageBytesMax(form.capability));
}

Answer Encoded(MessageKind kind, const Value& value, bool compress) {
  Answer answer;
  answer.encoded = EncodeMessage(kind, value);
  if (!compress) return answer;
  if (std::optional<ByteBuffer> smaller = Compress(answer.encoded)) {
    answer.encoded = *std::move(smaller);
  }
  return answer;
}

Answer LimitAnswer(const absl::Status& status) {
  return ErrorAnswer(fmt::format("limit: {}", Message(status)));
}

}  // namespace

absl::StatusOr<Answer> MakeMessage(MessageKind kind, std::shared_ptr<const Value> value,
                                   const AnswerForm& form) {
  TS_ASSIGN_OR_RETURN(const size_t bytes, MessageBytes(*value, form));
  if (bytes < kStreamBytesMin) {
    return Encoded(kind, *value, form.compress && bytes > kCompressBytesMin);
  }
  if (form.compress && bytes <= kCompressBytesMax) {
    Answer message = Encoded(kind, *value, true);
    if (message.bytes() < bytes) return message;
  }
  Answer message;
  message.stream = std::make_unique<MessageStream>(kind, std::move(value), bytes - kHeaderBytes);
  return message;
}

Answer MakeAnswer(std::shared_ptr<const Value> value, const AnswerForm& form) {
  absl::StatusOr<Answer> answer = MakeMessage(MessageKind::kResponse, std::move(value), form);
  return answer.ok() ? *std::move(answer) : LimitAnswer(answer.status());
}

Answer EncodeAnswer(const Value& value, const AnswerForm& form) {
  const absl::StatusOr<size_t> bytes = MessageBytes(value, form);
  if (!bytes.ok()) return LimitAnswer(bytes.status());
  return Encoded(MessageKind::kResponse, value,
                 form.compress && *bytes > kCompressBytesMin && *bytes <= kCompressBytesMax);
}

Answer ErrorAnswer(std::string_view text, std::optional<size_t> position, const AnswerForm& form) {
  Answer answer;
  const bool joins = position.has_value() && form.error_positions;
  answer.encoded =
      EncodeMessage(MessageKind::kResponse,
                    joins ? Value::Error(JoinPosition(text, *position)) : Value::Error(text));
  return answer;
}

}  // namespace tickstack::wire
