#pragma once

// The answers that one client has not read yet: their bytes, and whether the client is too slow.

#include <cstddef>
#include <cstdint>
#include <deque>

#include "base/time.h"

namespace tickstack::serve {

// Threads: one owner.
class UnreadAnswers {
 public:
  // The time limit of an answer grows by one second for this many of its bytes, so that a slow
  // client is not taken for one that does not read.
  static constexpr int64_t kReadBytesPerSecond = int64_t{4} << 20;

  // Adds an answer that was passed to the connection after all earlier ones.
  void Add(size_t bytes, int64_t now_ns) {
    if (answers_.empty()) first_since_ns_ = now_ns;
    given_bytes_ += bytes;
    answers_.push_back({given_bytes_, bytes});
  }

  // Records that the connection has sent `sent_bytes` in total. Returns the bytes of the answers
  // that are now completely sent: an answer occupies its memory until its last byte is sent.
  size_t OnSent(uint64_t sent_bytes, int64_t now_ns) {
    size_t left = 0;
    while (!answers_.empty() && answers_.front().end <= sent_bytes) {
      left += answers_.front().bytes;
      answers_.pop_front();
      first_since_ns_ = now_ns;
    }
    return left;
  }

  // True if sending the oldest answer takes longer than allowed. Never true with a limit of 0.
  bool IsLate(int64_t limit_ns, int64_t now_ns) const {
    if (answers_.empty() || limit_ns == 0) return false;
    const auto bytes = static_cast<int64_t>(answers_.front().bytes);
    return now_ns - first_since_ns_ > limit_ns + bytes / kReadBytesPerSecond * kNsPerSecond;
  }

  size_t bytes() const {
    return answers_.empty() ? 0 : given_bytes_ - answers_.front().end + answers_.front().bytes;
  }

 private:
  struct Answer {
    uint64_t end;  // Position of its end in the connection's bytes.
    size_t bytes;
  };
  std::deque<Answer> answers_;
  uint64_t given_bytes_ = 0;
  int64_t first_since_ns_ = 0;
};

}  // namespace tickstack::serve
