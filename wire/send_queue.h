#pragma once

// The bytes that a connection has to send, in order: copies of small pieces, spans over memory that
// others own, and streams that produce their bytes when it is their turn.

#include <boost/system/error_code.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>

#include "base/byte_buffer.h"
#include "wire/answer_stream.h"
#include "wire/transport.h"

namespace tickstack::wire {

// Bytes to send, and their owner, which is released after the bytes are sent.
struct Segment {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

// Threads: one owner.
class SendQueue {
 public:
  // Bound on one call of WriteTo: a peer that reads as fast as we write must not block the others.
  static constexpr size_t kTurnBytes = size_t{4} << 20;

  void Append(ByteBuffer message);
  void Append(std::span<const Segment> segments);
  void Append(std::unique_ptr<AnswerStream> stream);

  // Writes what the transport accepts, and stops once it has written kTurnBytes. Adds the number of
  // bytes to `sent_bytes`. Returns would_block if bytes are left: call again when the transport is
  // writable. Returns no error, and does not become empty, if the first message waits for its next
  // bytes: call again when they are there. connection_aborted: they will not come.
  boost::system::error_code WriteTo(Transport& transport, uint64_t* sent_bytes);

  void Clear();
  bool empty() const { return queue_.empty(); }
  // Unsent bytes, without those that streams have not made yet.
  size_t bytes() const { return bytes_; }

 private:
  // Either bytes, or a stream that inserts its pieces before itself when it is first.
  struct Entry {
    Segment segment;
    std::unique_ptr<AnswerStream> stream;
  };

  void CopyIntoStaging(std::span<const std::byte> bytes);
  void Push(Segment segment) { queue_.push_back({std::move(segment), nullptr}); }
  boost::system::error_code Unroll();
  void Drop(size_t sent);

  std::deque<Entry> queue_;
  size_t bytes_ = 0;
  // Small segments are gathered here. The buffer is not reallocated while a segment refers to it.
  std::shared_ptr<ByteBuffer> staging_;
};

}  // namespace tickstack::wire
