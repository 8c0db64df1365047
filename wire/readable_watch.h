#pragma once

// Calls a function on a loop whenever a file descriptor is readable, such as that of a socket that
// is not a connection.

#include <functional>
#include <memory>

#include "wire/event_loop.h"

namespace tickstack::wire {

// Threads: the loop's.
class ReadableWatch {
 public:
  // Calls `function` while the descriptor is readable, once in each round of the loop. The
  // descriptor must be open until the watch is destroyed, which the function may do.
  ReadableWatch(EventLoop& loop, int fd, std::function<void()> function);
  ~ReadableWatch();
  ReadableWatch(const ReadableWatch&) = delete;
  ReadableWatch& operator=(const ReadableWatch&) = delete;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace tickstack::wire
