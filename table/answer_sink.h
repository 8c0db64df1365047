#pragma once

// Takes an answer of another process while it arrives, so that it can be sent on without being kept
// as a whole.

#include <cstddef>
#include <memory>
#include <span>

namespace tickstack {

// Threads: one.
class AnswerSink {
 public:
  virtual ~AnswerSink() = default;
  // An answer has begun whose message has `bytes` bytes, header included. True: Add gets all of
  // them. False: the answer is received as without a sink.
  virtual bool Begin(size_t bytes) = 0;
  // The next bytes. They are valid while `owner`, or a copy of it, exists.
  virtual void Add(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner) = 0;
};

// Shorter answers are received as a whole: they can be asked for again if a process fails.
inline constexpr size_t kForwardedBytesMin = size_t{1} << 20;

}  // namespace tickstack
