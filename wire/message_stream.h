#pragma once

// A message that is encoded while it is sent, so that it never needs more than some 40 KB besides
// its value, however long it is. A value's vectors already have the bytes of the wire, so they are
// not copied: the socket gets spans over them. Only what lies between large vectors (heads, atoms,
// short vectors) is gathered in a buffer.
//
//   value      table: 3 names | 2,000,000 longs             | 2,000,000 floats ...
//   pieces     [header, heads, names][longs, at most n bytes][longs][longs][head][floats] ...
//               gathered              raw                    raw    raw    gathered

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/byte_buffer.h"
#include "table/value.h"
#include "wire/answer_stream.h"
#include "wire/ipc.h"

namespace tickstack::wire {

// The concatenated pieces are EncodeMessage(kind, value). Threads: one owner at a time.
class MessageStream final : public AnswerStream {
 public:
  // `body_bytes` is the result of EncodedBytes(*value). Keeps the value until it is destroyed.
  MessageStream(MessageKind kind, std::shared_ptr<const Value> value, size_t body_bytes);

  // Cost: O(1) for a run of a vector, about 20 ns for each nested value.
  Piece Next(size_t bytes_max) override;

  size_t total_bytes() const override { return total_bytes_; }

 private:
  struct Frame {
    const Value* value;
    size_t children;
    size_t next;  // Index of the next child to send.
  };

  void Gather();
  void Enter(const Value& value);

  std::shared_ptr<const Value> value_;
  size_t total_bytes_;
  std::vector<Frame> open_;  // From the root to the value whose children are being sent.
  ByteBuffer gathered_;
  size_t gathered_sent_ = 0;
  std::span<const std::byte> raw_;  // Follows the gathered bytes.
  bool nul_follows_ = false;        // True if a NUL follows raw_.
};

}  // namespace tickstack::wire
