#pragma once

// A message whose bytes are made, or arrive, while it is sent.

#include <cstddef>
#include <memory>
#include <span>

namespace tickstack::wire {

// Threads: one owner at a time.
class AnswerStream {
 public:
  virtual ~AnswerStream() = default;

  struct Piece {
    std::span<const std::byte> gathered;  // Valid until the next call of Next().
    std::span<const std::byte> raw;       // Follows `gathered`.
    // Keeps `raw` valid; nullptr: it is valid while the stream exists.
    std::shared_ptr<const void> owner = nullptr;
    size_t bytes() const { return gathered.size() + raw.size(); }
  };
  // Returns the next 1 to `bytes_max` bytes; none at the end, or if state() is another than kEnded.
  virtual Piece Next(size_t bytes_max) = 0;

  enum class State {
    kEnded,   // All bytes were returned.
    kWaits,   // More bytes will come: its creator flushes the connection when they are there.
    kBroken,  // The rest will not come.
  };
  // Why Next returned no bytes.
  virtual State state() const { return State::kEnded; }

  virtual size_t total_bytes() const = 0;  // Header included.
};

}  // namespace tickstack::wire
