#pragma once

// A copy of a message that a connection has sent, to be taken later than it came.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/byte_buffer.h"
#include "wire/connection.h"

namespace tickstack::tickerplant {

struct HeldMessage {
  HeldMessage(const wire::Connection& sender, const wire::ReceivedMessage& message)
      : HeldMessage(sender.id(), message.kind, message.body) {}
  HeldMessage(uint64_t sender, wire::MessageKind message_kind, std::span<const std::byte> bytes)
      : connection(sender), kind(message_kind), body(Copy(bytes)) {}

  uint64_t connection;
  wire::MessageKind kind;
  std::shared_ptr<const ByteBuffer> body;

 private:
  static std::shared_ptr<const ByteBuffer> Copy(std::span<const std::byte> bytes) {
    auto copy = std::make_shared<ByteBuffer>();
    copy->Append(bytes);
    return copy;
  }
};

}  // namespace tickstack::tickerplant
