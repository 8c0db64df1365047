#pragma once

// Pauses the threads that touch memory ahead, at times when the process must not wait for them.
// While one of them touches memory, the kernel holds the lock of the process's memory map. A thread
// that maps memory then, such as the stack of a new thread, waits for the lock. If the touching
// thread has lost its core, the wait lasts until it runs again.

#include <mutex>
#include <shared_mutex>

namespace tickstack::mem {

// While a TouchPause exists, no tier of this process touches memory ahead; allocations touch their
// own pages. The constructor blocks until the pages that are being touched are done. The thread
// that owns a TouchPause must not close a tier.
class TouchPause {
 public:
  TouchPause();

 private:
  std::unique_lock<std::shared_mutex> lock_;
};

// A thread that touches memory ahead owns a TouchPermit while it touches. The constructor blocks
// until no TouchPause exists. The thread must not have reserved memory at that time, because
// allocations would wait for it.
class TouchPermit {
 public:
  TouchPermit();

 private:
  std::shared_lock<std::shared_mutex> lock_;
};

}  // namespace tickstack::mem
