#pragma once

// What a connection has to send, in its order: copies of small things, spans over somebody's
// memory, and streams that make their bytes when their turn comes.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>

#include "base/byte_buffer.h"
#include "wire/message_stream.h"

namespace tickstack::wire {

// Bytes to send, and their owner, which is released after they are sent.
struct Segment {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

// Threads: one owner.
class SendQueue {
 public:
  // A peer that reads as fast as we write must not keep the thread from the others.
  static constexpr size_t kTurnBytes = size_t{4} << 20;

  void Append(ByteBuffer message);
  void Append(std::span<const Segment> segments);
  void Append(std::unique_ptr<MessageStream> stream);

  enum class Outcome : uint8_t { kAllSent, kMore, kError };  // kError: see errno.
  // Writes to a non-blocking socket what it takes, at most kTurnBytes and a piece more, and adds
  // that to `sent_bytes`. kMore: go on when the socket is writable.
  Outcome WriteTo(int socket, uint64_t* sent_bytes);

  void Clear();
  bool empty() const { return queue_.empty(); }
  // Unsent, without what streams have not made yet.
  size_t bytes() const { return bytes_; }

 private:
  // Bytes, or a stream that puts its pieces in front of itself when it is first.
  struct Entry {
    Segment segment;
    std::unique_ptr<MessageStream> stream;
  };

  void CopyIntoStaging(std::span<const std::byte> bytes);
  void Push(Segment segment) { queue_.push_back({std::move(segment), nullptr}); }
  void Unroll();
  void Drop(size_t sent);

  std::deque<Entry> queue_;
  size_t bytes_ = 0;
  // Small segments are gathered here; never moved once referenced.
  std::shared_ptr<ByteBuffer> staging_;
};

}  // namespace tickstack::wire
