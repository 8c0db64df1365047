#pragma once

// Messages that are at hand as a whole, such as records of a topic, and messages with many bytes.
//
// Threads: reentrant.

#include <cstddef>
#include <span>

#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "table/value.h"
#include "wire/ipc.h"

namespace tickstack::wire {

// Returns the message of a general list with one more item: a vector of bytes, which are those of
// all segments together, fewer than 2^31. Cost: copies them once.
ByteBuffer EncodeWithBytes(MessageKind kind, const Value& list,
                           std::span<const std::span<const std::byte>> segments);

// Returns the value of a message. kInvalidArgument unless the bytes are a whole one, little-endian
// and uncompressed; other errors: those of Decode.
absl::StatusOr<Value> DecodeMessage(std::span<const std::byte> message);

}  // namespace tickstack::wire
