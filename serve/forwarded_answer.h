#pragma once

// An answer of another process on its way to a client. The thread that evaluates adds the bytes as
// they arrive, the socket thread sends them:
//
//   Add(bytes) --> State (a queue, under a mutex) --> Stream, in the client's send queue
//                    | the stream has found nothing: Add calls `wake`, which flushes the client
//
// A byte is kept from its arrival until it is sent, so a client that reads as fast as the other
// process sends needs little memory here. The bytes of a slow client pile up, at most the answer.

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "wire/answer_stream.h"

namespace tickstack::serve {

// Threads: one adds; the stream belongs to another.
class ForwardedAnswer {
 public:
  // `bytes` is the size of the whole message, header included. `wake` is called on the thread that
  // adds.
  ForwardedAnswer(size_t bytes, std::function<void()> wake);
  ~ForwardedAnswer();  // Breaks the stream if bytes are missing.

  // Returns the stream that sends these bytes. Call it once.
  std::unique_ptr<wire::AnswerStream> MakeStream() const;
  void Add(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner);

 private:
  class State;
  class Stream;
  const std::shared_ptr<State> state_;
  const std::function<void()> wake_;
};

}  // namespace tickstack::serve
